//! All reasons against a route, with evidence.
//!
//! This is the slow counterpart of the compiled checks: it evaluates the settings directly. Tests compare both.

use std::fmt::Display;
use std::net::Ipv4Addr;

use rutter_irr::{IrrBearing, IrrFinding};
use rutter_net::{Asn, Family, Prefix};
use rutter_rpki::Rov;
use rutter_wire::attr::Attributes;

use crate::data_checks::{DataChecks, Subject};
use crate::origin_state_community;
use crate::path_checks::PathChecks;
use crate::path_verification;
use crate::prefix_match::{GLOBAL_UNICAST, MARTIANS_V4, MARTIANS_V6};
use crate::{
    BOGONS_V4, BOGONS_V6, COMBINATIONS, CheckAction, FilterDecision, ImportPolicy, ImportRule,
    ImportSettings, NextHop, OtcIngress, OutsideData, PrefixMatch, RejectReason, RouteVerdict,
    RuleSet, otc_on_receive,
};

/// A reason against a route, with its evidence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The reason.
    pub reason: RejectReason,
    /// The value found and the value expected, as text.
    pub evidence: String,
}

type Findings = Vec<Finding>;

fn push(out: &mut Findings, reason: RejectReason, evidence: impl Into<String>) {
    out.push(Finding {
        reason,
        evidence: evidence.into(),
    });
}

/// Returns all findings. The reason that the compiled checks return comes first.
pub(crate) fn collect(
    policy: &ImportPolicy,
    data: &OutsideData,
    prefix: Prefix,
    attributes: &Attributes<'_>,
    next_hop: NextHop,
    family: Family,
) -> Findings {
    let verdict = policy.check_attributes(data, attributes, next_hop, family);
    let first = match policy.judge(data, prefix, &verdict) {
        RouteVerdict::Rejected(reason) => Some(reason),
        RouteVerdict::Accepted { class, .. } => class.failed,
    };
    let mut out = all(policy, data, prefix, attributes, next_hop, family);
    let is_explained = out.iter().any(|finding| Some(finding.reason) == first);
    if first == Some(RejectReason::Filter) && !is_explained {
        let evidence = format!(
            "its filters change it in another combination than the {COMBINATIONS} that routes of a neighbor may meet"
        );
        push(&mut out, RejectReason::Filter, evidence);
    }
    out.sort_by_key(|finding| Some(finding.reason) != first);
    out
}

fn all(
    policy: &ImportPolicy,
    data: &OutsideData,
    prefix: Prefix,
    attributes: &Attributes<'_>,
    next_hop: NextHop,
    family: Family,
) -> Findings {
    let settings = policy.settings();
    let mut out = Findings::new();
    if settings.rule == ImportRule::Collect {
        return out;
    }
    session_findings(settings, family, &mut out);
    path_findings(settings, attributes, &mut out);
    reflection_findings(settings, attributes, &mut out);
    if policy.is_own_address(next_hop) {
        let evidence = format!("next hop is {next_hop}, an address of this router");
        push(&mut out, RejectReason::NextHop, evidence);
    } else if !policy.allows_next_hop(next_hop) {
        let allowed = list(policy.next_hops().unwrap_or_default());
        push(
            &mut out,
            RejectReason::NextHop,
            format!("next hop is {next_hop}, allowed: {allowed}"),
        );
    }
    origin_findings(settings, attributes, &mut out);
    role_findings(settings, attributes, &mut out);
    let (_, blackhole) = policy.well_known(attributes, family);
    out.extend(prefix_findings(settings, prefix, blackhole));
    let checks = DataChecks::new(settings, data);
    let subject = Subject {
        prefix,
        places: checks.locate(prefix),
        irr_origin: None,
        origin: attributes.as_path().and_then(|path| path.origin()),
        received_state: match settings.obey_origin_state {
            true => origin_state_community::received(attributes),
            false => None,
        },
        is_blackhole: blackhole,
    };
    data_findings(settings, data, (&checks, &subject), &mut out);
    aspa_findings(settings, data, attributes, &mut out);
    let rules = settings
        .filters
        .matching(attributes, next_hop, family, settings.peer_asn);
    filter_findings(settings, data, &subject, rules, &mut out);
    out
}

