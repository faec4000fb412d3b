//! `[checks]`: import checks.

use rutter_net::{Asn, Family, PerFamily};
use rutter_policy::{ImportSettings, LengthRange, NextHopRule, PrefixMatch, TRANSIT_FREE};
use toml::de::DeValue;

use super::blackhole::{Blackhole, blackhole};
use crate::key_rows::{Key, KeyRows, Reload, section};
use crate::toml_values::{Item, Section};
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
        /// Accept longer routes than usual, up to /32 and /128, if they carry BLACKHOLE (RFC 7999). For the table, see below.
        "blackhole": "true, false, or `{ v4 = true, v6 = \"rewrite\", … }`", default "false", reload Reevaluates
            => blackhole: Blackhole = Blackhole::new(), edit blackhole;
        /// Routes with GRACEFUL_SHUTDOWN (RFC 8326) get LOCAL_PREF 0.
        "graceful-shutdown": "true, false", default "true", reload Reevaluates
            => graceful_shutdown: bool = safe().graceful_shutdown, read Item::bool;
        /// Routes whose origin the RPKI contradicts (RFC 6811): accept them, accept and tag them, or reject them (reason 14). It needs `[rpki]`.
        "rpki-invalid": "`\"off\"`, `\"tag\"`, `\"reject\"`", default "`\"reject\"` with `[exchange]` and `[rpki]`, else `\"off\"`", reload Reevaluates
            => rpki_invalid: InvalidRoutes = InvalidRoutes::Accept, read InvalidRoutes::read;
        /// Routes whose path the ASPAs contradict (draft-ietf-sidrops-aspa-verification): accept them, accept and tag them, or reject them (reason 29). Paths of members and of neighbors with a `role` are verified, but not on iBGP. It needs `rpki.aspa`.
        "aspa-invalid": "`\"off\"`, `\"tag\"`, `\"reject\"`", default "`\"reject\"` with `[exchange]` and `rpki.aspa`, else `\"off\"`", reload Reevaluates
            => aspa_invalid: InvalidRoutes = InvalidRoutes::Accept, read InvalidRoutes::read;
        /// Communities of origin validation states (RFC 8097) in received routes: `ignore` passes them on unread. `send` replaces them by our own state. `obey` takes the state from an iBGP neighbor as if it were our own; where the neighbor sends none, our own counts.
        "rpki-communities": "`\"ignore\"`, `\"send\"`, `\"obey\"`", default "`\"ignore\"`", reload Reevaluates
            => rpki_communities: RpkiCommunities = RpkiCommunities::Ignore, read rpki_communities;
        /// Compare routes with the registry: the origin must be in the member's AS-SETs (reason 9); the prefix must be registered by one of their networks (reason 12); both; or the prefix must be registered with exactly this origin (`bound`). It needs `[irr]`.
        "irr": "`\"off\"`, `\"origin\"`, `\"prefix\"`, `\"origin+prefix\"`, `\"bound\"`", default "`\"origin+prefix\"` with `[exchange]` and `[irr]`, else `\"off\"`", reload Reevaluates
            => irr: IrrCheck = IrrCheck::Off, read irr;
        /// Routes that fail the `irr` check: reject them, or accept and tag them.
        "irr-action": "`\"reject\"`, `\"tag\"`", default "`\"reject\"`", reload Reevaluates
            => irr_action: IrrAction = IrrAction::Reject,
            read |i| i.word(&[("reject", IrrAction::Reject), ("tag", IrrAction::Tag)]);
        /// Routes that a check rejects: reject them; advertise them with `communities.tags.reject-cause`; or keep them rejected and show them with it.
        "reject-policy": "`\"reject\"`, `\"tag\"`, `\"tag-and-reject\"`", default "`\"reject\"`", reload Reevaluates
            => reject_policy: RejectPolicy = RejectPolicy::Reject, read reject_policy;
    }
}

/// The treatment of routes that the RPKI calls invalid.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum InvalidRoutes {
    /// They are accepted like others.
    #[default]
    Accept,
    /// They are accepted, and carry a community.
    Tag,
    /// They are rejected.
    Reject,
}

impl InvalidRoutes {
    fn read(item: &Item<'_>) -> Option<Self> {
        item.word(&[
            ("off", InvalidRoutes::Accept),
            ("tag", InvalidRoutes::Tag),
            ("reject", InvalidRoutes::Reject),
        ])
    }
}

/// The treatment of communities with origin validation states (RFC 8097).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum RpkiCommunities {
    /// They are passed on like other communities.
    #[default]
    Ignore,
    /// Received ones are removed, and our own state is sent.
    Send,
    /// The state that an iBGP neighbor sends is used as if it were our own.
    Obey,
}

