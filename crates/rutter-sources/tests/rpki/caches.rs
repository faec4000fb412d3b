//! Caches of all kinds.

use std::time::Instant;

use rutter_net::{Asn, Ipv4Prefix, Prefix};
use rutter_rpki::Rov;
use rutter_sources::rpki::{RpkiSettings, RpkiSource};
use rutter_sources::rtr::VrpRecord;
use rutter_sources::{Source, SourceState};

use crate::fake_cache::{FakeCache, Mode, some_vrps, vrp};
use crate::lab::{Lab, settings, stop, wait, wait_for_state, whole};

#[test]
fn a_cache_delivers_and_changes_follow() {
    let (lab, cache) = (Lab::new(), FakeCache::start(1));
    cache.script().vrps = some_vrps(100);
    let source = lab.start(settings(&[&cache]));
    lab.wait_for(&source, 100);
    let last = lab.last();
    let rov = |prefix: &str, asn| {
        last.vrps
            .as_ref()
            .unwrap()
            .validate(prefix.parse().unwrap(), Some(asn))
    };
    assert_eq!(rov("10.7.0.0/16", 7), Rov::Valid);
    assert_eq!(rov("10.7.0.0/16", 8), Rov::Invalid);
    assert_eq!(last.aspas, None);
    wait_for_state(&source, 0, SourceState::Live);
    let rows = source.status();
    assert_eq!(
        (rows[0].entries, rows[1].entries, rows.len()),
        (100, 100, 2)
    );
    assert_eq!(rows[1].detail, "in force, version 1, session 7, serial 1");
    cache.change(|vrps| {
        vrps.insert(vrp("2001:db8::/32-48 AS64500"));
    });
    cache.notify();
    lab.wait_for(&source, 101);
    assert_eq!(
        cache.script().queries,
        ["v1 reset query", "v1 serial query"]
    );
    // Nothing changes: nothing is published.
    source.refresh();
    wait(
        || cache.script().queries.len() == 3,
        || format!("{:?}", cache.script().queries),
    );
    stop(source);
    assert_eq!(lab.count(), 2);
}

#[test]
fn a_restart_of_the_cache_is_survived() {
    let (lab, mut cache) = (Lab::new(), FakeCache::start(1));
    cache.script().vrps = some_vrps(10);
    let source = lab.start(settings(&[&cache]));
    lab.wait_for(&source, 10);
    cache.stop();
    wait_for_state(&source, 1, SourceState::Failing);
    assert!(whole(&source).last_error.unwrap().contains(&cache.name()));
    cache.restart();
    wait_for_state(&source, 1, SourceState::Live);
    assert_eq!(
        cache.script().queries,
        ["v1 serial query", "v1 reset query"]
    );
    assert_eq!(
        (lab.count(), source.status()[1].detail.contains("session 8")),
        (1, true)
    );
    stop(source);
}

#[test]
fn caches_of_each_version_deliver() {
    for (version, mode, aspas) in [
        (0, Mode::Normal, None),
        (0, Mode::Refuse, None),
        (0, Mode::CloseHigher, None),
        (1, Mode::Normal, None),
        (1, Mode::Refuse, None),
        (1, Mode::CloseHigher, None),
        (2, Mode::Normal, Some(1)),
    ] {
        let (lab, cache) = (Lab::new(), FakeCache::start(version));
        {
            let mut script = cache.script();
            script.mode = mode;
            script.vrps = some_vrps(3);
            script.aspas.insert(64_500, vec![64_501, 64_502]);
        }
        let source = lab.start(RpkiSettings {
            aspa: true,
            ..settings(&[&cache])
        });
        lab.wait_for(&source, 3);
        let found = lab.last().aspas;
        assert_eq!(
            found.as_ref().map(|aspas| aspas.len()),
            aspas,
            "version {version}"
        );
        if let Some(found) = found {
            let providers = found.providers(Asn(64_500));
            assert_eq!(providers, Some(&[Asn(64_501), Asn(64_502)][..]));
        }
        // Changes arrive in the agreed version.
        cache.change(|vrps| assert!(vrps.pop_first().is_some()));
        cache.script().vrps.insert(vrp("192.0.2.0/24-24 AS1"));
        source.refresh();
        wait(|| lab.count() == 2, || format!("{:#?}", source.status()));
        assert_eq!(lab.vrps(), Some(3));
        stop(source);
    }
}