fn filter_findings(
    settings: &ImportSettings,
    data: &OutsideData,
    subject: &Subject,
    rules: RuleSet,
    out: &mut Findings,
) {
    let origin_state = || {
        let own = || data.validate_origin(subject.prefix, subject.origin, subject.is_blackhole);
        subject.received_state.or_else(own)
    };
    let decision = settings.filters.decide(rules, subject.prefix, origin_state);
    if let FilterDecision::Rejected { filter, rule } = decision {
        let evidence = settings.filters.describe(filter, rule);
        push(out, RejectReason::Filter, evidence);
    }
}

fn session_findings(settings: &ImportSettings, family: Family, out: &mut Findings) {
    if settings.rule == ImportRule::None {
        let evidence = "the neighbor has no `import` in the configuration, or `import = \"none\"`";
        push(out, RejectReason::NoImportPolicy, evidence);
    } else if !settings.families[family] {
        push(
            out,
            RejectReason::WrongFamily,
            format!("{family} is not enabled for this neighbor"),
        );
    }
}

fn path_findings(settings: &ImportSettings, attributes: &Attributes<'_>, out: &mut Findings) {
    let checks = PathChecks::new(settings);
    let asns: Vec<Asn> = attributes
        .as_path()
        .map(|p| p.asns().collect())
        .unwrap_or_default();
    let mut each = |reason, fails: &dyn Fn(Asn) -> bool| {
        let mut hits: Vec<Asn> = asns.iter().copied().filter(|asn| fails(*asn)).collect();
        hits.dedup();
        if !hits.is_empty() {
            let evidence = format!("AS_PATH {} contains {}", path_text(attributes), list(&hits));
            push(out, reason, evidence);
        }
    };
    each(RejectReason::AsLoop, &|asn| checks.is_loop(asn));
    each(RejectReason::InvalidAsn, &|asn| checks.is_invalid(asn));
    each(RejectReason::TransitFreeAsn, &|asn| {
        checks.is_transit_free(asn)
    });
    each(RejectReason::NeverViaRouteServers, &|asn| {
        checks.is_never(asn)
    });
    if settings.rule != ImportRule::Checks {
        return;
    }
    let len = attributes.as_path().map_or(0, |p| p.path_len());
    if len > usize::from(settings.max_as_path_len) {
        let evidence = format!(
            "AS_PATH has {len} numbers, at most {} are accepted",
            settings.max_as_path_len
        );
        push(out, RejectReason::AsPathTooLong, evidence);
    }
    let first = attributes.as_path().and_then(|p| p.first());
    if settings.enforce_first_as && first != Some(settings.peer_asn) {
        let found = first.map_or("no AS".to_owned(), |asn| format!("AS{asn}"));
        let evidence = format!(
            "AS_PATH starts with {found}, the neighbor is AS{}",
            settings.peer_asn
        );
        push(out, RejectReason::FirstAs, evidence);
    }
    if settings.reject_as_set && attributes.as_path().is_some_and(|p| p.has_set()) {
        push(
            out,
            RejectReason::AsSet,
            format!("AS_PATH is {}", path_text(attributes)),
        );
    }
}

fn reflection_findings(settings: &ImportSettings, attributes: &Attributes<'_>, out: &mut Findings) {
    let originator_id = attributes.originator_id().map(Ipv4Addr::from_bits);
    if let (Some(id), true) = (originator_id, originator_id == settings.router_id) {
        let evidence = format!("ORIGINATOR_ID is {id}");
        push(out, RejectReason::OriginatorLoop, evidence);
    }
    let ids: Vec<Ipv4Addr> = attributes.cluster_list().map(Ipv4Addr::from_bits).collect();
    if let Some(own) = settings.cluster_id.filter(|own| ids.contains(own)) {
        let evidence = format!("CLUSTER_LIST {} contains {own}", list(&ids));
        push(out, RejectReason::ClusterLoop, evidence);
    }
}

fn origin_findings(settings: &ImportSettings, attributes: &Attributes<'_>, out: &mut Findings) {
    if settings.rule != ImportRule::Checks || settings.allow_origins.is_empty() {
        return;
    }
    match attributes.as_path().and_then(|path| path.origin()) {
        Some(origin) if settings.allow_origins.contains(&origin) => {}
        Some(origin) => push(
            out,
            RejectReason::OriginNotAllowed,
            format!("the origin is AS{origin}"),
        ),
        None => push(
            out,
            RejectReason::OriginNotAllowed,
            "the AS_PATH has no origin",
        ),
    }
}

