//! `[[member]]`, `[[neighbor]]` and `[[dynamic-neighbor]]`: the configuration of one BGP session.

use std::net::IpAddr;
use std::sync::Arc;

use rutter_net::{Asn, Family, PerFamily, Prefix};
use rutter_policy::ImportRule;

use super::checks::Checks;
use super::max_prefix::MaxPrefix;
use super::session::{SendPaths, Session};
use super::white_list::WhiteList;
use crate::key_rows::{DifferentKey, Key, KeyRows, Reload};

/// The configuration of one BGP session, with all defaults.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Neighbor {
    /// The neighbor's address, unique in a configuration.
    pub address: IpAddr,
    /// The display name; by default AS number and address.
    pub name: String,
    /// The kind of neighbor.
    pub kind: NeighborKind,
    /// The neighbor's AS.
    pub asn: Asn,
    /// Our AS on this session.
    pub local_asn: Asn,
    /// The import rule.
    pub import: ImportRule,
    /// The export rule.
    pub export: ExportRule,
    /// Advertise our own address as next hop.
    pub next_hop_self: bool,
    /// LOCAL_PREF of routes without one.
    pub local_pref: u32,
    /// AS-SETs of the member in capitals, for `checks.irr`.
    pub as_sets: Vec<String>,
    /// Exceptions to `checks.irr`.
    pub white_list: WhiteList,
    /// No section names its AS: it is a dynamic neighbor of a section that accepts any.
    pub is_unnamed: bool,
    /// The name of the group.
    pub group: Option<String>,
    /// The checks that apply to this neighbor: its own, then those of its group, then `[checks]`, then the defaults.
    pub checks: Arc<Checks>,
    /// The keys of every session. `families` is never `None` here.
    pub session: Session,
}

/// The kind of a neighbor, which selects the rules for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NeighborKind {
    /// A client of the route server (`[[member]]`).
    Member,
    /// eBGP.
    External,
    /// iBGP.
    Internal,
    /// iBGP, client of this route reflector (RFC 4456).
    ReflectorClient,
    /// Receive only.
    Collector,
}

/// The routes that are advertised to a neighbor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ExportRule {
    /// All routes that the rules for its kind allow.
    All,
    /// No routes (RFC 8212 for eBGP without `export`).
    None,
}

/// Options of one family of a session.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FamilyOptions {
    /// Offer the family.
    pub enabled: bool,
    /// Receive several paths per prefix (RFC 7911).
    pub add_path_receive: bool,
    /// Advertise several paths per prefix.
    pub add_path_send: bool,
    /// Offer RFC 8950 (IPv4 only).
    pub extended_next_hop: bool,
    /// The prefix limit.
    pub max_prefix: Option<MaxPrefix>,
}

impl Neighbor {
    /// Returns the options of a family.
    pub fn family(&self, family: Family) -> FamilyOptions {
        let session = &self.session;
        let collector = self.kind == NeighborKind::Collector;
        let enabled = session.families.unwrap_or(PerFamily::both(false));
        FamilyOptions {
            enabled: enabled[family],
            add_path_receive: session.add_path.receive,
            add_path_send: session.add_path.send != SendPaths::One && !collector,
            extended_next_hop: session.extended_next_hop && family == Family::Ipv4Unicast,
            max_prefix: session.max_prefix[family],
        }
    }

    /// Returns the keys with different values.
    pub(crate) fn differences(&self, other: &Neighbor) -> Vec<DifferentKey> {
        // The pattern names all fields, so the compiler finds a new one.
        let Neighbor {
            address: _,
            name: _,
            kind,
            asn,
            local_asn,
            import,
            export,
            next_hop_self,
            local_pref,
            as_sets,
            white_list,
            // It follows from the section.
            is_unnamed: _,
            group,
            // Compared by `check_differences`.
            checks: _,
            session,
        } = self;
        let own = [
            ("mode", *kind != other.kind),
            ("asn", *asn != other.asn),
            ("local-asn", *local_asn != other.local_asn),
            ("import", *import != other.import),
            ("export", *export != other.export),
            ("next-hop-self", *next_hop_self != other.next_hop_self),
            ("local-pref", *local_pref != other.local_pref),
            ("as-sets", *as_sets != other.as_sets),
            ("white-list", *white_list != other.white_list),
            ("group", *group != other.group),
        ];
        let different = own.iter().filter(|(_, differs)| *differs);
        let mut found: Vec<DifferentKey> = different.map(|(name, _)| different_key(name)).collect();
        found.extend(session.differences(&other.session));
        found
    }
}

