//! Conversations between the client and a cache.

use std::time::Duration;

use rutter_sources::rtr::{
    Pdu, RtrClientSettings, RtrErrorCode, RtrInput, RtrIntervals, RtrLimits,
};

use crate::script::{Script, end_of_data, vrp};

const A: &str = "192.0.2.0/24-24 AS64500";
const B: &str = "198.51.100.0/22-24 AS64501";
const C: &str = "2001:db8::/32-48 AS64502";

fn with_aspa() -> RtrClientSettings {
    RtrClientSettings {
        aspa: true,
        ..RtrClientSettings::default()
    }
}

fn plus(vrp: &str) -> String {
    format!("+{vrp}")
}

fn minus(vrp: &str) -> String {
    format!("-{vrp}")
}

/// A client with the VRPs A and B, serial 7 of session 1, in version 1.
fn synchronized() -> Script {
    let mut script = Script::connected(RtrClientSettings::default(), 1);
    assert_eq!(script.sent(), ["v1 reset query"]);
    script.answer(1, 7, &[&plus(A), &plus(B)]);
    assert_eq!(
        (script.updates(), script.vrps()),
        (vec![true], vec![A.to_owned(), B.to_owned()])
    );
    script
}

#[test]
fn a_full_set_and_then_changes_are_received() {
    let mut script = synchronized();
    script.advance(Duration::from_secs(3_599));
    assert!(script.sent().is_empty());
    script.advance(Duration::from_secs(1));
    assert_eq!(script.sent(), ["v1 serial query 1 7"]);
    script.answer(1, 8, &[&minus(A), &plus(C)]);
    assert_eq!(
        (script.updates(), script.vrps()),
        (vec![true], vec![B.to_owned(), C.to_owned()])
    );
    script.advance(Duration::from_secs(3_600));
    assert_eq!(script.sent(), ["v1 serial query 1 8"]);
    script.answer(1, 8, &[]);
    script.advance(Duration::from_secs(3_600));
    script.answer(1, 9, &[&plus(A), &minus(A)]);
    assert_eq!(script.updates(), [false, false]);
    let data = script.client.data().unwrap();
    assert_eq!((data.serial, data.received_at), (9, script.now));
    assert!(script.faults.is_empty());
}

#[test]
fn records_count_only_after_end_of_data() {
    let mut script = synchronized();
    script.input(RtrInput::Refresh);
    script.receive(&[Pdu::CacheReset]);
    assert_eq!(script.sent(), ["v1 serial query 1 7", "v1 reset query"]);
    script.receive(&[Pdu::CacheResponse { session: 2 }, vrp(&plus(C))]);
    assert_eq!((script.updates(), script.vrps().len()), (vec![], 2));
    script.close();
    assert_eq!(script.vrps().len(), 2);
    script.connect();
    script.answer(2, 1, &[&plus(C)]);
    assert_eq!(
        (script.updates(), script.vrps()),
        (vec![true], vec![C.to_owned()])
    );
}

#[test]
fn each_byte_may_arrive_alone() {
    let mut script = Script::connected(with_aspa(), 2);
    let mut bytes = Vec::new();
    let aspa = Pdu::Aspa {
        announce: true,
        customer: 64_500,
        providers: vec![1, 2],
    };
    for pdu in [
        Pdu::CacheResponse { session: 1 },
        vrp(&plus(C)),
        aspa,
        end_of_data(1, 1),
    ] {
        pdu.write(2, &mut bytes);
    }
    for byte in bytes {
        script.input(RtrInput::Received(&[byte]));
    }
    let data = script.client.data().unwrap();
    assert_eq!((data.records.vrp_count(), data.version), (1, 2));
    assert_eq!(&*data.records.aspas()[&64_500], [1, 2]);
}

#[test]
fn a_connection_that_breaks_goes_on_with_changes() {
    let mut script = synchronized();
    script.close();
    assert_eq!(script.only_fault(), "it closed the connection");
    assert_eq!(script.connect(), Duration::from_secs(1));
    assert_eq!(script.sent(), ["v1 serial query 1 7"]);
    // A restarted cache that lost its state.
    script.receive(&[Pdu::CacheReset]);
    script.answer(9, 1, &[&plus(A), &plus(B)]);
    assert_eq!((script.updates(), script.vrps().len()), (vec![false], 2));
    assert_eq!(script.client.data().unwrap().session, 9);
}

