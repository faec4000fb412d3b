//! Lists and dumps in files.

use rutter_net::{Family, PerFamily};
use rutter_sources::irr::{IrrSettings, IrrSource};
use rutter_sources::{Source, SourceState};

use crate::bench::{Bench, Folder, settings};
use crate::fake_irrd::FakeIrrd;
use crate::normal::OBJECTS;

const JSON: &str = r#"{ "prefixes": [ { "prefix": "192.0.2.0/23", "exact": false, "less-equal": 24 } ],
  "origins": [ 64500, 64501 ] }"#;

#[test]
fn lists_take_the_place_of_servers() {
    let (server, folder) = (FakeIrrd::start(&OBJECTS), Folder::new());
    let members: [(u32, &[&str]); 3] =
        [(64_500, &["AS-FOO"]), (64_510, &["AS-BAR"]), (64_520, &[])];
    let mut with_files = settings(&[&server.address], &members);
    for member in with_files.members.iter_mut().flatten() {
        member.rules.bound = false;
    }
    let text = "AS64520\n100.66.0.0/22 le 24 AS64520\n100.66.0.0/24 AS64521 # a customer\n";
    with_files.files = vec![
        ("AS-FOO".to_owned(), folder.write("foo.json", JSON)),
        ("AS64520".to_owned(), folder.write("list.txt", text)),
    ];
    let mut bench = Bench::start(with_files, &folder);
    let data = bench.next();
    for (member, prefix, origin, accepted) in [
        (0, "192.0.3.0/24", 64_501, true),
        (0, "192.0.3.0/25", 64_501, false),
        (0, "198.51.100.0/24", 64_502, false),
        (1, "203.0.113.0/24", 64_503, true),
        (2, "100.66.1.0/24", 64_520, true),
        (2, "100.66.0.0/24", 64_521, true),
        (2, "100.66.0.0/24", 64_522, false),
    ] {
        let found = bench.accepts(member, prefix, origin);
        assert_eq!(found, accepted, "{member} {prefix} AS{origin}");
    }
    let route = ("100.66.0.0/24".parse().unwrap(), Some(64_521));
    let evidence = data.find(rutter_irr::IrrMember(2), route.0, route.1, false);
    assert_eq!(evidence.findings[0].line, Some(3));
    let queries = server.queries();
    assert!(!queries.contains(&"iAS-FOO".to_owned()) && !queries.contains(&"gAS64520".to_owned()));
    bench.wait_state(SourceState::Live);
    let row = bench.row("irr AS-FOO").unwrap();
    assert_eq!((row.state, row.entries), (SourceState::Live, 1));
}

#[test]
fn a_broken_file_keeps_its_last_content_over_a_restart() {
    let folder = Folder::new();
    let path = folder.write("foo.json", JSON);
    let mut only_files = settings(&[], &[(64_500, &["AS-FOO"])]);
    only_files.members[0].as_mut().unwrap().rules.bound = false;
    only_files.files = vec![("AS-FOO".to_owned(), path)];
    let (data, status) = IrrSource::read(only_files.clone(), &folder.0);
    let found = data.expect("the data of the file");
    let prefix = "192.0.2.0/24".parse().unwrap();
    let check = |origin| found.check(rutter_irr::IrrMember(0), prefix, Some(origin));
    assert!(!check(64_501).is_rejected() && check(64_502).is_rejected());
    assert_eq!(status[0].entries, found.entries() as u64);
    assert!(!folder.0.join("irr").exists());
    let mut bench = Bench::start(only_files.clone(), &folder);
    bench.next();
    assert!(bench.accepts(0, "192.0.2.0/24", 64_501));
    bench.wait_state(SourceState::Live);
    folder.write("foo.json", &JSON[..40]);
    bench.source.refresh();
    bench.wait("an error", |_| has_error(&bench));
    assert!(bench.stop());
    let mut bench = Bench::start(only_files, &folder);
    bench.next();
    assert!(bench.accepts(0, "192.0.2.0/24", 64_501));
    bench.wait("an error", |_| has_error(&bench));
    // A list that lost most rows waits for an operator.
    folder.write("foo.json", r#"{"NN": [64500]}"#);
    bench.source.refresh();
    bench.wait_state(SourceState::Refused);
    bench.source.accept();
    bench.wait_state(SourceState::Live);
    let data = bench.next();
    assert_eq!(data.entries(), 0);
}

fn has_error(bench: &Bench) -> bool {
    let row = bench.row("irr AS-FOO");
    row.is_some_and(|row| row.last_error.is_some())
}

#[test]
fn dumps_count_as_route_objects() {
    let (server, folder) = (FakeIrrd::start(&OBJECTS), Folder::new());
    let arin = r#"{"json_schema": "0.0.1", "source": "ARIN-WHOIS", "whois_records":
        {"v4": [{"prefix": "100.67.0.0/24", "originas": "AS64500"}]}}"#;
    let db = r#"{"data": [{"asn": 64503, "irr_as_set": "RIPE::AS-FOO"}, {"asn": 64500, "irr_as_set": "AS-X"}]}"#;
    let dumps = IrrSettings {
        arin_whois: Some(folder.write("arin.json", arin)),
        registro_br: Some(folder.write("br.txt", "AS64501|Exemplo|1|100.68.0.0/24\n")),
        peeringdb: Some(folder.write("net.json", db)),
        ..settings(&[&server.address], &[(64_500, &["AS-FOO"]), (64_503, &[])])
    };
    let mut bench = Bench::start(dumps, &folder);
    bench.next();
    for (member, prefix, origin, accepted) in [
        (0, "100.67.0.0/24", 64_500, true),
        (0, "100.67.0.0/24", 64_501, false),
        (0, "100.68.0.0/24", 64_501, true),
        (1, "203.0.113.0/24", 64_503, true),
        (1, "192.0.2.0/24", 64_500, true),
    ] {
        let found = bench.accepts(member, prefix, origin);
        assert_eq!(found, accepted, "{member} {prefix} AS{origin}");
    }
    bench.wait_state(SourceState::Live);
    assert!(bench.row("irr ARIN").is_some() && bench.row("irr PeeringDB").is_some());
}