impl Neighbor {
    /// Returns the checks with different values: `checks.bogons`.
    pub(crate) fn check_differences(&self, other: &Neighbor) -> Vec<String> {
        let different = self.checks.differences(&other.checks).into_iter();
        different
            .map(|key| format!("checks.{}", key.name))
            .collect()
    }
}

fn different_key(name: &str) -> DifferentKey {
    let row = NEIGHBOR.iter().chain(MEMBER).find(|key| key.name == name);
    DifferentKey {
        name: name.to_owned(),
        reload: row.map_or(Reload::Reevaluates, |key| key.reload),
    }
}

/// Neighbors without a section of their own that connect from a known network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DynamicNeighbor {
    /// The network that they connect from.
    pub prefix: Prefix,
    /// The accepted AS numbers; empty: any.
    pub asns: Vec<Asn>,
    /// The maximum number of sessions.
    pub limit: u32,
    /// The other settings. `address` and `asn` are set per session; always passive.
    pub template: Neighbor,
}

impl DynamicNeighbor {
    /// Returns whether a connection from this address belongs to this section.
    pub fn admits(&self, address: IpAddr) -> bool {
        self.prefix.contains(address)
    }

    /// Returns whether the AS in an OPEN is accepted.
    pub fn admits_asn(&self, asn: Asn) -> bool {
        self.asns.is_empty() || self.asns.contains(&asn)
    }

    /// Returns whether the session of a neighbor with this AS is reset when `new` replaces this section.
    pub fn resets_sessions_of(&self, new: &DynamicNeighbor, asn: Asn) -> bool {
        let keys = self.template.differences(&new.template);
        !new.admits_asn(asn) || keys.iter().any(|key| key.reload.reset_reason().is_some())
    }

    /// Returns the neighbor of an accepted connection.
    pub fn neighbor(&self, address: IpAddr, asn: Asn) -> Neighbor {
        let kind = match self.template.kind {
            NeighborKind::External if asn == self.template.local_asn => NeighborKind::Internal,
            kind => kind,
        };
        Neighbor {
            address,
            asn,
            kind,
            name: format!("{} AS{asn} {address}", self.template.name),
            is_unnamed: self.asns.is_empty(),
            ..self.template.clone()
        }
    }
}

/// `[[member]]`
pub const MEMBER: &[Key] = &[
    Key::new(
        "asn",
        "AS number",
        "required",
        "The member's AS.",
        Reload::ResetsSession,
    ),
    Key::new(
        "address",
        "addresses",
        "required",
        "The member's addresses on the LAN; each has its own session.",
        Reload::AtOnce,
    ),
    Key::new(
        "as-sets",
        "names",
        "those in `irr.peeringdb`",
        "The member's AS-SETs for `checks.irr`, such as `AS-FOO` or `RIPE::AS-FOO`. The member's own AS always belongs to them.",
        Reload::Reevaluates,
    ),
    Key::new(
        "white-list",
        "`{ prefixes = [], asns = [], routes = [] }`",
        "none",
        "Exceptions to `checks.irr`, see below.",
        Reload::Reevaluates,
    ),
    GROUP_NAME,
    CHECKS,
];

/// `next-hop-self` of neighbors with and without a section of their own.
const NEXT_HOP_SELF: Key = Key::new(
    "next-hop-self",
    "true, false",
    "eBGP: true, iBGP: false",
    "Advertise our own address as next hop.",
    Reload::Readvertises,
);

