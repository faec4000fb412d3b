//! The RPKI source with StayRTR.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rutter_interop::stayrtr::StayRtr;
use rutter_interop::{Lab, eventually};
use rutter_rpki::Rov;
use rutter_sources::Source;
use rutter_sources::rpki::{LiveRpkiData, RpkiSettings, RpkiSource};
use rutter_sources::rtr::RtrLimits;
use rutter_sources::{SourceState, SourceStatus};

/// A document with the VRPs `10.N.0.0/16-24 AS<N>` for each N below `count`, and an IPv6 VRP.
fn document(count: u32, more: &str) -> String {
    let mut rows = String::new();
    for n in 0..count {
        let _ = write!(
            rows,
            r#"{{"asn": {n}, "prefix": "10.{n}.0.0/16", "maxLength": 24, "ta": "test"}}, "#
        );
    }
    format!(
        r#"{{"metadata": {{}}, "roas": [{rows}{{"asn": "AS64500", "prefix": "2001:db8::/32", "maxLength": 48, "ta": "test"}}]{more}}}"#
    )
}

/// A source and the sets that it published.
struct Running {
    source: RpkiSource,
    published: Arc<Mutex<Vec<LiveRpkiData>>>,
}

impl Running {
    fn start(lab: &Lab, caches: &[&StayRtr], aspa: bool) -> Self {
        let published: Arc<Mutex<Vec<LiveRpkiData>>> = Arc::default();
        let list = published.clone();
        let settings = RpkiSettings {
            rtr: caches
                .iter()
                .map(|cache| cache.address().to_string())
                .collect(),
            aspa,
            retry_s: Some(1),
            limits: RtrLimits {
                notify_gap: Duration::from_millis(100),
                ..RtrLimits::default()
            },
            ..RpkiSettings::default()
        };
        let publish = move |data| list.lock().expect("a list").push(data);
        let source = RpkiSource::start(settings, &lab.folder("state"), publish);
        Running {
            source: source.expect("a thread"),
            published,
        }
    }

    fn count(&self) -> usize {
        self.published.lock().expect("a list").len()
    }

    fn last(&self) -> LiveRpkiData {
        let published = self.published.lock().expect("a list");
        published.last().cloned().unwrap_or_default()
    }

    #[track_caller]
    fn wait_for(&self, vrps: usize) {
        eventually("the VRPs are in force", || {
            let found = self.last().vrps.map(|vrps| vrps.len());
            let error = || format!("{found:?} VRPs\n{:#?}", self.source.status());
            (found == Some(vrps)).then_some(()).ok_or_else(error)
        });
    }

    #[track_caller]
    fn wait_for_cache(&self, what: &str, holds: impl Fn(&SourceStatus) -> bool) {
        eventually(what, || {
            let row = self.source.status().remove(1);
            holds(&row).then_some(()).ok_or(format!("{row:#?}"))
        });
    }
}

#[test]
fn vrps_arrive_and_a_change_of_the_file_comes_as_a_delta() {
    let lab = Lab::new();
    let cache = StayRtr::start(&lab, 1, &document(100, ""));
    let running = Running::start(&lab, &[&cache], false);
    running.wait_for(101);
    let vrps = running.last().vrps.expect("VRPs");
    let rov = |prefix: &str, asn| vrps.validate(prefix.parse().expect("a prefix"), Some(asn));
    assert_eq!(rov("10.7.1.0/24", 7), Rov::Valid);
    assert_eq!(rov("10.7.1.0/24", 8), Rov::Invalid);
    assert_eq!(rov("2001:db8:1::/48", 64_500), Rov::Valid);
    assert_eq!(rov("192.0.2.0/24", 1), Rov::NotFound);

    // StayRTR notices the change and sends a Serial Notify.
    cache.replace(&document(90, ""));
    running.wait_for(91);
    cache.replace(&document(95, ""));
    running.wait_for(96);
    running.wait_for_cache("the serial number follows", |row| {
        row.detail.ends_with("serial 2") && row.state == SourceState::Live
    });
    let log = cache.log();
    assert_eq!(log.matches("Received PDU Reset Query").count(), 1, "{log}");
    assert_eq!(log.matches("Received PDU Serial Query").count(), 2, "{log}");
    assert!(running.source.stop(Duration::from_secs(20)));
}

#[test]
fn a_restart_of_the_cache_changes_nothing() {
    let lab = Lab::new();
    let mut cache = StayRtr::start(&lab, 1, &document(50, ""));
    let running = Running::start(&lab, &[&cache], false);
    running.wait_for(51);
    cache.kill();
    running.wait_for_cache("the failure is seen", |row| {
        row.state == SourceState::Failing
    });
    assert_eq!(running.source.status()[0].entries, 51);
    cache.restart();
    running.wait_for_cache("the cache is back", |row| row.state == SourceState::Live);
    assert_eq!(running.count(), 1, "the set did not change");
    cache.replace(&document(51, ""));
    running.wait_for(52);
    assert!(running.source.stop(Duration::from_secs(20)));
}

#[test]
fn the_preferred_cache_takes_over_when_it_returns() {
    let lab = Lab::new();
    let mut first = StayRtr::start(&lab, 1, &document(50, ""));
    let second = StayRtr::start(&lab, 2, &document(49, ""));
    first.kill();
    let running = Running::start(&lab, &[&first, &second], false);
    running.wait_for(50);
    first.restart();
    running.wait_for(51);
    assert!(running.source.stop(Duration::from_secs(20)));
}

/// Debian's StayRTR sends ASPAs as the 10th draft of version 2 had them. Its VRPs arrive over version 1.
#[test]
fn a_cache_with_aspas_of_an_old_draft_still_delivers_vrps() {
    let lab = Lab::new();
    let aspas = r#", "provider_authorizations": {"ipv4": [
        {"customer_asid": 64500, "expires": 4000000000, "providers": [64501, 64502]}], "ipv6": []}"#;
    let cache = StayRtr::start(&lab, 1, &document(10, aspas));
    let running = Running::start(&lab, &[&cache], true);
    running.wait_for(11);
    running.wait_for_cache("version 1 is agreed", |row| {
        row.detail.contains("version 1")
    });
    assert_eq!(running.last().aspas, None);
    let log = cache.log();
    assert!(
        log.contains("Reset Query v2") && log.contains("Reset Query v1"),
        "{log}"
    );
    assert!(running.source.stop(Duration::from_secs(20)));
}
