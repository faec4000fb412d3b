//! Path verification as cases: a route in, the verdict, the evidence and what a client receives out; then other ASPAs.

mod lab;

use std::sync::Arc;

use lab::*;
use rutter_net::{Asn, LargeCommunity};
use rutter_policy::{
    CheckAction, ClassTag, ExportPolicy, ExportSettings, ImportSettings, OutsideData, RejectReason,
    TagState,
};
use rutter_rib::*;
use rutter_rpki::{PathState, Relation, RpkiData};

/// The ASPAs as rpki-client writes them.
fn data(rows: &[(u32, &[u32])]) -> Arc<OutsideData> {
    let row = |(customer, providers): &(u32, &[u32])| {
        format!(r#"{{"customer_asid":{customer},"providers":{providers:?}}}"#)
    };
    let rows: Vec<String> = rows.iter().map(row).collect();
    let json = format!(r#"{{"aspas":[{}]}}"#, rows.join(","));
    let parsed = RpkiData::parse(json.as_bytes()).unwrap();
    Arc::new(OutsideData {
        aspas: parsed.aspas.map(Arc::new),
        ..OutsideData::default()
    })
}

/// AS 7 is a customer of AS 1 and AS 8; AS 8 has no provider. AS 9 has no ASPA.
fn usual_data() -> Arc<OutsideData> {
    data(&[(7, &[1, 8]), (8, &[0])])
}

/// A client that the exchange checks.
fn client(index: u8, adjust: impl FnOnce(&mut ImportSettings)) -> Neighbor {
    checked_client(index, |settings| {
        verify_paths(settings);
        adjust(settings);
    })
}

fn exchange(adjust: impl Fn(&mut ImportSettings)) -> Lab {
    checked_exchange(usual_data(), |settings| {
        verify_paths(settings);
        adjust(settings);
    })
}

fn verify_paths(settings: &mut ImportSettings) {
    settings.relation = Some(Relation::RouteServerClient);
    settings.aspa_invalid = CheckAction::Reject;
}

/// The reason against the first route of a prefix, and the evidence.
fn explain(lab: &Lab, prefix: &str) -> Option<(RejectReason, String)> {
    let explained = lab.rib.explain(prefix.parse().unwrap()).unwrap();
    let candidate = &explained.candidates[0];
    let reason = candidate.reject?;
    Some((reason, candidate.findings[0].evidence.clone()))
}

fn reason(lab: &Lab, prefix: &str) -> Option<RejectReason> {
    explain(lab, prefix).map(|(reason, _)| reason)
}

const INVALID: Option<RejectReason> = Some(RejectReason::AspaInvalid);

#[test]
fn a_leak_is_rejected_with_the_pair_and_the_aspa_as_evidence() {
    let mut lab = exchange(|_| {});
    lab.announce(0, &Block::new(&[1, 7]).0, "185.0.0.0/16");
    assert!(lab.block(1).is_some(), "valid: AS 1 is a provider of AS 7");
    lab.announce(0, &Block::new(&[1, 9]).0, "185.1.0.0/16");
    assert!(lab.block(1).is_some(), "unknown: AS 9 has no ASPA");
    // AS 7 has the route from its provider AS 8, and leaked it to its provider AS 1.
    lab.announce(0, &Block::new(&[1, 7, 8, 9]).0, "185.2.0.0/16");
    assert_eq!(lab.block(1), None);
    let (reason, evidence) = explain(&lab, "185.2.0.0/16").unwrap();
    assert_eq!((reason.code(), reason.name()), (29, "aspa-invalid"));
    assert_eq!(
        evidence,
        "AS_PATH 1 7 8 9: AS7 is not a provider of AS8, whose ASPA lists none"
    );
    lab.announce(1, &Block::new(&[2, 2, 7, 7]).0, "185.3.0.0/16");
    let (_, evidence) = explain(&lab, "185.3.0.0/16").unwrap();
    assert_eq!(
        evidence,
        "AS_PATH 2 2 7 7: AS2 is not a provider of AS7, whose ASPA lists AS1, AS8"
    );
}

#[test]
fn the_relation_of_the_neighbor_selects_the_procedure() {
    // A provider may announce routes of its other providers' customers; a client may not.
    let path = Block::new(&[1, 8, 7]).0;
    let data = data(&[(1, &[8]), (7, &[8]), (8, &[0])]);
    for (relation, expected) in [
        (Some(Relation::Provider), None),
        (Some(Relation::Customer), INVALID),
        (Some(Relation::Peer), INVALID),
        (Some(Relation::RouteServerClient), INVALID),
        (Some(Relation::RouteServer), INVALID),
        (None, None),
    ] {
        let mut lab = exchange(|settings| settings.relation = relation);
        lab.replace_data(Arc::clone(&data));
        lab.announce(0, &path, "185.0.0.0/16");
        assert_eq!(reason(&lab, "185.0.0.0/16"), expected, "{relation:?}");
    }
}

#[test]
fn other_aspas_change_the_verdicts_of_held_routes_and_send_only_differences() {
    let mut lab = exchange(|_| {});
    lab.announce(0, &Block::new(&[1, 7]).0, "185.0.0.0/16");
    lab.announce(0, &Block::new(&[1, 9]).0, "185.1.0.0/16");
    lab.announce(0, &Block::new(&[1, 9, 9, 6]).0, "185.2.0.0/16");
    assert_eq!(lab.received(PeerId(1)).len(), 3);
    let changes = lab.rib.changes();
    // AS 9 publishes an ASPA that does not list AS 1.
    let now = data(&[(7, &[1, 8]), (8, &[0]), (9, &[8])]);
    lab.replace_data(Arc::clone(&now));
    assert_eq!(reason(&lab, "185.0.0.0/16"), None);
    assert_eq!(reason(&lab, "185.1.0.0/16"), INVALID);
    assert_eq!(reason(&lab, "185.2.0.0/16"), INVALID);
    assert_eq!(
        lab.received(PeerId(1)).len(),
        1,
        "one UPDATE withdraws both"
    );
    assert_eq!(lab.rib.changes(), changes + 2, "no other route was edited");
    // It adds AS 1.
    lab.replace_data(data(&[(7, &[1, 8]), (8, &[0]), (9, &[1, 8])]));
    assert_eq!(reason(&lab, "185.1.0.0/16"), None);
    assert_eq!(lab.received(PeerId(1)).len(), 2, "both are back");
    // An ASPA that no path contains.
    lab.replace_data(data(&[(5, &[1]), (7, &[1, 8]), (8, &[0]), (9, &[1, 8])]));
    assert_eq!(lab.received(PeerId(1)).len(), 0);
}

#[test]
fn a_route_whose_verdict_stays_is_not_sent_again() {
    let mut lab = exchange(|_| {});
    lab.announce(0, &Block::new(&[1, 9]).0, "185.1.0.0/16");
    assert_eq!(lab.received(PeerId(1)).len(), 1);
    let changes = lab.rib.changes();
    // The path was unknown and is valid now: both are accepted, and no mark distinguishes them.
    lab.replace_data(data(&[(7, &[1, 8]), (8, &[0]), (9, &[1])]));
    assert_eq!(lab.received(PeerId(1)).len(), 0);
    assert_eq!(lab.rib.changes(), changes, "the route was not edited");
}

#[test]
fn a_batch_that_was_evaluated_under_former_aspas_is_evaluated_again() {
    let mut lab = exchange(|_| {});
    lab.push(0, &Block::new(&[1, 9]).0, "185.1.0.0/16");
    lab.rib.replace_outside_data(data(&[(9, &[8])]), || {});
    lab.rib.commit(&mut lab.batch);
    assert_eq!(reason(&lab, "185.1.0.0/16"), INVALID);
}

#[test]
fn without_aspas_no_path_fails_and_the_first_are_applied_to_all() {
    let mut lab = Lab::empty();
    lab.add(client(1, |_| {}), |_| {});
    lab.add(client(2, |_| {}), |_| {});
    lab.announce(0, &Block::new(&[1, 7, 8]).0, "185.1.0.0/16");
    assert!(lab.block(1).is_some());
    lab.replace_data(usual_data());
    assert_eq!(reason(&lab, "185.1.0.0/16"), INVALID);
    assert_eq!(lab.received(PeerId(1)).len(), 1, "a withdrawal");
}

fn marks() -> Arc<ExportPolicy> {
    let tag = |(state, notation): (TagState, &str)| {
        ClassTag::new(state, notation.parse().unwrap()).unwrap()
    };
    let tags = [
        (TagState::PathValid, "self:1001:1"),
        (TagState::PathUnknown, "self:1001:2"),
        (TagState::PathInvalid, "self:1001:4"),
        (TagState::RejectCause, "self:1101:code"),
    ];
    Arc::new(ExportPolicy::new(ExportSettings {
        local_asn: Asn(LOCAL),
        class_tags: tags.map(tag).to_vec(),
        ..ExportSettings::default()
    }))
}

fn larges(block: &[u8]) -> Vec<String> {
    let all = parse(block, true)
        .large_communities()
        .collect::<Vec<LargeCommunity>>();
    all.iter().map(LargeCommunity::to_string).collect()
}

#[test]
fn marks_follow_the_state_of_the_path() {
    let mut lab = exchange(|settings| {
        settings.aspa_invalid = CheckAction::Tag;
        settings.marked_paths = vec![PathState::Valid, PathState::Unknown];
    });
    lab.rib.replace_export(marks(), || {});
    for (path, mark) in [
        (&[1][..], "64500:1001:1"),
        (&[1, 1, 7], "64500:1001:1"),
        (&[1, 9], "64500:1001:2"),
        (&[1, 7, 8], "64500:1001:4"),
    ] {
        lab.announce(0, &Block::new(path).0, "185.1.0.0/16");
        assert_eq!(larges(&lab.block(1).unwrap()), [mark], "{path:?}");
    }
    let snapshot = lab.rib.explain("185.1.0.0/16".parse().unwrap()).unwrap();
    assert_eq!(snapshot.candidates[0].class.path, Some(PathState::Invalid));
    lab.replace_data(data(&[(7, &[1, 8]), (8, &[7])]));
    assert_eq!(
        larges(&lab.block(1).unwrap()),
        ["64500:1001:1"],
        "other ASPAs, another mark"
    );
}

#[test]
fn a_change_between_states_that_no_mark_distinguishes_sends_nothing() {
    let mut lab = exchange(|settings| settings.aspa_invalid = CheckAction::Tag);
    lab.rib.replace_export(marks(), || {});
    lab.announce(0, &Block::new(&[1, 9]).0, "185.1.0.0/16");
    assert_eq!(lab.received(PeerId(1)).len(), 1);
    lab.replace_data(data(&[(9, &[1])]));
    assert_eq!(lab.received(PeerId(1)).len(), 0, "unknown, now valid");
    lab.replace_data(data(&[(9, &[8])]));
    assert_eq!(
        larges(&lab.block(1).unwrap()),
        ["64500:1001:4"],
        "now invalid"
    );
}

#[test]
fn an_invalid_path_may_be_accepted_with_its_reason() {
    let mut lab = exchange(|settings| settings.tag_rejected = true);
    lab.rib.replace_export(marks(), || {});
    lab.announce(0, &Block::new(&[1, 7, 8]).0, "185.1.0.0/16");
    assert_eq!(larges(&lab.block(1).unwrap()), ["64500:1101:29"]);
}

#[test]
fn an_invalid_path_may_be_least_preferred() {
    let least = |settings: &mut ImportSettings| {
        settings.aspa_invalid = CheckAction::LeastPreferred;
    };
    let mut lab = exchange(least);
    lab.announce(0, &Block::new(&[1, 7, 8]).0, "185.1.0.0/16");
    lab.announce(1, &Block::new(&[2, 9, 9, 9]).0, "185.1.0.0/16");
    let explained = lab.rib.explain("185.1.0.0/16".parse().unwrap()).unwrap();
    let order: Vec<u16> = explained.candidates.iter().map(|c| c.peer.0).collect();
    assert_eq!(order, [1, 0], "the longer path is not contradicted");
}

#[test]
fn a_preview_lists_the_routes_that_other_aspas_concern() {
    let mut lab = exchange(|_| {});
    lab.announce(0, &Block::new(&[1, 7]).0, "185.0.0.0/16");
    lab.announce(0, &Block::new(&[1, 9]).0, "185.1.0.0/16");
    let snapshot = lab.rib.snapshot();
    let mut found = Vec::new();
    let other = data(&[(7, &[1, 8]), (8, &[0]), (9, &[8])]);
    snapshot.preview(|_| PreviewedPolicy::Same, &other, |route| found.push(route));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].prefix, "185.1.0.0/16".parse().unwrap());
    assert_eq!(found[0].after, Some(Err(RejectReason::AspaInvalid)));
}