/// `local-pref` of both.
const LOCAL_PREF: Key = Key::new(
    "local-pref",
    "number",
    "100",
    "LOCAL_PREF of routes without one.",
    Reload::Reevaluates,
);

/// `[[neighbor]]`
pub const NEIGHBOR: &[Key] = &[
    Key::new(
        "asn",
        "AS number",
        "required",
        "The neighbor's AS. Our own AS makes the session iBGP.",
        Reload::ResetsSession,
    ),
    Key::new(
        "address",
        "addresses",
        "required",
        "The neighbor's addresses; each has its own session.",
        Reload::AtOnce,
    ),
    Key::new(
        "mode",
        "`\"router\"`, `\"client\"`, `\"collector\"`",
        "`\"router\"`",
        "`client`: a client of this route reflector (RFC 4456). `collector`: accept all routes and advertise none.",
        Reload::ResetsSession,
    ),
    Key::new(
        "import",
        "`\"all\"`, `\"none\"`, `\"checks\"`",
        "eBGP: `\"none\"` (RFC 8212), iBGP: `\"all\"`",
        "The accepted routes: all except loops, leaks, martians and our own next hops; none; those that pass `[checks]`.",
        Reload::Reevaluates,
    ),
    Key::new(
        "export",
        "`\"all\"`, `\"none\"`",
        "eBGP: `\"none\"` (RFC 8212), iBGP: `\"all\"`",
        "The advertised routes: the best routes, or none.",
        Reload::Readvertises,
    ),
    Key::new(
        "local-asn",
        "AS number",
        "`router.asn`",
        "Our AS on this session.",
        Reload::ResetsSession,
    ),
    NEXT_HOP_SELF,
    LOCAL_PREF,
    GROUP_NAME,
    CHECKS,
];

/// `[[dynamic-neighbor]]`
pub const DYNAMIC: &[Key] = &[
    Key::new(
        "prefix",
        "prefix",
        "required",
        "The network from which neighbors connect. `address` is not allowed here.",
        Reload::AtOnce,
    ),
    Key::new(
        "asn",
        "AS numbers",
        "any",
        "The accepted AS numbers.",
        Reload::ResetsSession,
    ),
    Key::new(
        "limit",
        "number",
        "100",
        "The maximum number of sessions. At the limit, the neighbor without a session and without kept routes that has been idle longest gives way to one that connects.",
        Reload::AtOnce,
    ),
    Key::new(
        "mode",
        "as in `[[neighbor]]`",
        "`\"router\"`",
        "As in `[[neighbor]]`.",
        Reload::ResetsSession,
    ),
    Key::new(
        "import",
        "as in `[[neighbor]]`",
        "`\"none\"`",
        "As in `[[neighbor]]`.",
        Reload::Reevaluates,
    ),
    Key::new(
        "export",
        "as in `[[neighbor]]`",
        "`\"none\"`",
        "As in `[[neighbor]]`.",
        Reload::Readvertises,
    ),
    Key::new(
        "local-asn",
        "AS number",
        "`router.asn`",
        "Our AS on these sessions.",
        Reload::ResetsSession,
    ),
    NEXT_HOP_SELF,
    LOCAL_PREF,
    GROUP_NAME,
    CHECKS,
];

/// `[[group]]`
pub const GROUP: &[Key] = &[
    Key::new(
        "name",
        "text",
        "required",
        "The name, which `group` in other sections refers to.",
        Reload::AtOnce,
    ),
    CHECKS,
];

const GROUP_NAME: Key = Key::new(
    "group",
    "text",
    "none",
    "The `[[group]]` whose keys apply, except those that this section sets itself.",
    Reload::AtOnce,
);

const CHECKS: Key = Key::new(
    "checks",
    "table with keys of `[checks]`",
    "`[checks]`",
    "Checks that differ: a group's from `[checks]`, a neighbor's from those of its group. Absent keys are inherited one by one.",
    Reload::Reevaluates,
);