fn role_findings(settings: &ImportSettings, attributes: &Attributes<'_>, out: &mut Findings) {
    let otc = attributes.only_to_customer();
    let verdict = otc_on_receive(settings.role, settings.peer_asn, otc);
    if let (OtcIngress::Leak, Some(role), Some(otc)) = (verdict, settings.role, otc) {
        let evidence = format!("ONLY_TO_CUSTOMER is {otc} and our role is {role}");
        push(out, RejectReason::RoleLeak, evidence);
    }
}

fn data_findings(
    settings: &ImportSettings,
    data: &OutsideData,
    (checks, subject): (&DataChecks<'_>, &Subject),
    out: &mut Findings,
) {
    let state = checks.origin_state(subject);
    let origin = subject
        .origin
        .map_or("no AS".to_owned(), |asn| format!("AS{asn}"));
    irr_findings(settings, data, (checks, subject), state, out);
    if settings.rpki_invalid == CheckAction::Reject
        && settings.validates_origin()
        && state == Some(Rov::Invalid)
    {
        let evidence = match (subject.received_state, &data.vrps) {
            (Some(_), _) => "the neighbor sends the community of invalid origins (RFC 8097)".into(),
            (None, vrps) => {
                let covering = vrps.iter().flat_map(|vrps| vrps.covering(subject.prefix));
                let covering: Vec<String> = covering.map(|vrp| vrp.to_string()).collect();
                format!("the origin is {origin}, VRPs: {}", covering.join(", "))
            }
        };
        push(out, RejectReason::RpkiInvalid, evidence);
    }
}

fn aspa_findings(
    settings: &ImportSettings,
    data: &OutsideData,
    attributes: &Attributes<'_>,
    out: &mut Findings,
) {
    if settings.aspa_invalid != CheckAction::Reject {
        return;
    }
    if let Some(why) = path_verification::explain(settings, data, attributes.as_path()) {
        let evidence = format!("AS_PATH {}: {why}", path_text(attributes));
        push(out, RejectReason::AspaInvalid, evidence);
    }
}

fn irr_findings(
    settings: &ImportSettings,
    data: &OutsideData,
    (checks, subject): (&DataChecks<'_>, &Subject),
    state: Option<Rov>,
    out: &mut Findings,
) {
    let (CheckAction::Reject, Some(member)) = (settings.irr_invalid, settings.irr_member()) else {
        return;
    };
    if checks.is_left_out {
        let text = "no IRR data have arrived for this member yet; see `rutter show sources`";
        return push(out, RejectReason::PrefixNotInAsSet, text);
    }
    let found = checks.irr_verdict(subject, state);
    let (Some(found), Some(irr)) = (found, data.irr.as_ref()) else {
        return;
    };
    let (prefix, origin) = (subject.prefix, subject.origin);
    let evidence = irr.find(
        member,
        prefix,
        origin.map(|asn| asn.0),
        state == Some(Rov::Valid),
    );
    let origin = origin.map_or("no AS".to_owned(), |asn| format!("AS{asn}"));
    if found.origin_fault() {
        let sets = match (evidence.as_sets.as_slice(), evidence.unread_sets.as_slice()) {
            ([], []) => "the member has no AS-SET".to_owned(),
            ([], unread) => format!("{} not read yet", unread.join(", ")),
            (sets, []) => format!("it is not in {}", sets.join(", ")),
            (sets, unread) => {
                let (sets, unread) = (sets.join(", "), unread.join(", "));
                format!("it is not in {sets}; not read yet: {unread}")
            }
        };
        let text = format!("the origin is {origin}, {sets}");
        push(out, RejectReason::OriginNotInAsSet, text);
    }
    if found.prefix_fault() {
        let own = |entry: &&IrrFinding<'_>| entry.bearing != IrrBearing::OtherMember;
        let near = evidence.findings.iter().filter(own).take(MAX_ENTRIES);
        let near: Vec<String> = near.map(registration).collect();
        let near = match near.as_slice() {
            [] => "no registration of the member covers it".to_owned(),
            near => format!("the member's registrations around it: {}", near.join(", ")),
        };
        let text = format!("{prefix} is not registered for {origin}; {near}");
        push(out, RejectReason::PrefixNotInAsSet, text);
    }
}

/// The most registrations in the evidence of one reason.
const MAX_ENTRIES: usize = 8;

/// Describes a registration: prefix, lengths, origin, source and line.
fn registration(entry: &IrrFinding<'_>) -> String {
    let mut text = entry.prefix.to_string();
    if (entry.min_len, entry.max_len) != (entry.prefix.len(), entry.prefix.len()) {
        text.push_str(&format!(" {}-{}", entry.min_len, entry.max_len));
    }
    if let Some(origin) = entry.origin {
        text.push_str(&format!(" AS{origin}"));
    }
    match (entry.source, entry.line) {
        (Some(source), Some(line)) => text.push_str(&format!(" ({source}, line {line})")),
        (Some(source), None) => text.push_str(&format!(" ({source})")),
        (None, _) => {}
    }
    text
}

/// Returns all reasons against the prefix alone.
pub(crate) fn prefix_findings(
    settings: &ImportSettings,
    prefix: Prefix,
    blackhole: bool,
) -> Findings {
    let mut out = Findings::new();
    if let ImportRule::Collect = settings.rule {
        return out;
    }
    let checks = settings.rule == ImportRule::Checks;
    if checks && settings.reject_bogons {
        if prefix.len() == 0 {
            push(
                &mut out,
                RejectReason::Bogon,
                format!("{prefix} is the default route"),
            );
        }
        special(prefix, BOGONS_V4, BOGONS_V6, RejectReason::Bogon, &mut out);
    }
    if !checks || !settings.reject_bogons {
        special(
            prefix,
            MARTIANS_V4,
            MARTIANS_V6,
            RejectReason::Martian,
            &mut out,
        );
    }
    if checks {
        black_list_findings(settings, prefix, &mut out);
        shape_findings(settings, prefix, blackhole, &mut out);
    }
    out
}

fn special(
    prefix: Prefix,
    v4: &[rutter_net::Ipv4Prefix],
    v6: &[rutter_net::Ipv6Prefix],
    reason: RejectReason,
    out: &mut Findings,
) {
    let v4 = v4.iter().copied().map(Prefix::V4);
    let v6 = v6.iter().copied().map(Prefix::V6);
    for net in v4.chain(v6).filter(|net| net.covers(prefix)) {
        push(out, reason, format!("{prefix} is in {net}"));
    }
}

fn black_list_findings(settings: &ImportSettings, prefix: Prefix, out: &mut Findings) {
    for lan in settings.lan.iter().filter(|lan| lan.covers(prefix)) {
        push(
            out,
            RejectReason::OwnLan,
            format!("{prefix} is in the LAN {lan}"),
        );
    }
    for (entries, reason) in [
        (&settings.black_list, RejectReason::GlobalBlackList),
        (&settings.client_black_list, RejectReason::ClientBlackList),
    ] {
        for entry in entries.iter().filter(|entry| entry.matches(prefix)) {
            push(out, reason, format!("{prefix} matches {entry}"));
        }
    }
}

fn shape_findings(settings: &ImportSettings, prefix: Prefix, blackhole: bool, out: &mut Findings) {
    if settings.require_global_unicast
        && prefix.family() == Family::Ipv6Unicast
        && !Prefix::V6(GLOBAL_UNICAST).covers(prefix)
    {
        push(
            out,
            RejectReason::NotGlobalUnicast,
            format!("{prefix} is outside {GLOBAL_UNICAST}"),
        );
    }
    let range = settings.prefix_length[prefix.family()];
    let is_long_blackhole = blackhole && prefix.len() > range.max;
    if !range.contains(prefix.len()) && !is_long_blackhole {
        let evidence = format!("length is {}, accepted: {range}", prefix.len());
        push(out, RejectReason::PrefixLength, evidence);
    }
    let allows =
        |entry: &PrefixMatch| entry.matches(prefix) || (blackhole && entry.prefix.covers(prefix));
    if !settings.allow_prefixes.is_empty() && !settings.allow_prefixes.iter().any(allows) {
        let evidence = format!(
            "{prefix} is none of the {} allowed prefixes",
            settings.allow_prefixes.len()
        );
        push(out, RejectReason::PrefixNotAllowed, evidence);
    }
}

fn path_text(attributes: &Attributes<'_>) -> String {
    let asns: Vec<Asn> = attributes
        .as_path()
        .map(|p| p.asns().collect())
        .unwrap_or_default();
    list(&asns).replace(", ", " ")
}

fn list<T: Display>(items: &[T]) -> String {
    items
        .iter()
        .map(T::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}