#[test]
fn attempts_become_rarer_up_to_the_retry_interval() {
    let settings = RtrClientSettings {
        retry_s: Some(10),
        ..RtrClientSettings::default()
    };
    let mut script = Script::connected(settings, 1);
    let mut waits = Vec::new();
    for _ in 0..6 {
        script.close();
        waits.push(script.connect().as_secs());
    }
    assert_eq!(waits, [1, 2, 4, 8, 10, 10]);
}

#[test]
fn a_cache_that_fails_after_each_answer_is_asked_ever_more_rarely() {
    let mut script = Script::connected(RtrClientSettings::default(), 1);
    let mut waits = Vec::new();
    for serial in 0..5 {
        script.answer(1, serial, &[]);
        script.close();
        waits.push(script.connect().as_secs());
    }
    assert_eq!(waits, [1, 2, 4, 8, 16]);
    // It works again for longer than the last wait.
    script.answer(1, 5, &[]);
    script.advance(Duration::from_secs(17));
    script.close();
    assert_eq!(script.connect(), Duration::from_secs(1));
}

#[test]
fn another_session_is_a_fault_and_data_stay_until_the_new_set() {
    for serial_query in [true, false] {
        let mut script = synchronized();
        if serial_query {
            script.input(RtrInput::Refresh);
            script.answer(2, 8, &[&minus(A)]);
        } else {
            script.receive(&[Pdu::SerialNotify {
                session: 2,
                serial: 8,
            }]);
        }
        assert_eq!(script.sent().last().unwrap(), "v1 error 0");
        assert_eq!(script.only_fault(), "it sent session 2 instead of 1");
        assert!(!script.connected && script.vrps().len() == 2);
        script.connect();
        assert_eq!(script.sent(), ["v1 reset query"]);
        script.answer(2, 8, &[&plus(B)]);
        assert_eq!(
            (script.vrps(), script.client.fault()),
            (vec![B.to_owned()], None)
        );
    }
    let mut script = Script::connected(RtrClientSettings::default(), 1);
    script.receive(&[Pdu::CacheResponse { session: 1 }, end_of_data(2, 8)]);
    assert_eq!(script.only_fault(), "it sent session 2 instead of 1");
}

#[test]
fn serial_numbers_wrap_around_but_do_not_go_back() {
    let mut script = Script::connected(RtrClientSettings::default(), 1);
    script.answer(1, u32::MAX, &[&plus(A)]);
    script.input(RtrInput::Refresh);
    script.answer(1, 2, &[&plus(B)]);
    assert_eq!(script.vrps().len(), 2);
    script.input(RtrInput::Refresh);
    script.answer(1, 1, &[&plus(C)]);
    assert_eq!(
        script.only_fault(),
        "its serial number went back from 2 to 1"
    );
    assert_eq!(
        (script.vrps().len(), script.sent().last().unwrap().as_str()),
        (2, "v1 error 0")
    );
    script.connect();
    script.answer(1, 1, &[&plus(C)]);
    assert_eq!(script.vrps(), [C]);
}

#[test]
fn contradicting_records_are_faults() {
    for (records, error, fault) in [
        (
            vec![plus(A)],
            "v1 error 7",
            format!("it announced {A} twice"),
        ),
        (
            vec![plus(C), plus(C)],
            "v1 error 7",
            format!("it announced {C} twice"),
        ),
        (
            vec![minus(C)],
            "v1 error 6",
            format!("it withdrew {C}, which it had not announced"),
        ),
        (
            vec![minus(A), minus(A)],
            "v1 error 6",
            format!("it withdrew {A}, which it had not announced"),
        ),
    ] {
        let mut script = synchronized();
        script.input(RtrInput::Refresh);
        let records: Vec<&str> = records.iter().map(String::as_str).collect();
        script.answer(1, 8, &records);
        assert_eq!(
            (script.only_fault(), script.sent().last().unwrap().as_str()),
            (fault, error)
        );
        assert_eq!((script.vrps().len(), script.updates()), (2, vec![]));
        script.connect();
        assert_eq!(script.sent(), ["v1 reset query"]);
    }
}