#[test]
fn faults_keep_the_data() {
    for (mode, error) in [
        (Mode::Stall, "no answer for 1 s"),
        (Mode::StallMidway, "no answer for 1 s"),
        (
            Mode::WrongLength,
            "it sent a PDU of type 4 with the wrong length 9",
        ),
        (Mode::Truncate, "it closed the connection"),
        (
            Mode::Fail,
            "it reported error 1, internal error: out of memory",
        ),
    ] {
        let (lab, cache) = (Lab::new(), FakeCache::start(1));
        cache.script().vrps = some_vrps(10);
        let source = lab.start(settings(&[&cache]));
        lab.wait_for(&source, 10);
        cache.script().mode = mode;
        cache.change(|vrps| assert!(vrps.pop_first().is_some()));
        source.refresh();
        wait_for_state(&source, 1, SourceState::Failing);
        let row = &source.status()[1];
        assert_eq!(
            (row.last_error.as_deref(), row.entries),
            (Some(error), 10),
            "{mode:?}"
        );
        assert_eq!(
            (whole(&source).state, lab.count()),
            (SourceState::Failing, 1)
        );
        cache.script().mode = Mode::Normal;
        lab.wait_for(&source, 9);
        wait_for_state(&source, 0, SourceState::Live);
        stop(source);
    }
}

#[test]
fn a_serial_number_that_goes_back_leads_to_a_full_set() {
    let (lab, cache) = (Lab::new(), FakeCache::start(1));
    cache.script().vrps = some_vrps(10);
    cache.change(|_| {});
    let source = lab.start(settings(&[&cache]));
    lab.wait_for(&source, 10);
    // The cache has lost a state, and believes that it knows the router's.
    cache.change(|vrps| assert!(vrps.pop_first().is_some()));
    cache.script().serial = 1;
    source.refresh();
    lab.wait_for(&source, 9);
    let queries = cache.script().queries.clone();
    assert_eq!(
        queries,
        [
            "v1 reset query",
            "v1 serial query",
            "v1 error 0",
            "v1 reset query"
        ]
    );
    stop(source);
}

#[test]
fn the_preferred_cache_takes_over() {
    let (lab, mut first, second) = (Lab::new(), FakeCache::start(1), FakeCache::start(1));
    first.script().vrps = some_vrps(10);
    second.script().vrps = some_vrps(9);
    first.stop();
    let source = lab.start(settings(&[&first, &second]));
    lab.wait_for(&source, 9);
    assert!(source.status()[2].detail.starts_with("in force"));
    first.restart();
    lab.wait_for(&source, 10);
    assert!(source.status()[1].detail.starts_with("in force"));
    assert!(source.status()[2].detail.starts_with("in reserve"));
    // Its data stay while it fails: they are not expired.
    first.stop();
    wait_for_state(&source, 0, SourceState::Failing);
    assert_eq!(lab.vrps(), Some(10));
    // Without it, the next one counts.
    source.change_settings(settings(&[&second]));
    lab.wait_for(&source, 9);
    wait_for_state(&source, 0, SourceState::Live);
    assert_eq!(
        (source.status().len(), second.script().queries.len()),
        (2, 1)
    );
    stop(source);
}

#[test]
fn a_set_that_shrank_waits_for_an_operator() {
    let (lab, cache, other) = (Lab::new(), FakeCache::start(1), FakeCache::start(1));
    cache.script().vrps = some_vrps(100);
    other.script().mode = Mode::Stall;
    let source = lab.start(settings(&[&cache, &other]));
    lab.wait_for(&source, 100);
    cache.change(|vrps| *vrps = some_vrps(79));
    source.refresh();
    wait_for_state(&source, 0, SourceState::Refused);
    let refused = "VRPs: 79 entries instead of 100: 21 % fewer, more than the limit of 20 %";
    assert_eq!(source.status()[1].refused.as_deref(), Some(refused));
    assert_eq!((lab.vrps(), whole(&source).entries), (Some(100), 100));
    // Another cache that has them all counts instead.
    other.script().mode = Mode::Normal;
    other.script().vrps = some_vrps(101);
    lab.wait_for(&source, 101);
    assert_eq!(source.status()[1].state, SourceState::Refused);
    source.accept();
    lab.wait_for(&source, 79);
    wait_for_state(&source, 0, SourceState::Live);
    assert_eq!(source.status()[1].refused, None);
    stop(source);
}