/// A dump of PeeringDB with the numbers of prefixes of networks.
fn networks(numbers: &[(u32, u32, u32)]) -> String {
    let network = |(asn, v4, v6): &(u32, u32, u32)| {
        format!(r#"{{"asn": {asn}, "info_prefixes4": {v4}, "info_prefixes6": {v6}}}"#)
    };
    let networks: Vec<String> = numbers.iter().map(network).collect();
    format!(r#"{{"data": [{}]}}"#, networks.join(","))
}

#[test]
fn prefix_limits_follow_the_dump_and_survive_a_restart() {
    let folder = Folder::new();
    let dump = networks(&[(64_500, 900, 0), (64_501, 10, 5), (64_502, 0, 0)]);
    let with_dump = IrrSettings {
        peeringdb: Some(folder.write("net.json", &dump)),
        ..settings(&[], &[(64_500, &[])])
    };
    let limits = |bench: &Bench, asn| {
        let limits = bench.source.prefix_limits();
        limits.map(|limits| limits.of(asn))
    };
    let is = |bench: &Bench, asn, limit: Option<u32>| {
        limits(bench, asn).is_some_and(|limits| limits[Family::Ipv4Unicast] == limit)
    };
    let mut bench = Bench::start(with_dump.clone(), &folder);
    bench.next();
    assert_eq!(
        limits(&bench, 64_500),
        Some(PerFamily::new(Some(900), None))
    );
    assert_eq!(
        limits(&bench, 64_501),
        Some(PerFamily::new(Some(10), Some(5)))
    );
    assert_eq!(limits(&bench, 64_502), Some(PerFamily::both(None)));
    // A refresh reads the dump again.
    folder.write(
        "net.json",
        &networks(&[(64_500, 1_000, 0), (64_501, 10, 5)]),
    );
    bench.source.refresh();
    bench.wait("the new limit", |_| is(&bench, 64_500, Some(1_000)));
    // A broken dump changes nothing, over a restart as well.
    folder.write("net.json", "{");
    bench.source.refresh();
    let row = |bench: &Bench| bench.row("irr PeeringDB").unwrap();
    bench.wait("an error", |_| row(&bench).last_error.is_some());
    assert!(is(&bench, 64_500, Some(1_000)));
    assert!(bench.stop());
    let bench = Bench::start(with_dump, &folder);
    assert!(is(&bench, 64_500, Some(1_000)), "before the first session");
    bench.wait("an error", |_| row(&bench).last_error.is_some());
    assert!(is(&bench, 64_500, Some(1_000)));
    // A dump that lost most networks waits for an operator.
    folder.write("net.json", &networks(&[(64_501, 20, 5)]));
    bench.source.refresh();
    bench.wait_state(SourceState::Refused);
    assert!(is(&bench, 64_500, Some(1_000)) && is(&bench, 64_501, Some(10)));
    bench.source.accept();
    bench.wait("the limits", |_| is(&bench, 64_501, Some(20)));
    assert!(is(&bench, 64_500, None));
}