#[test]
fn notifications_cause_queries_at_a_limited_rate() {
    let mut script = synchronized();
    let notify = |serial| Pdu::SerialNotify { session: 1, serial };
    script.receive(&[notify(7), notify(8), notify(8)]);
    script.advance(Duration::from_millis(4_999));
    assert!(script.sent().is_empty());
    script.advance(Duration::from_millis(1));
    assert_eq!(script.sent(), ["v1 serial query 1 7"]);
    // Another one comes during the answer.
    script.receive(&[
        Pdu::CacheResponse { session: 1 },
        notify(9),
        vrp(&plus(C)),
        end_of_data(1, 8),
    ]);
    script.advance(Duration::from_secs(5));
    assert_eq!(script.sent(), ["v1 serial query 1 8"]);
    script.answer(1, 9, &[]);
    script.advance(Duration::from_secs(600));
    script.receive(&[notify(10)]);
    script.advance(Duration::ZERO);
    assert_eq!(script.sent(), ["v1 serial query 1 9"]);
    assert!(script.faults.is_empty());
}

#[test]
fn a_notification_before_the_first_answer_is_ignored() {
    let mut script = Script::connected(with_aspa(), 1);
    script.receive(&[Pdu::SerialNotify {
        session: 77,
        serial: 1,
    }]);
    script.version = 2;
    script.answer(1, 1, &[&plus(A)]);
    assert_eq!((script.vrps().len(), script.client.version()), (1, Some(2)));
}

#[test]
fn a_cache_may_answer_in_a_lower_version() {
    for version in [1, 0] {
        let mut script = Script::connected(with_aspa(), version);
        assert_eq!(script.sent(), ["v2 reset query"]);
        script.answer(1, 1, &[&plus(A)]);
        assert_eq!(script.client.version(), Some(version));
        script.input(RtrInput::Refresh);
        assert_eq!(script.sent(), [format!("v{version} serial query 1 1")]);
        script.answer(1, 2, &[&plus(B)]);
        script.close();
        // The agreed version is offered again, and the highest one after an hour.
        script.connect();
        assert_eq!(script.sent(), [format!("v{version} serial query 1 2")]);
        script.answer(1, 2, &[]);
        script.advance(Duration::from_secs(3_600));
        script.close();
        script.connect();
        assert_eq!(script.sent().last().unwrap(), "v2 reset query");
        script.version = 2;
        script.answer(5, 1, &[&plus(A), &plus(B)]);
        assert_eq!(
            (script.updates(), script.client.version()),
            (vec![true, true, false, false], Some(2))
        );
    }
}

#[test]
fn a_cache_may_refuse_a_version() {
    let refusal = |text| Pdu::ErrorReport {
        code: RtrErrorCode::UNSUPPORTED_VERSION,
        erroneous: &[],
        text,
    };
    let mut script = Script::connected(with_aspa(), 0);
    script.receive(&[refusal(b"only \x07version 0")]);
    assert_eq!(
        script.only_fault(),
        "it reported error 4, unsupported protocol version: only version 0"
    );
    script.connect();
    assert_eq!(script.sent(), ["v2 reset query", "v0 reset query"]);
    // Without a version of its own, it is asked step by step, and then from the start.
    let mut script = Script::connected(with_aspa(), 2);
    for version in [1, 0, 2] {
        script.receive(&[refusal(b"")]);
        script.connect();
        assert_eq!(
            script.sent().last(),
            Some(&format!("v{version} reset query"))
        );
        script.version = version;
    }
    // Some close the connection instead.
    let mut script = Script::connected(with_aspa(), 0);
    script.close();
    script.connect();
    script.close();
    script.connect();
    assert_eq!(script.sent().last().unwrap(), "v0 reset query");
    script.answer(1, 1, &[&plus(A)]);
    assert_eq!(script.vrps(), [A]);
}

#[test]
fn a_break_is_not_taken_for_a_refusal_of_a_known_version() {
    let mut script = Script::connected(with_aspa(), 2);
    script.answer(1, 1, &[&plus(A)]);
    script.close();
    script.connect();
    script.close();
    script.connect();
    assert_eq!(script.sent().last().unwrap(), "v2 serial query 1 1");
}

#[test]
fn versions_stay_during_a_connection() {
    let mut script = synchronized();
    script.version = 0;
    script.input(RtrInput::Refresh);
    script.answer(1, 8, &[]);
    assert_eq!(script.sent().last().unwrap(), "v1 error 8");
    let fault = "it sent a PDU of version 0 where version 1 was expected";
    assert_eq!(script.only_fault(), fault);
    // A lower version in the first answer means other sessions: changes cannot be applied.
    let mut script = synchronized();
    script.close();
    script.connect();
    script.version = 0;
    script.answer(1, 8, &[&minus(A)]);
    assert_eq!((script.faults.len(), script.vrps().len()), (2, 2));
    script.connect();
    assert_eq!(script.sent().last().unwrap(), "v0 reset query");
    let mut script = Script::connected(RtrClientSettings::default(), 2);
    script.answer(1, 8, &[]);
    assert_eq!(script.sent().last().unwrap(), "v1 error 8");
}

