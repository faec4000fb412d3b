//! Outside data and classes as cases: a route in, the verdict and what clients receive out; then other data.

mod lab;

use std::net::Ipv4Addr;
use std::sync::Arc;

use lab::*;
use rutter_irr::{IrrBuilder, IrrData, IrrKind, IrrMember, IrrRules};
use rutter_net::{Asn, LargeCommunity, PerFamily, Prefix};
use rutter_policy::{
    CheckAction, ClassTag, ExportPolicy, ExportSettings, ImportPolicy, ImportSettings, OutsideData,
    RejectReason, Role, TagState,
};
use rutter_rib::*;
use rutter_rpki::{Rov, Vrps};
use rutter_wire::attr::code;

/// The VRPs allow AS 1 the prefix 185.0.0.0/16 up to /20, and AS 9 the prefix 185.1.0.0/16.
fn data(vrps: &[(u32, &str, u8)]) -> Arc<OutsideData> {
    let vrp = |(asn, prefix, max_len): &(u32, &str, u8)| {
        format!(r#"{{"asn":{asn},"prefix":"{prefix}","maxLength":{max_len}}}"#)
    };
    let all: Vec<String> = vrps.iter().map(vrp).collect();
    let json = format!(r#"{{"roas":[{}]}}"#, all.join(","));
    Arc::new(OutsideData {
        vrps: Some(Arc::new(Vrps::parse(json.as_bytes()).unwrap())),
        ..OutsideData::default()
    })
}

fn usual_data() -> Arc<OutsideData> {
    data(&[(1, "185.0.0.0/16", 20), (9, "185.1.0.0/16", 16)])
}

/// A client that the exchange checks.
fn client(index: u8, adjust: impl FnOnce(&mut ImportSettings)) -> Neighbor {
    checked_client(index, |settings| {
        settings.rpki_invalid = CheckAction::Reject;
        adjust(settings);
    })
}

fn exchange(adjust: impl Fn(&mut ImportSettings)) -> Lab {
    checked_exchange(usual_data(), |settings| {
        settings.rpki_invalid = CheckAction::Reject;
        adjust(settings);
    })
}

fn verdicts(lab: &Lab, prefix: &str) -> Vec<Option<RejectReason>> {
    let explained = lab.rib.explain(prefix.parse().unwrap()).unwrap();
    explained.candidates.iter().map(|c| c.reject).collect()
}

fn large(text: &str) -> LargeCommunity {
    text.parse().unwrap()
}

fn larges(block: &[u8]) -> Vec<LargeCommunity> {
    parse(block, true).large_communities().collect()
}

#[test]
fn an_invalid_origin_is_rejected_with_the_vrps_as_evidence() {
    let mut lab = exchange(|_| {});
    lab.announce(0, &Block::new(&[1]).0, "185.0.0.0/20");
    assert!(lab.block(1).is_some(), "valid");
    lab.announce(0, &Block::new(&[1]).0, "186.0.0.0/20");
    assert!(lab.block(1).is_some(), "not found");
    lab.announce(0, &Block::new(&[1]).0, "185.1.0.0/16");
    assert_eq!(lab.block(1), None, "invalid");
    let explained = lab.rib.explain("185.1.0.0/16".parse().unwrap()).unwrap();
    let candidate = &explained.candidates[0];
    assert_eq!(candidate.reject, Some(RejectReason::RpkiInvalid));
    let evidence = &candidate.findings[0].evidence;
    assert!(
        evidence.contains("AS1") && evidence.contains("185.1.0.0/16"),
        "{evidence}"
    );
    assert!(evidence.contains("AS9"), "{evidence}");
}

#[test]
fn other_data_change_the_verdicts_of_held_routes_and_send_only_differences() {
    let mut lab = exchange(|_| {});
    lab.announce(0, &Block::new(&[1]).0, "185.0.0.0/20");
    lab.announce(0, &Block::new(&[1]).0, "185.1.0.0/16");
    lab.announce(0, &Block::new(&[1]).0, "186.0.0.0/20");
    assert_eq!(lab.received(PeerId(1)).len(), 2);
    let changes = lab.rib.changes();
    let now = data(&[(1, "185.0.0.0/16", 20), (1, "185.1.0.0/16", 16)]);
    lab.replace_data(now);
    assert_eq!(verdicts(&lab, "185.1.0.0/16"), [None]);
    assert_eq!(
        lab.received(PeerId(1)).len(),
        1,
        "the one route that was invalid"
    );
    assert_eq!(lab.rib.changes(), changes + 1, "no other route was edited");
    lab.replace_data(usual_data());
    let reason = Some(RejectReason::RpkiInvalid);
    assert_eq!(verdicts(&lab, "185.1.0.0/16"), [reason]);
    assert_eq!(lab.received(PeerId(1)).len(), 1, "a withdrawal");
}

#[test]
fn a_batch_that_was_evaluated_under_former_data_is_evaluated_again() {
    let mut lab = exchange(|_| {});
    lab.push(0, &Block::new(&[1]).0, "185.1.0.0/16");
    let now = data(&[(1, "185.1.0.0/16", 16)]);
    lab.rib.replace_outside_data(now, || {});
    lab.rib.commit(&mut lab.batch);
    assert_eq!(verdicts(&lab, "185.1.0.0/16"), [None]);
}

#[test]
fn data_and_policies_that_change_within_a_batch_apply_to_all_its_routes() {
    let mut lab = exchange(|_| {});
    lab.push(0, &Block::new(&[1]).0, "185.1.0.0/16");
    lab.push(0, &Block::new(&[2]).0, "185.0.0.0/20");
    let now = data(&[(1, "185.1.0.0/16", 16), (3, "187.0.0.0/16", 16)]);
    lab.rib.replace_outside_data(now, || {});
    lab.push(0, &Block::new(&[1]).0, "187.0.0.0/16");
    lab.rib.commit(&mut lab.batch);
    let invalid = Some(RejectReason::RpkiInvalid);
    assert_eq!(verdicts(&lab, "185.1.0.0/16"), [None], "now valid");
    assert_eq!(verdicts(&lab, "187.0.0.0/16"), [invalid]);

    let unchecked = client(1, |settings| settings.rpki_invalid = CheckAction::Off);
    lab.push(0, &Block::new(&[1]).0, "187.0.0.0/17");
    lab.rib.replace_neighbor(PeerId(0), unchecked);
    lab.push(0, &Block::new(&[1]).0, "187.0.128.0/17");
    lab.rib.commit(&mut lab.batch);
    assert_eq!(verdicts(&lab, "187.0.0.0/17"), [None], "no longer checked");
    assert_eq!(verdicts(&lab, "187.0.128.0/17"), [None]);

    lab.push(0, &Block::new(&[1]).0, "187.0.0.0/18");
    lab.rib.replace_neighbor(PeerId(0), client(1, |_| {}));
    lab.push(0, &Block::new(&[1]).0, "187.0.64.0/18");
    lab.rib.commit(&mut lab.batch);
    assert_eq!(verdicts(&lab, "187.0.0.0/18"), [invalid], "checked again");
    assert_eq!(verdicts(&lab, "187.0.64.0/18"), [invalid]);
}

#[test]
fn a_session_that_comes_up_again_brings_no_former_data_back() {
    let mut lab = exchange(|_| {});
    let now = data(&[(1, "185.1.0.0/16", 16)]);
    lab.rib.replace_outside_data(now, || {});
    let plan = client(1, |_| {});
    lab.streams[0] = None;
    lab.rib
        .session_down(PeerId(0), PerFamily::both(Retain::Nothing));
    lab.rib.replace_neighbor(PeerId(0), plan);
    lab.streams[0] = lab.rib.session_up(PeerId(0), session(1, 1));
    lab.announce(0, &Block::new(&[1]).0, "185.1.0.0/16");
    assert_eq!(verdicts(&lab, "185.1.0.0/16"), [None]);
}

#[test]
fn without_data_no_route_fails_and_the_first_data_are_applied_to_all() {
    let mut lab = Lab::empty();
    lab.add(client(1, |_| {}), |_| {});
    lab.add(client(2, |_| {}), |_| {});
    lab.announce(0, &Block::new(&[1]).0, "185.1.0.0/16");
    assert!(lab.block(1).is_some());
    lab.replace_data(usual_data());
    assert_eq!(lab.received(PeerId(1)).len(), 1, "a withdrawal");
}

#[test]
fn a_blackholed_host_route_does_not_fail_for_its_length() {
    let blackhole = |settings: &mut ImportSettings| settings.blackhole = PerFamily::both(true);
    let mut lab = exchange(blackhole);
    let host = |path: &[u32]| {
        Block::new(path)
            .with(0xc0, code::COMMUNITIES, &[255, 255, 2, 154])
            .0
    };
    lab.announce(0, &host(&[1]), "185.0.1.1/32");
    lab.announce(0, &host(&[1]), "185.1.1.1/32");
    assert_eq!(verdicts(&lab, "185.0.1.1/32"), [None]);
    let reason = Some(RejectReason::RpkiInvalid);
    assert_eq!(verdicts(&lab, "185.1.1.1/32"), [reason], "another AS");
}

#[test]
fn an_invalid_origin_may_be_least_preferred_instead() {
    let least = |settings: &mut ImportSettings| {
        settings.rpki_invalid = CheckAction::LeastPreferred;
    };
    let mut lab = exchange(least);
    lab.add(client(3, least), |_| {});
    lab.announce(0, &Block::new(&[1]).0, "185.1.0.0/16");
    lab.announce(1, &Block::new(&[2, 7, 8, 9]).0, "185.1.0.0/16");
    let explained = lab.rib.explain("185.1.0.0/16".parse().unwrap()).unwrap();
    let order: Vec<u16> = explained.candidates.iter().map(|c| c.peer.0).collect();
    assert_eq!(order, [1, 0], "the valid route is longer and better");
}

#[test]
fn an_assumed_route_is_explained_and_leaves_no_trace() {
    let mut lab = exchange(|_| {});
    lab.announce(1, &Block::new(&[2, 9]).0, "185.1.0.0/16");
    let assumed = Block::new(&[1]);
    let attributes = parse(&assumed.0, true);
    let prefix = "185.1.0.0/16".parse().unwrap();
    let explain = |lab: &Lab| lab.rib.explain_with(prefix, PeerId(0), &attributes, &[]);
    let explained = explain(&lab).unwrap();
    let last = explained.candidates.last().unwrap();
    assert_eq!(
        (last.peer, last.reject),
        (PeerId(0), Some(RejectReason::RpkiInvalid))
    );
    assert!(last.findings[0].evidence.contains("AS9"));
    lab.rib.replace_outside_data(data(&[]), || {});
    let explained = explain(&lab).unwrap();
    assert_eq!(explained.candidates[0].peer, PeerId(0), "the shorter path");
    assert_eq!(explained.clients[1].receives, [0]);
    assert_eq!(verdicts(&lab, "185.1.0.0/16").len(), 1);
    assert!(
        lab.rib
            .explain_with(prefix, PeerId(7), &attributes, &[])
            .is_none()
    );
}

#[test]
fn a_preview_lists_the_routes_that_other_data_and_policies_concern() {
    let mut lab = exchange(|_| {});
    lab.announce(0, &Block::new(&[1]).0, "185.0.0.0/20");
    lab.announce(0, &Block::new(&[1]).0, "185.1.0.0/16");
    lab.announce(1, &Block::new(&[2]).0, "186.0.0.0/20");
    let snapshot = lab.rib.snapshot();
    let preview = |data: &OutsideData, policy: &dyn Fn(PeerId) -> PreviewedPolicy| {
        let mut out = Vec::new();
        snapshot.preview(policy, data, |route| out.push(route));
        out
    };
    let same = |_| PreviewedPolicy::Same;
    assert_eq!(preview(&usual_data(), &same), [], "equal data");
    let other = data(&[(9, "185.0.0.0/16", 24), (1, "185.1.0.0/16", 16)]);
    let changes = preview(&other, &same);
    let of = |prefix: &str| {
        let prefix = prefix.parse().unwrap();
        let change = changes.iter().find(|change| change.prefix == prefix);
        change.map(|change| (change.before.err(), change.after.map(Result::err)))
    };
    let invalid = Some(RejectReason::RpkiInvalid);
    assert_eq!(of("185.0.0.0/20"), Some((None, Some(invalid))));
    assert_eq!(of("185.1.0.0/16"), Some((invalid, Some(None))));
    assert_eq!(changes.len(), 2);
    let removed = |peer: PeerId| match peer.0 {
        1 => PreviewedPolicy::Removed,
        _ => PreviewedPolicy::Same,
    };
    let gone = preview(&usual_data(), &removed);
    assert_eq!(gone.len(), 1);
    assert_eq!((gone[0].peer, gone[0].after), (PeerId(1), None));
}

fn marks(tags: &[(TagState, &str)]) -> Arc<ExportPolicy> {
    let tag = |(state, notation): &(TagState, &str)| {
        ClassTag::new(*state, notation.parse().unwrap()).unwrap()
    };
    Arc::new(ExportPolicy::new(ExportSettings {
        local_asn: Asn(LOCAL),
        class_tags: tags.iter().map(tag).collect(),
        send_origin_state: false,
        blackhole_next_hop: PerFamily::new(Some(Ipv4Addr::new(192, 0, 2, 66).into()), None),
        ..ExportSettings::default()
    }))
}

#[test]
fn marks_follow_the_state_of_the_origin_and_cannot_be_forged() {
    let mut lab = exchange(|settings| {
        settings.rpki_invalid = CheckAction::Tag;
        settings.marked_origins = vec![Rov::Valid];
    });
    let tags = [
        (TagState::OriginValid, "self:1000:1"),
        (TagState::OriginInvalid, "self:1000:4"),
    ];
    lab.rib.replace_export(marks(&tags), || {});
    let forged: Vec<u8> = [LOCAL, 1000, 1]
        .iter()
        .flat_map(|part| part.to_be_bytes())
        .collect();
    let sent = Block::new(&[1])
        .with(0xc0, code::LARGE_COMMUNITIES, &forged)
        .0;
    lab.announce(0, &sent, "185.1.0.0/16");
    assert_eq!(larges(&lab.block(1).unwrap()), [large("64500:1000:4")]);
    // The same attributes, another state.
    lab.announce(0, &sent, "186.0.0.0/16");
    assert_eq!(larges(&lab.block(1).unwrap()), []);
    let now = data(&[(1, "185.1.0.0/16", 16)]);
    lab.replace_data(now);
    assert_eq!(larges(&lab.block(1).unwrap()), [large("64500:1000:1")]);
    let other = [(TagState::OriginValid, "self:1000:7")];
    lab.rib.replace_export(marks(&other), || {});
    lab.rib.flush();
    let blocks = lab.received(PeerId(1));
    assert!(!blocks.is_empty(), "another mark is advertised");
    let snapshot = lab.rib.explain("185.1.0.0/16".parse().unwrap()).unwrap();
    let attributes = snapshot.candidates[0].attrs.attributes();
    let held: Vec<LargeCommunity> = attributes.large_communities().collect();
    assert_eq!(
        held,
        [large("64500:1000:1")],
        "the received attributes stay as received"
    );
}

#[test]
fn a_failed_check_may_mark_a_route_instead_of_rejecting_it() {
    let mut lab = exchange(|settings| settings.tag_rejected = true);
    let tags = [(TagState::RejectCause, "self:1101:code")];
    lab.rib.replace_export(marks(&tags), || {});
    lab.announce(0, &Block::new(&[1]).0, "186.0.0.0/25");
    assert_eq!(larges(&lab.block(1).unwrap()), [large("64500:1101:13")]);
    lab.announce(0, &Block::new(&[1]).0, "185.1.0.0/16");
    assert_eq!(larges(&lab.block(1).unwrap()), [large("64500:1101:14")]);
    lab.announce(0, &Block::new(&[1, LOCAL]).0, "186.1.0.0/16");
    assert_eq!(lab.block(1), None, "a loop is rejected under every policy");
}

#[test]
fn a_route_with_a_failed_check_names_its_sender_and_has_the_community_of_the_reason() {
    let mut lab = exchange(|settings| settings.tag_rejected = true);
    let tags = [
        (TagState::RejectedRouteOf, "self:1102:peer"),
        (TagState::RejectedFor(13), "self:7:7"),
        (TagState::RejectedFor(14), "self:8:8"),
    ];
    lab.rib.replace_export(marks(&tags), || {});
    lab.announce(0, &Block::new(&[1]).0, "186.0.0.0/25");
    let both = [large("64500:1102:1"), large("64500:7:7")];
    assert_eq!(larges(&lab.block(1).unwrap()), both);
    lab.announce(0, &Block::new(&[1]).0, "185.1.0.0/16");
    let both = [large("64500:1102:1"), large("64500:8:8")];
    assert_eq!(larges(&lab.block(1).unwrap()), both);
}

#[test]
fn blackholed_routes_get_the_next_hop_of_the_exchange() {
    let blackhole = |settings: &mut ImportSettings| settings.blackhole = PerFamily::both(true);
    let mut lab = exchange(blackhole);
    lab.rib.replace_export(marks(&[]), || {});
    let host = Block::new(&[1])
        .with(0xc0, code::COMMUNITIES, &[255, 255, 2, 154])
        .0;
    lab.announce(0, &host, "185.0.1.1/32");
    let block = lab.block(1).unwrap();
    let next_hop = parse(&block, true).next_hop();
    assert_eq!(next_hop, Some(Ipv4Addr::new(192, 0, 2, 66)));
    lab.announce(0, &Block::new(&[1]).0, "186.0.0.0/20");
    let block = lab.block(1).unwrap();
    let next_hop = parse(&block, true).next_hop();
    assert_eq!(next_hop, Some(Ipv4Addr::new(198, 51, 100, 1)));
}

#[test]
fn only_to_customer_that_receipt_adds_is_undone_by_another_role() {
    let mut lab = Lab::empty();
    let provider = |role| {
        let mut provider = neighbor(1, PeerKind::External, 1);
        provider.role = role;
        provider.import = Arc::new(ImportPolicy::new(ImportSettings {
            role,
            ..provider.import.settings().clone()
        }));
        provider
    };
    lab.add(provider(Some(Role::Customer)), |_| {});
    lab.add(neighbor(2, PeerKind::External, 2), |_| {});
    lab.announce(0, &Block::new(&[1]).0, "186.0.0.0/20");
    let block = lab.block(1).unwrap();
    assert_eq!(parse(&block, true).only_to_customer(), Some(Asn(1)));
    lab.rib.replace_neighbor(PeerId(0), provider(None));
    lab.rib.flush();
    let block = lab.block(1).unwrap();
    assert_eq!(parse(&block, true).only_to_customer(), None);
}

/// The IRR has 185.0.0.0/16 for AS 1 and 185.1.0.0/16 for AS 9. The member has the AS numbers 1 and 5.
fn irr(rules: IrrRules) -> Arc<OutsideData> {
    let mut builder = IrrBuilder::new();
    let member = IrrMember(0);
    builder.add_member(member, 1, rules);
    builder.add_origins(member, "RIPE::AS-ONE", [1, 5]);
    let source = builder.add_source("RIPE");
    for (prefix, origin) in [("185.0.0.0/16", 1), ("185.1.0.0/16", 9)] {
        let prefix = prefix.parse().unwrap();
        builder.add_route_object(prefix, origin, IrrKind::RouteObject, source);
    }
    Arc::new(OutsideData {
        vrps: usual_data().vrps.clone(),
        irr: Some(Arc::new(builder.build().unwrap())),
        ..OutsideData::default()
    })
}

fn irr_exchange(rules: IrrRules, action: CheckAction) -> Lab {
    let lab = exchange(|settings| {
        settings.rpki_invalid = CheckAction::Off;
        settings.irr_invalid = action;
        settings.peer_asn = Asn(1);
        settings.irr_member = Some(IrrMember(0));
        settings.blackhole = PerFamily::both(true);
    });
    lab.rib.replace_outside_data(irr(rules), || {});
    lab
}

const BOTH: IrrRules = IrrRules {
    origin: true,
    prefix: true,
    bound: false,
    longer: false,
    roas: false,
};

/// The verdict on a route of the first member.
fn verdict(lab: &mut Lab, path: &[u32], prefix: &str) -> Option<RejectReason> {
    lab.announce(0, &Block::new(path).0, prefix);
    verdicts(lab, prefix)[0]
}

#[test]
fn routes_must_be_registered_for_the_as_sets_of_the_member() {
    let mut lab = irr_exchange(BOTH, CheckAction::Reject);
    assert_eq!(verdict(&mut lab, &[1], "185.0.0.0/16"), None);
    assert_eq!(
        verdict(&mut lab, &[1, 5], "185.0.0.0/16"),
        None,
        "not bound"
    );
    let origin = Some(RejectReason::OriginNotInAsSet);
    assert_eq!(verdict(&mut lab, &[1, 9], "185.1.0.0/16"), origin);
    let prefix = Some(RejectReason::PrefixNotInAsSet);
    assert_eq!(verdict(&mut lab, &[1], "186.0.0.0/16"), prefix);
    assert_eq!(
        verdict(&mut lab, &[1], "185.0.0.0/20"),
        prefix,
        "a longer prefix"
    );
    let explained = lab.rib.explain("185.1.0.0/16".parse().unwrap()).unwrap();
    let evidence = &explained.candidates[0].findings[0].evidence;
    assert!(evidence.contains("AS9"), "{evidence}");
}

/// No prefix changes, so only the attributes tell which routes are concerned.
#[test]
fn an_origin_that_leaves_an_as_set_concerns_its_routes_alone() {
    let mut lab = irr_exchange(BOTH, CheckAction::Reject);
    let member = IrrMember(0);
    let prefixes = ["185.0.0.0/16", "185.1.0.0/16"];
    let builder = |origins: &[u32]| {
        let mut builder = IrrBuilder::new();
        builder.add_member(member, 1, BOTH);
        builder.add_origins(member, "AS-ONE", origins.iter().copied());
        let rows = prefixes.map(|prefix| prefix.parse::<Prefix>().unwrap().into());
        builder.add_list(member, "list", rows);
        builder
    };
    let both = Arc::new(builder(&[1, 5]).build().unwrap());
    let one = Arc::new(builder(&[1]).build_after(&both).unwrap());
    let data = |irr: &Arc<IrrData>| {
        Arc::new(OutsideData {
            irr: Some(Arc::clone(irr)),
            ..OutsideData::default()
        })
    };
    lab.replace_data(data(&both));
    assert_eq!(verdict(&mut lab, &[1, 5], prefixes[0]), None);
    assert_eq!(verdict(&mut lab, &[1], prefixes[1]), None);
    let origin = Some(RejectReason::OriginNotInAsSet);
    for (irr, expected) in [(&one, origin), (&both, None), (&one, origin)] {
        lab.replace_data(data(irr));
        assert_eq!(verdicts(&lab, prefixes[0]), [expected]);
        assert_eq!(verdicts(&lab, prefixes[1]), [None]);
    }
}

#[test]
fn bound_registrations_close_the_gap_of_flattened_lists() {
    let bound = IrrRules {
        bound: true,
        ..BOTH
    };
    let mut lab = irr_exchange(bound, CheckAction::Reject);
    assert_eq!(verdict(&mut lab, &[1], "185.0.0.0/16"), None);
    let prefix = Some(RejectReason::PrefixNotInAsSet);
    assert_eq!(verdict(&mut lab, &[1, 5], "185.0.0.0/16"), prefix);
}

#[test]
fn a_valid_roa_counts_as_a_route_object_where_the_rules_have_it_so() {
    let roas = IrrRules { roas: true, ..BOTH };
    let mut lab = irr_exchange(roas, CheckAction::Reject);
    assert_eq!(verdict(&mut lab, &[1], "185.0.16.0/20"), None);
    let mut lab = irr_exchange(BOTH, CheckAction::Reject);
    let prefix = Some(RejectReason::PrefixNotInAsSet);
    assert_eq!(verdict(&mut lab, &[1], "185.0.16.0/20"), prefix);
}

#[test]
fn a_blackholed_host_route_needs_a_registration_that_covers_it() {
    let mut lab = irr_exchange(BOTH, CheckAction::Reject);
    let host = Block::new(&[1])
        .with(0xc0, code::COMMUNITIES, &[255, 255, 2, 154])
        .0;
    lab.announce(0, &host, "185.0.1.1/32");
    lab.announce(0, &host, "186.0.1.1/32");
    assert_eq!(verdicts(&lab, "185.0.1.1/32"), [None]);
    let prefix = Some(RejectReason::PrefixNotInAsSet);
    assert_eq!(verdicts(&lab, "186.0.1.1/32"), [prefix]);
}

#[test]
fn registrations_may_mark_routes_instead_of_rejecting_them() {
    let mut lab = irr_exchange(BOTH, CheckAction::Tag);
    let tags = [
        (TagState::IrrOriginPresent, "self:2000:1"),
        (TagState::IrrOriginAbsent, "self:2000:2"),
        (TagState::IrrPrefixPresent, "self:2000:3"),
        (TagState::IrrPrefixAbsent, "self:2000:4"),
    ];
    lab.rib.replace_export(marks(&tags), || {});
    lab.announce(0, &Block::new(&[1]).0, "185.0.0.0/16");
    let both = [large("64500:2000:1"), large("64500:2000:3")];
    assert_eq!(larges(&lab.block(1).unwrap()), both);
    lab.announce(0, &Block::new(&[1, 9]).0, "186.0.0.0/16");
    let neither = [large("64500:2000:2"), large("64500:2000:4")];
    assert_eq!(larges(&lab.block(1).unwrap()), neither);
}

/// The ROA for 185.0.0.0/16, two dumps and a white list stand in for route objects.
#[test]
fn each_kind_of_registration_has_a_mark_of_its_own() {
    let roas = IrrRules { roas: true, ..BOTH };
    let mut lab = irr_exchange(roas, CheckAction::Tag);
    let (mut builder, member) = (IrrBuilder::new(), IrrMember(0));
    builder.add_member(member, 1, roas);
    builder.add_origins(member, "RIPE::AS-ONE", [1]);
    for (prefix, kind, name) in [
        ("185.1.0.0/16", IrrKind::RouteObject, "RIPE"),
        ("185.2.0.0/16", IrrKind::Arin, "ARIN"),
        ("185.3.0.0/16", IrrKind::RegistroBr, "registro.br"),
    ] {
        let source = builder.add_source(name);
        builder.add_route_object(prefix.parse().unwrap(), 1, kind, source);
    }
    let white = ["185.4.0.0/16"].map(|prefix| prefix.parse::<Prefix>().unwrap().into());
    builder.add_white_prefixes(member, "white-list", white);
    lab.replace_data(Arc::new(OutsideData {
        vrps: usual_data().vrps.clone(),
        irr: Some(Arc::new(builder.build().unwrap())),
        ..OutsideData::default()
    }));
    let tags = [
        (TagState::IrrPrefixByRoa, "self:3000:0"),
        (TagState::IrrPrefixPresent, "self:3000:1"),
        (TagState::IrrPrefixByArin, "self:3000:2"),
        (TagState::IrrPrefixByRegistroBr, "self:3000:3"),
        (TagState::WhiteListed, "self:3000:4"),
        (TagState::IrrPrefixAbsent, "self:3000:5"),
    ];
    lab.rib.replace_export(marks(&tags), || {});
    for number in 0..=5 {
        lab.announce(0, &Block::new(&[1]).0, &format!("185.{number}.0.0/16"));
        let mark = large(&format!("64500:3000:{number}"));
        assert_eq!(larges(&lab.block(1).unwrap()), [mark]);
    }
}

#[test]
fn before_the_first_irr_data_no_route_is_rejected_by_them() {
    let mut lab = irr_exchange(BOTH, CheckAction::Reject);
    let without = OutsideData {
        irr: None,
        ..OutsideData::clone(&usual_data())
    };
    lab.rib.replace_outside_data(Arc::new(without), || {});
    assert_eq!(verdict(&mut lab, &[1, 9], "186.0.0.0/16"), None);
    // The first data arrive, and the check counts for the route that is there.
    lab.rib.replace_outside_data(irr(BOTH), || {});
    let origin = Some(RejectReason::OriginNotInAsSet);
    assert_eq!(verdicts(&lab, "186.0.0.0/16"), [origin]);
}

#[test]
fn a_new_member_is_rejected_until_its_registrations_are_there() {
    let mut lab = irr_exchange(BOTH, CheckAction::Reject);
    let others = OutsideData {
        irr: Some(Arc::new(IrrBuilder::new().build().unwrap())),
        ..OutsideData::default()
    };
    lab.rib.replace_outside_data(Arc::new(others), || {});
    let prefix = Some(RejectReason::PrefixNotInAsSet);
    assert_eq!(verdict(&mut lab, &[1], "185.0.0.0/16"), prefix);
    let explained = lab.rib.explain("185.0.0.0/16".parse().unwrap()).unwrap();
    let evidence = &explained.candidates[0].findings[0].evidence;
    assert!(evidence.contains("no IRR data have arrived"), "{evidence}");
}

/// The number of a member that left goes to another AS, and the data in force still have the old AS.
#[test]
fn a_number_of_another_as_gives_none_of_its_registrations() {
    let mut lab = irr_exchange(BOTH, CheckAction::Reject);
    assert_eq!(verdict(&mut lab, &[1], "185.0.0.0/16"), None);
    let mut other = checked_client(1, |settings| {
        settings.irr_invalid = CheckAction::Reject;
        settings.irr_member = Some(IrrMember(0));
        settings.peer_asn = Asn(7);
        settings.enforce_first_as = false;
    });
    other.remote_asn = Asn(7);
    lab.rib.replace_neighbor(PeerId(0), other);
    let prefix = Some(RejectReason::PrefixNotInAsSet);
    assert_eq!(verdict(&mut lab, &[1], "185.0.0.0/16"), prefix);
    // Its own data arrive under the number.
    let data = |asn| {
        let mut builder = IrrBuilder::new();
        builder.add_member(IrrMember(0), asn, BOTH);
        builder.add_origins(IrrMember(0), "AS1", [1]);
        let source = builder.add_source("RIPE");
        let prefix = "185.0.0.0/16".parse().unwrap();
        builder.add_route_object(prefix, 1, IrrKind::RouteObject, source);
        Arc::new(OutsideData {
            irr: Some(Arc::new(builder.build().unwrap())),
            ..OutsideData::default()
        })
    };
    lab.replace_data(data(1));
    assert_eq!(verdicts(&lab, "185.0.0.0/16"), [prefix]);
    lab.replace_data(data(7));
    assert_eq!(verdicts(&lab, "185.0.0.0/16"), [None]);
}

/// A neighbor of any AS must not announce everything in the time before the first data.
#[test]
fn without_any_irr_data_routes_of_a_neighbor_that_requires_them_are_rejected() {
    let mut lab = irr_exchange(BOTH, CheckAction::Reject);
    let without = OutsideData {
        irr: None,
        ..OutsideData::clone(&usual_data())
    };
    lab.replace_data(Arc::new(without));
    assert_eq!(verdict(&mut lab, &[1], "185.0.0.0/16"), None);
    let stranger = checked_client(1, |settings| {
        settings.irr_invalid = CheckAction::Reject;
        settings.irr_member = Some(IrrMember(0));
        settings.irr_required = true;
        settings.peer_asn = Asn(1);
    });
    lab.rib.replace_neighbor(PeerId(0), stranger);
    let prefix = Some(RejectReason::PrefixNotInAsSet);
    assert_eq!(verdicts(&lab, "185.0.0.0/16"), [prefix]);
    let explained = lab.rib.explain("185.0.0.0/16".parse().unwrap()).unwrap();
    let evidence = &explained.candidates[0].findings[0].evidence;
    assert!(evidence.contains("no IRR data have arrived"), "{evidence}");
    lab.replace_data(irr(BOTH));
    assert_eq!(verdicts(&lab, "185.0.0.0/16"), [None]);
}

#[test]
fn the_evidence_names_as_sets_that_are_not_read_yet() {
    let mut lab = irr_exchange(BOTH, CheckAction::Reject);
    let mut builder = IrrBuilder::new();
    builder.add_member(IrrMember(0), 1, BOTH);
    builder.add_origins(IrrMember(0), "AS1", [1]);
    builder.add_unread_set(IrrMember(0), "AS-NEW");
    let data = OutsideData {
        irr: Some(Arc::new(builder.build().unwrap())),
        ..OutsideData::default()
    };
    lab.rib.replace_outside_data(Arc::new(data), || {});
    let origin = Some(RejectReason::OriginNotInAsSet);
    assert_eq!(verdict(&mut lab, &[1, 9], "185.1.0.0/16"), origin);
    let explained = lab.rib.explain("185.1.0.0/16".parse().unwrap()).unwrap();
    let evidence = &explained.candidates[0].findings[0].evidence;
    let expected = "the origin is AS9, it is not in AS1; not read yet: AS-NEW";
    assert_eq!(evidence, expected);
}