#[test]
fn the_last_good_copy_bridges_a_restart() {
    let (lab, mut cache) = (Lab::new(), FakeCache::start(2));
    cache.script().vrps = some_vrps(10);
    cache.script().aspas.insert(1, vec![2, 3]);
    let settings = RpkiSettings {
        aspa: true,
        ..settings(&[&cache])
    };
    let source = lab.start(settings.clone());
    lab.wait_for(&source, 10);
    let before = lab.last();
    stop(source);
    cache.stop();
    let copy = lab.folder.join("state").join("rpki");
    wait(|| copy.exists(), || "no copy".to_owned());
    // A program that asks no cache has the same data, and leaves the copy as it is.
    let stored = std::fs::read(&copy).unwrap();
    let (data, status) = RpkiSource::read(settings.clone(), &lab.folder.join("state"));
    assert_eq!((data, status[0].entries), (Some(before.clone()), 11));
    assert_eq!(std::fs::read(&copy).unwrap(), stored);
    let source = lab.start(settings.clone());
    // They are there when the function returns.
    assert_eq!((lab.count(), lab.last() == before), (2, true));
    assert!(
        whole(&source).detail.contains("last good copy"),
        "{:?}",
        whole(&source)
    );
    assert!(whole(&source).updated_at.is_some());
    cache.restart();
    wait_for_state(&source, 1, SourceState::Live);
    wait(
        || !whole(&source).detail.contains("copy"),
        || format!("{:?}", whole(&source)),
    );
    assert_eq!(lab.count(), 2);
    stop(source);
    // A copy of a cache that is no longer configured does not count, nor does a damaged one.
    let source = lab.start(RpkiSettings::default());
    assert_eq!(lab.count(), 2);
    stop(source);
    std::fs::write(&copy, "rubbish").unwrap();
    let source = lab.start(RpkiSettings {
        rtr: vec!["127.0.0.1:1".to_owned()],
        ..settings
    });
    assert_eq!(lab.count(), 2);
    assert!(whole(&source).last_error.unwrap().contains("damaged"));
    stop(source);
}

#[test]
fn a_source_stops_while_it_connects_reads_or_resolves() {
    // A listener whose queue is full does not answer.
    let listener =
        socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    let any: std::net::SocketAddr = "127.0.0.1:0".parse().unwrap();
    listener.bind(&any.into()).unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    let _first = std::net::TcpStream::connect(address).unwrap();
    let stalled = FakeCache::start(1);
    stalled.script().mode = Mode::Stall;
    let lab = Lab::new();
    let source = lab.start(RpkiSettings {
        rtr: vec![
            address.to_string(),
            stalled.name(),
            "localhost.:1".to_owned(),
        ],
        ..RpkiSettings::default()
    });
    wait(
        || !stalled.script().queries.is_empty(),
        || "no query".to_owned(),
    );
    stop(source);
    assert_eq!(lab.count(), 0);
}

#[test]
fn a_defect_is_visible() {
    let (lab, cache) = (Lab::new(), FakeCache::start(1));
    let state = lab.folder.join("state");
    let source = RpkiSource::start(settings(&[&cache]), &state, |_| panic!("a defect"));
    let source = source.unwrap();
    wait_for_state(&source, 0, SourceState::Failing);
    assert!(whole(&source).last_error.unwrap().contains("restart"));
    stop(source);
}

#[test]
fn half_a_million_vrps_arrive() {
    let (lab, cache) = (Lab::new(), FakeCache::start(1));
    let many = (0..500_000_u32).map(|n| {
        let prefix = Ipv4Prefix::new(0x0a00_0000 + (n << 8), 24).unwrap();
        VrpRecord::new(Prefix::V4(prefix), 24, n).unwrap()
    });
    cache.script().vrps = many.collect();
    let start = Instant::now();
    let source = lab.start(RpkiSettings {
        limits: Default::default(),
        ..settings(&[&cache])
    });
    lab.wait_for(&source, 500_000);
    cache.change(|vrps| assert!(vrps.pop_first().is_some()));
    source.refresh();
    lab.wait_for(&source, 499_999);
    println!("a full set and a change in {:?}", start.elapsed());
    let queries = cache.script().queries.clone();
    assert_eq!(queries, ["v1 reset query", "v1 serial query"]);
    stop(source);
}