#[test]
fn a_cache_without_data_is_asked_again() {
    let no_data = Pdu::ErrorReport {
        code: RtrErrorCode::NO_DATA_AVAILABLE,
        erroneous: &[],
        text: b"",
    };
    let mut script = Script::connected(RtrClientSettings::default(), 1);
    script.receive(std::slice::from_ref(&no_data));
    assert!(script.connected);
    assert_eq!(script.only_fault(), "it has no data yet");
    script.advance(Duration::from_secs(1));
    script.receive(std::slice::from_ref(&no_data));
    script.advance(Duration::from_millis(1_999));
    assert_eq!(script.sent(), ["v1 reset query", "v1 reset query"]);
    script.advance(Duration::from_millis(1));
    script.answer(1, 1, &[&plus(A)]);
    assert_eq!(
        (script.vrps(), script.client.fault()),
        (vec![A.to_owned()], None)
    );
}

#[test]
fn silence_and_endless_answers_are_faults() {
    let mut script = Script::connected(RtrClientSettings::default(), 1);
    script.advance_to_deadline();
    assert_eq!(script.only_fault(), "no answer for 60 s");
    assert!(!script.connected);
    script.connect();
    script.receive(&[Pdu::CacheResponse { session: 1 }]);
    let mut rounds = 0;
    while script.faults.is_empty() {
        script.receive(&[vrp(&format!("+10.{rounds}.0.0/16-16 AS1"))]);
        script.advance(Duration::from_secs(59));
        rounds += 1;
    }
    assert_eq!(rounds, 11);
    assert_eq!(
        script.only_fault(),
        "its answer was not complete after 600 s"
    );
}

#[test]
fn limits_hold() {
    let limits = RtrLimits {
        max_records: 3,
        ..RtrLimits::default()
    };
    let settings = RtrClientSettings {
        limits,
        ..with_aspa()
    };
    let mut script = Script::connected(settings, 2);
    script.answer(1, 1, &[&plus(A), &plus(B), &plus(C)]);
    assert_eq!(script.vrps().len(), 3);
    script.input(RtrInput::Refresh);
    script.answer(1, 2, &[&plus("10.0.0.0/8-8 AS1")]);
    assert_eq!(
        script.only_fault(),
        "it sent more than 3 records, which is the limit"
    );
    assert_eq!(script.sent().last().unwrap(), "v2 error 1");
    script.connect();
    let aspa = Pdu::Aspa {
        announce: true,
        customer: 1,
        providers: vec![2, 3, 4],
    };
    script.receive(&[Pdu::CacheResponse { session: 1 }, aspa]);
    assert_eq!((script.faults.len(), script.vrps().len()), (1, 3));
}

#[test]
fn wrong_pdus_are_reported_with_their_bytes() {
    for (bytes, error) in [
        // A length below the header's, a huge one, an unknown type, an unknown version, an ASPA in version 1.
        (&[1, 4, 0, 0, 0, 0, 0, 7][..], "v1 error 0"),
        (&[1, 10, 0, 0, 0xff, 0xff, 0xff, 0xff], ""),
        (&[1, 9, 0, 0, 0xff, 0xff, 0xff, 0xff], "v1 error 0"),
        (&[1, 5, 0, 0, 0, 0, 0, 8], "v1 error 5"),
        (&[9, 3, 0, 0, 0, 0, 0, 8], "v1 error 4"),
        (&[1, 11, 1, 0, 0, 0, 0, 16], "v1 error 5"),
        (b"HTTP/1.1 400 Bad Request", "v1 error 4"),
        // A prefix length of 33, and a maximum length below the prefix length.
        (
            &[
                1, 4, 0, 0, 0, 0, 0, 20, 1, 33, 33, 0, 1, 2, 3, 4, 0, 0, 0, 1,
            ],
            "v1 error 0",
        ),
        (
            &[
                1, 4, 0, 0, 0, 0, 0, 20, 1, 24, 23, 0, 1, 2, 3, 4, 0, 0, 0, 1,
            ],
            "v1 error 0",
        ),
        // Queries are for caches.
        (&[1, 2, 0, 0, 0, 0, 0, 8], "v1 error 0"),
        // An error report with wrong counts, which must not be answered.
        (&[1, 10, 0, 0, 0, 0, 0, 16, 0, 0, 0, 9, 0, 0, 0, 0], ""),
    ] {
        let mut script = synchronized();
        script.input(RtrInput::Refresh);
        script.sent();
        script.receive(&[Pdu::CacheResponse { session: 1 }]);
        script.input(RtrInput::Received(bytes));
        assert_eq!(script.sent().concat(), error, "{bytes:?}");
        assert!(!script.connected && script.vrps().len() == 2, "{bytes:?}");
        script.connect();
        assert_eq!(script.sent(), ["v1 reset query"], "{bytes:?}");
    }
}

