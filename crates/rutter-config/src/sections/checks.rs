//! `[checks]`: import checks.

use rutter_net::{Asn, Family, PerFamily};
use rutter_policy::{ImportSettings, LengthRange, NextHopRule, PrefixMatch, TRANSIT_FREE};
use toml::de::DeValue;

use crate::key_rows::{Key, Reload, section};
use crate::toml_values::Item;
use crate::value_forms::{asns, lengths, prefix_matches};

section! {
    /// Import checks for members and for neighbors with `import = "checks"`. Write only the keys that differ from the defaults.
    pub struct Checks = "[checks]" {
        /// Accepted prefix lengths (reason 13).
        "prefix-length": "`{ v4 = \"8-24\", v6 = \"12-48\" }`", default "as shown", reload Reevaluates
            => prefix_length: PerFamily<LengthRange> = safe().prefix_length, edit prefix_length;
        /// The next hops that a member may announce (reason 5): its own address; the address of any member with its AS; its own address or one of `authorized-addresses`; any address except our own. A link-local address beside a global one is not checked.
        "next-hop": "`\"strict\"`, `\"same-as\"`, `\"authorized\"`, `\"any\"`", default "`\"strict\"`", reload Reevaluates
            => next_hop: NextHopRule = safe().next_hop, read next_hop;
        /// Reject paths whose left-most AS is not the neighbor's (reason 6). Not for iBGP.
        "first-as": "true, false", default "true", reload Reevaluates
            => first_as: bool = safe().enforce_first_as, read Item::bool;
        /// The maximum number of AS numbers in a path (reason 1).
        "max-as-path-length": "number", default "32", reload Reevaluates
            => max_as_path_len: u16 = safe().max_as_path_len, read |i| i.int(1..=65535).map(|n| n as u16);
        /// Reject special-purpose prefixes (RFC 6890) and the default route (reason 2).
        "bogons": "true, false", default "true", reload Reevaluates
            => bogons: bool = safe().reject_bogons, read Item::bool;
        /// Reject IPv6 outside 2000::/3 (reason 10).
        "ipv6-global-unicast": "true, false", default "true", reload Reevaluates
            => ipv6_global_unicast: bool = safe().require_global_unicast, read Item::bool;
        /// Reject paths with reserved, private or documentation AS numbers (reason 7).
        "invalid-asns": "true, false", default "true", reload Reevaluates
            => invalid_asns: bool = safe().reject_invalid_asns, read Item::bool;
        /// Reserved AS numbers that are accepted in paths.
        "allow-asns": "AS numbers", default "none", reload Reevaluates
            => allowed_bogon_asns: Vec<Asn> = Vec::new(), read asns;
        /// Reject paths through transit-free networks (reason 8): `true` for the built-in list. The neighbor's own AS is always accepted.
        "transit-free": "true, false, or AS numbers", default "false", reload Reevaluates
            => transit_free_asns: Vec<Asn> = Vec::new(), read transit_free;
        /// Networks that never announce through route servers (reason 15).
        "never-via-route-servers": "AS numbers", default "none", reload Reevaluates
            => never_via_route_servers: Vec<Asn> = Vec::new(), read asns;
        /// Paths with AS_SET (RFC 9774).
        "as-set": "`\"reject\"`, `\"accept\"`", default "`\"reject\"`", reload Reevaluates
            => reject_as_set: bool = safe().reject_as_set, read |i| i.word(&[("reject", true), ("accept", false)]);
        /// Prefixes that are rejected from all neighbors (reason 3).
        "black-list": "prefixes", default "none", reload Reevaluates
            => black_list: Vec<PrefixMatch> = Vec::new(), read prefix_matches;
        /// Accept /32 and /128 routes that carry BLACKHOLE (RFC 7999); NO_EXPORT is added to them.
        "blackhole": "true, false, or `{ v4 = true, v6 = false }`", default "false", reload Reevaluates
            => blackhole: PerFamily<bool> = safe().blackhole, edit blackhole;
        /// Routes with GRACEFUL_SHUTDOWN (RFC 8326) get LOCAL_PREF 0.
        "graceful-shutdown": "true, false", default "true", reload Reevaluates
            => graceful_shutdown: bool = safe().graceful_shutdown, read Item::bool;
        /// Origin validation. This version does not support it: other values are an error.
        "rpki-invalid": "`\"off\"`", default "`\"off\"`", reload Reevaluates
            => rpki_invalid: () = (), read not_yet;
        /// IRR filters. This version does not support them: other values are an error.
        "irr": "`\"off\"`", default "`\"off\"`", reload Reevaluates
            => irr: () = (), read not_yet;
    }
}

impl Default for Checks {
    fn default() -> Self {
        Checks::new()
    }
}

fn safe() -> ImportSettings {
    ImportSettings::default()
}

pub(crate) fn next_hop(item: &Item<'_>) -> Option<NextHopRule> {
    item.word(&[
        ("strict", NextHopRule::Strict),
        ("same-as", NextHopRule::SameAs),
        ("authorized", NextHopRule::Authorized),
        ("any", NextHopRule::Any),
    ])
}

fn transit_free(item: &Item<'_>) -> Option<Vec<Asn>> {
    match item.value.get_ref() {
        DeValue::Boolean(true) => Some(TRANSIT_FREE.to_vec()),
        DeValue::Boolean(false) => Some(Vec::new()),
        _ => asns(item),
    }
}

fn prefix_length(item: &Item<'_>, out: &mut PerFamily<LengthRange>) {
    item.section(PER_FAMILY, "{ v4 = \"8-24\", v6 = \"12-48\" }", |section| {
        section.set("v4", &mut out[Family::Ipv4Unicast], |i| lengths(i, 32));
        section.set("v6", &mut out[Family::Ipv6Unicast], |i| lengths(i, 128));
    });
}

fn blackhole(item: &Item<'_>, out: &mut PerFamily<bool>) {
    if let DeValue::Boolean(both) = item.value.get_ref() {
        *out = PerFamily::both(*both);
        return;
    }
    item.section(
        PER_FAMILY,
        "true, false or { v4 = true, v6 = false }",
        |section| {
            section.set("v4", &mut out[Family::Ipv4Unicast], Item::bool);
            section.set("v6", &mut out[Family::Ipv6Unicast], Item::bool);
        },
    );
}

/// Refuses a check that this version does not support.
fn not_yet(item: &Item<'_>) -> Option<()> {
    if item.str("off").is_some_and(|text| text != "off") {
        item.error(
            "this version does not support this check",
            "write \"off\", or remove the key; see allow-prefixes and allow-origins for static filters",
        );
    }
    None
}

/// The keys in the tables of `prefix-length` and `blackhole`.
pub const PER_FAMILY: &[Key] = &[
    Key::new(
        "v4",
        "as above",
        "as above",
        "For IPv4.",
        Reload::Reevaluates,
    ),
    Key::new(
        "v6",
        "as above",
        "as above",
        "For IPv6.",
        Reload::Reevaluates,
    ),
];
