//! Import checks, in `general.yml` and of a client.

use rutter_irr::PeeringDb;

use crate::irrdb::IrrSettings;
use crate::max_prefix::MaxPrefix;
use crate::toml_writer::Keys;
use crate::yaml::{Section, Value};

/// The checks that both files have.
pub(crate) struct Filtering {
    /// Keys of `[checks]`.
    pub(crate) checks: Keys,
    /// Registered prefixes and origins.
    pub(crate) irr: IrrSettings,
    /// Prefix limits.
    pub(crate) max_prefix: MaxPrefix,
}

/// Reads the keys of `filtering` that a client may override. `irrdb` is its section of that name.
pub(crate) fn read(
    filtering: &Section<'_>,
    irrdb: &Section<'_>,
    inherited: (IrrSettings, &MaxPrefix),
) -> Filtering {
    let mut checks = Keys::default();
    let section = filtering.section("next_hop");
    // Old files have `next_hop_policy`.
    let former = filtering.get("next_hop_policy");
    next_hop(section.get("policy").or(former), &mut checks);
    let mut lengths = Keys::default();
    for (family, key) in [("v4", "ipv4_pref_len"), ("v6", "ipv6_pref_len")] {
        let section = filtering.section(key);
        let (min, max) = (section.number("min"), section.number("max"));
        if let (Some(min), Some(max)) = (min, max) {
            lengths.string(family, &format!("{min}-{max}"));
        } else if section.is_present() {
            section.error("write both `min` and `max`");
        }
    }
    checks.table("prefix-length", &lengths);
    if let Some(length) = filtering.number("max_as_path_len") {
        checks.plain("max-as-path-length", length);
    }
    if let Some(reject) = filtering.bool("reject_invalid_as_in_as_path") {
        checks.plain("invalid-asns", reject);
    }
    let reject_policy = filtering.section("reject_policy");
    if let Some(policy) = reject_policy.get("policy") {
        match policy.text().as_deref() {
            Some("reject") => checks.string("reject-policy", "reject"),
            // Rutter keeps rejected routes beside the others and advertises them to nobody, as both policies want.
            Some("tag" | "tag_and_reject") => checks.string("reject-policy", "tag-and-reject"),
            Some(_) => policy.error("write reject, tag or tag_and_reject"),
            None => {}
        }
    }
    let (inherited_irr, inherited_limits) = inherited;
    Filtering {
        checks,
        irr: inherited_irr.read(irrdb),
        max_prefix: inherited_limits.read(filtering.section("max_prefix")),
    }
}

fn next_hop(policy: Option<Value<'_>>, checks: &mut Keys) {
    let Some(policy) = policy else { return };
    let name = match policy.text().as_deref() {
        Some("strict") => "strict",
        Some("same-as") => "same-as",
        Some("authorized_addresses") => "authorized",
        Some(_) => return policy.error("write strict, same-as or authorized_addresses"),
        None => return,
    };
    checks.string("next-hop", name);
}

/// Reads the keys of `filtering` that only `general.yml` has.
pub(crate) fn read_general(filtering: &Section<'_>, peering_db: &PeeringDb, checks: &mut Keys) {
    let transit_free = filtering.section("transit_free");
    let asns = transit_free
        .get("asns")
        .map_or_else(Vec::new, |asns| asns.asns());
    if let Some(action) = transit_free.get("action") {
        match action.text().as_deref() {
            Some("reject") if asns.is_empty() => checks.plain("transit-free", true),
            Some("reject") => checks.numbers("transit-free", &asns),
            Some("warning") => {
                action.note("not converted: Rutter rejects these routes or accepts them");
            }
            Some(_) => action.error("write reject or warning"),
            None => {}
        }
    }
    never_via_route_servers(filtering, peering_db, checks);
}

fn never_via_route_servers(filtering: &Section<'_>, peering_db: &PeeringDb, checks: &mut Keys) {
    let section = filtering.section("never_via_route_servers");
    let mut asns = section
        .get("asns")
        .map_or_else(Vec::new, |asns| asns.asns());
    let from_peering_db = section.get("peering_db");
    if from_peering_db.as_ref().and_then(|value| value.bool()) != Some(false) {
        let networks = peering_db.never_via_route_servers();
        if let (Some(value), true) = (from_peering_db, networks.is_empty()) {
            value.note("no network has this mark: name a dump of PeeringDB's networks with --peeringdb FILE");
        }
        asns.extend(networks);
    }
    asns.sort_unstable();
    asns.dedup();
    checks.numbers("never-via-route-servers", &asns);
}