#[test]
fn pdus_out_of_turn_are_faults() {
    for pdus in [
        vec![vrp("+10.0.0.0/8-8 AS1")],
        vec![end_of_data(1, 1)],
        vec![Pdu::CacheResponse { session: 1 }],
        vec![Pdu::CacheReset],
        vec![Pdu::RouterKey],
    ] {
        let mut script = synchronized();
        script.receive(&pdus);
        assert!(script.only_fault().ends_with("out of turn"));
        assert_eq!(script.sent().last().unwrap(), "v1 error 0");
    }
    let mut script = Script::connected(RtrClientSettings::default(), 1);
    script.receive(&[Pdu::CacheReset]);
    assert!(script.only_fault().ends_with("out of turn"));
}

#[test]
fn aspas_of_an_old_draft_leave_the_vrps() {
    // draft-ietf-sidrops-8210bis-10: zero, then flags, family, count, customer, providers.
    let old = [
        2, 11, 0, 0, 0, 0, 0, 20, 1, 0, 0, 1, 0, 0, 0xfb, 0xf4, 0, 0, 0, 7,
    ];
    let mut script = Script::connected(with_aspa(), 2);
    script.receive(&[Pdu::CacheResponse { session: 1 }]);
    script.input(RtrInput::Received(&old));
    assert_eq!(script.sent().last().unwrap(), "v2 error 9");
    assert!(script.only_fault().contains("old draft"));
    script.connect();
    assert_eq!(script.sent(), ["v1 reset query"]);
    script.version = 1;
    script.answer(2, 1, &[&plus(A)]);
    assert_eq!(script.vrps(), [A]);
}

#[test]
fn intervals_come_from_the_settings_or_the_cache() {
    let intervals = RtrIntervals {
        refresh_s: 30,
        retry_s: 20,
        expire_s: 900,
    };
    for (settings, refresh, expire) in [
        (RtrClientSettings::default(), 30, 900),
        (
            RtrClientSettings {
                refresh_s: Some(50),
                expire_s: Some(7_000),
                ..RtrClientSettings::default()
            },
            50,
            7_000,
        ),
    ] {
        let mut script = Script::connected(settings, 1);
        script.sent();
        let end = Pdu::EndOfData {
            session: 1,
            serial: 1,
            intervals: Some(intervals),
        };
        script.receive(&[Pdu::CacheResponse { session: 1 }, end]);
        assert_eq!(script.client.data().unwrap().intervals.expire_s, expire);
        script.advance(Duration::from_secs(refresh) - Duration::from_millis(1));
        assert!(script.sent().is_empty());
        script.advance(Duration::from_millis(1));
        assert_eq!(script.sent(), ["v1 serial query 1 1"]);
    }
    // Version 0 has no intervals.
    let mut script = Script::connected(RtrClientSettings::default(), 0);
    script.answer(1, 1, &[]);
    assert_eq!(
        script.client.data().unwrap().intervals,
        RtrIntervals::default()
    );
}

#[test]
fn changed_settings_keep_the_data() {
    let mut script = synchronized();
    script.client.change_settings(with_aspa(), script.now);
    script.input(RtrInput::Timer);
    assert_eq!(
        (script.sent(), script.vrps().len()),
        (vec!["v2 reset query".to_owned()], 2)
    );
    script.version = 2;
    script.answer(1, 1, &[&plus(A), &plus(B)]);
    assert_eq!(script.updates(), [false]);
    let settings = RtrClientSettings {
        refresh_s: Some(9),
        ..with_aspa()
    };
    script.client.change_settings(settings, script.now);
    script.input(RtrInput::Timer);
    assert_eq!(script.sent(), ["v2 serial query 1 1"]);
    assert!(script.faults.is_empty());
}