/// The comparison with the registry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum IrrCheck {
    /// None.
    #[default]
    Off,
    /// The origin must be in the member's AS-SETs.
    Origin,
    /// The prefix must be registered by a network in the member's AS-SETs.
    Prefix,
    /// Both of the above.
    OriginAndPrefix,
    /// The prefix must be registered with the route's own origin.
    Bound,
}

/// The treatment of routes that fail the comparison with the registry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum IrrAction {
    /// They are rejected.
    #[default]
    Reject,
    /// They are accepted, and carry a community.
    Tag,
}

/// The treatment of routes that a check rejects.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum RejectPolicy {
    /// They are rejected.
    #[default]
    Reject,
    /// They are advertised with a community that names the reason.
    Tag,
    /// They are rejected, and looking glasses show them with that community.
    TagAndReject,
}

impl Checks {
    /// The defaults, which depend on other sections.
    pub(crate) fn with(data: PresentSections) -> Self {
        let mut checks = Checks::new();
        if data.exchange && data.rpki {
            checks.rpki_invalid = InvalidRoutes::Reject;
        }
        if data.exchange && data.aspa {
            checks.aspa_invalid = InvalidRoutes::Reject;
        }
        if data.exchange && data.irr {
            checks.irr = IrrCheck::OriginAndPrefix;
        }
        checks
    }

    /// Reads `[checks]`, or the table `checks` of a group or neighbor, and reports checks without their data.
    pub(crate) fn read_from(&mut self, section: &Section<'_>, data: PresentSections) {
        self.update(section);
        let used = [
            (
                "rpki-invalid",
                self.rpki_invalid != InvalidRoutes::Accept,
                data.rpki || self.rpki_communities == RpkiCommunities::Obey,
                RPKI_MISSING,
            ),
            (
                "aspa-invalid",
                self.aspa_invalid != InvalidRoutes::Accept,
                data.aspa,
                ASPA_MISSING,
            ),
            ("irr", self.irr != IrrCheck::Off, data.irr, IRR_MISSING),
            (
                "reject-policy",
                self.reject_policy != RejectPolicy::Reject,
                data.reject_cause,
                CAUSE_MISSING,
            ),
            (
                "rpki-communities",
                self.rpki_communities == RpkiCommunities::Send,
                data.rpki,
                RPKI_MISSING,
            ),
        ];
        for (key, is_used, is_there, (message, hint)) in used {
            if let (Some(item), true, false) = (section.get(key), is_used, is_there) {
                item.error(message, hint);
            }
        }
    }
}

const RPKI_MISSING: (&str, &str) = (
    "[rpki] is missing, so the state of every route is unknown",
    "add [rpki] with rtr = \"127.0.0.1:3323\" or vrps = \"/var/lib/rpki-client/json\", or remove this key",
);
const ASPA_MISSING: (&str, &str) = (
    "there are no ASPAs without `rpki.aspa`",
    "write aspa = true in [rpki], or remove this key",
);
const IRR_MISSING: (&str, &str) = (
    "[irr] is missing, so no prefix would be registered for anybody",
    "add [irr] with server = \"rr.ntt.net\", or remove this key",
);

const CAUSE_MISSING: (&str, &str) = (
    "`communities.tags.reject-cause` is missing, so no community would name the reason",
    "write reject-cause = \"self:1101:code\" in [communities.tags], or remove this key",
);

/// The sections on which the defaults of checks depend.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PresentSections {
    pub(crate) exchange: bool,
    pub(crate) rpki: bool,
    pub(crate) aspa: bool,
    pub(crate) irr: bool,
    pub(crate) peeringdb: bool,
    /// Whether `communities.tags.reject-cause` is present.
    pub(crate) reject_cause: bool,
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

fn rpki_communities(item: &Item<'_>) -> Option<RpkiCommunities> {
    item.word(&[
        ("ignore", RpkiCommunities::Ignore),
        ("send", RpkiCommunities::Send),
        ("obey", RpkiCommunities::Obey),
    ])
}

fn irr(item: &Item<'_>) -> Option<IrrCheck> {
    item.word(&[
        ("off", IrrCheck::Off),
        ("origin", IrrCheck::Origin),
        ("prefix", IrrCheck::Prefix),
        ("origin+prefix", IrrCheck::OriginAndPrefix),
        ("bound", IrrCheck::Bound),
    ])
}

fn reject_policy(item: &Item<'_>) -> Option<RejectPolicy> {
    item.word(&[
        ("reject", RejectPolicy::Reject),
        ("tag", RejectPolicy::Tag),
        ("tag-and-reject", RejectPolicy::TagAndReject),
    ])
}

/// The keys in the table of `prefix-length`.
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
