//! The keys of every session: in `[defaults]`, `[[group]]`, `[[member]]`, `[[neighbor]]` and `[[dynamic-neighbor]]`.

use std::net::IpAddr;

use rutter_net::{Asn, Family, PerFamily};
use rutter_policy::{NextHopRule, PrefixMatch, Role, Rtt};
use toml::de::DeValue;

use super::checks::next_hop;
use super::graceful_restart::GracefulRestart;
use super::max_memory::MaxMemory;
use super::max_prefix::{MaxPrefix, max_prefix, max_prefix_out};
use super::tcp_ao::{self, AoKey};
use crate::key_rows::{KeyRows, section};
use crate::rtt_file::rtt;
use crate::toml_values::{Item, Section};
use crate::value_forms::{asns, prefix_matches, seconds};
use crate::{Secret, safe_file};

section! {
    /// Defaults of the keys of every session.
    pub struct Session = "[defaults]" {
        /// The display name in logs, tables and metrics.
        "description": "text", default "AS number and address", reload AtOnce
            => description: Option<String> = None, read |i| i.text().map(Some);
        /// The local address of the session.
        "local-address": "address", default "the system's choice", reload Reconnects
            => local_address: Option<IpAddr> = None, read |i| i.parse("192.0.2.1").map(Some);
        /// The TCP port to connect to.
        "port": "number", default "179", reload AtOnce
            => port: u16 = 179, read |i| i.int(1..=65535).map(|n| n as u16);
        /// Wait for the neighbor to connect.
        "passive": "true, false", default "false", reload AtOnce
            => passive: bool = false, read Item::bool;
        /// Keep the session down. The text is sent to the neighbor (RFC 9003).
        "shutdown": "true, false, or text", default "false", reload AtOnce
            => shutdown: Option<String> = None, read shutdown;
        /// The families to offer.
        "families": "`[\"ipv4\", \"ipv6\"]`", default "the family of the address; both for collectors", reload ResetsSession
            => families: Option<PerFamily<bool>> = None, read |i| Some(Some(families(i)));
        /// Several paths per prefix (RFC 7911). `send`: true for all paths, or the number of best paths.
        "add-path": "`{ receive = true, send = 4 }`", default "off", reload ResetsSession
            => add_path: AddPath = AddPath::new(), table "{ receive = true, send = 4 }";
        /// IPv4 routes with IPv6 next hops (RFC 8950).
        "extended-next-hop": "true, false", default "false", reload ResetsSession
            => extended_next_hop: bool = false, read Item::bool;
        /// Messages of up to 65,535 octets (RFC 8654).
        "extended-message": "true, false", default "true", reload ResetsSession
            => extended_message: bool = true, read Item::bool;
        /// TCP MD5 (RFC 2385). `password-file` keeps it out of this file.
        "password": "text", default "none", reload AtOnce
            => password: Option<Secret> = None, read |i| secret(i, i.str("text")?.as_bytes()).map(Some), or
            /// A file with the password; a final line end is ignored.
            "password-file": "path", default "none", read password_file;
        /// TCP-AO (RFC 5925), in place of TCP MD5: the keys, the preferred one first. For the keys of the table, see below. A session goes on if one of its keys stays; else it is reset.
        "tcp-ao": "`[{ send-id = 1, receive-id = 1, key-file = \"keys/as64501\" }]`", default "none", reload Reconnects
            => tcp_ao: Vec<AoKey> = Vec::new(), read tcp_ao::keys, live |old, new| tcp_ao::can_roll_over(old, new);
        /// GTSM (RFC 5082): the maximum number of hops to the neighbor; 1 for a direct neighbor.
        "ttl-security": "hops", default "off", reload AtOnce
            => ttl_security: TtlSecurity = TtlSecurity::Off, read |i| hops(i).map(TtlSecurity::Hops), or
            /// The maximum number of hops of eBGP with a neighbor on another network.
            "multihop": "hops", default "off", read |i| hops(i).map(TtlSecurity::Multihop);
        /// The Hold Time to offer: 0, or at least 3 seconds. A shorter one is in force at once, down to half of the agreed one; a longer one resets the session.
        "hold-time": "duration", default "`\"90s\"`", reload ResetsSession
            => hold_time_s: u16 = 90, read hold_time, live |old, new| new < old && *new != 0;
        /// Time between attempts to connect.
        "connect-retry": "duration", default "`\"30s\"`", reload AtOnce
            => connect_retry_s: u16 = 30, read |i| seconds(i, 1, 3600).map(|s| s as u16);
        /// A neighbor that reads nothing for this time is disconnected (RFC 9687); `0`: never.
        "send-hold-time": "duration", default "`\"8m\"`", reload AtOnce
            => send_hold_time_s: u16 = 480, read |i| seconds(i, 0, 65535).map(|s| s as u16);
        /// The longest idle hold time after a fault. The first is a second, and it doubles with each fault until a session lasts a minute.
        "idle-hold-time": "duration", default "`\"2m\"`", reload AtOnce
            => idle_hold_time_s: u16 = 120, read |i| seconds(i, 1, 3600).map(|s| s as u16);
        /// Graceful restart on this session.
        "graceful-restart": "true, false", default "`graceful-restart.enabled`", reload ResetsSession
            => graceful_restart: GracefulRestart = GracefulRestart::new(),
            edit |i: &Item<'_>, restart: &mut GracefulRestart| restart.enabled = i.bool().unwrap_or(restart.enabled),
            live |old, new| old.has_same_offer(new);
        /// *Our* role on the session (RFC 9234).
        "role": "`\"provider\"`, `\"route-server\"`, `\"route-server-client\"`, `\"customer\"`, `\"peer\"`", default "none", reload ResetsSession
            => role: Option<Role> = None, read |i| i.word(ROLES).map(Some);
        /// Refuse a neighbor that does not announce a role.
        "role-strict": "true, false", default "false", reload ResetsSession
            => role_strict: bool = false, read Item::bool, live |_, new| !new;
        /// The maximum number of received prefixes per family, including rejected ones. For the keys and actions, see below.
        "max-prefix": "`{ v4 = 1000, v6 = 100, action = \"restart\" }`", default "no limit", reload Reevaluates
            => max_prefix: PerFamily<Option<MaxPrefix>> = PerFamily::both(None), edit max_prefix;
        /// The maximum number of prefixes per family that are advertised to the neighbor. Rutter counts them every few seconds, so a session may exceed the limit for that time. For the actions, see below.
        "max-prefix-out": "`{ v4 = 1_500_000, v6 = 300_000, action = \"warn\" }`", default "no limit", reload AtOnce
            => max_prefix_out: PerFamily<Option<MaxPrefix>> = PerFamily::both(None), edit max_prefix_out;
        /// The limit on the memory for the neighbor's routes. For the keys, see below.
        "max-memory": "`{ limit = \"256M\", action = \"restart\" }`", default "`{ limit = \"1G\" }`", reload AtOnce
            => max_memory: MaxMemory = MaxMemory::new(), table "{ limit = \"256M\" }";
        /// The round-trip time to the neighbor, for action communities.
        "rtt": "milliseconds", default "that in `communities.rtt-file`", reload Readvertises
            => rtt: Option<Rtt> = None, read rtt;
        /// Advertise with the AS of the route server as the left-most one, for a member whose router requires that. Paths are then one AS longer. Only for members: eBGP neighbors of a router always receive our AS.
        "prepend-rs-as": "true, false", default "false", reload Readvertises
            => prepend_rs_as: bool = false, read Item::bool;
        /// The names in `communities.custom` whose communities the neighbor's routes get.
        "attach-communities": "names", default "none", reload Reevaluates
            => attach_communities: Vec<String> = Vec::new(), read |i| Some(i.each(Item::name));
        /// The accepted next hops.
        "next-hop": "as in `[checks]`", default "`checks.next-hop`", reload Reevaluates
            => next_hop: Option<NextHopRule> = None, read |i| next_hop(i).map(Some);
        /// Additional next hops for `next-hop = "authorized"`.
        "authorized-addresses": "addresses", default "none", reload Reevaluates
            => authorized_addresses: Vec<IpAddr> = Vec::new(), read |i| Some(i.each(|i| i.parse("192.0.2.11")));
        /// Accept paths through transit-free networks from this neighbor.
        "allow-transit-free": "true, false", default "false", reload Reevaluates
            => allow_transit_free: bool = false, read Item::bool;
        /// Prefixes that are rejected from this neighbor (reason 11).
        "black-list": "prefixes", default "none", reload Reevaluates
            => black_list: Vec<PrefixMatch> = Vec::new(), read prefix_matches;
        /// Only these prefixes are accepted (reason 12).
        "allow-prefixes": "prefixes", default "all", reload Reevaluates
            => allow_prefixes: Vec<PrefixMatch> = Vec::new(), read prefix_matches;
        /// The `[[filter]]`s that decide on the neighbor's routes after all checks, in this order. All of them must accept a route (reason 30).
        "import-filter": "names", default "none", reload Reevaluates
            => import_filter: Vec<String> = Vec::new(), read |i| Some(i.each(Item::name));
        /// The `[[filter]]`s that decide which routes the neighbor receives, and in which form, in this order. All of them must accept a route. They see routes as the import filters leave them.
        "export-filter": "names", default "none", reload Readvertises
            => export_filter: Vec<String> = Vec::new(), read |i| Some(i.each(Item::name));
        /// Only these origins are accepted (reason 9).
        "allow-origins": "AS numbers", default "all", reload Reevaluates
            => allow_origins: Vec<Asn> = Vec::new(), read asns;
    }
}

section! {
    /// Add-Path (RFC 7911).
    #[derive(Copy)]
    pub struct AddPath = "add-path" {
        /// Offer to receive several paths.
        "receive": "true, false", default "false", reload ResetsSession
            => receive: bool = false, read Item::bool;
        /// Offer to send several paths: all, or the number of best paths. Only a session that does not offer it yet is reset.
        "send": "true, false, or number", default "false", reload ResetsSession
            => send: SendPaths = SendPaths::One, read send_paths, live |old, _| *old != SendPaths::One;
    }
}

/// The paths of a prefix that a session advertises.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum SendPaths {
    /// One path, without Add-Path.
    #[default]
    One,
    /// All paths.
    All,
    /// The best paths, at most this number; never 0.
    Best(u16),
}

impl SendPaths {
    /// Returns the maximum number of paths on a session with Add-Path; 0: all.
    pub fn limit(self) -> u16 {
        match self {
            SendPaths::All => 0,
            // A session goes on with Add-Path when `send` becomes false.
            SendPaths::One => 1,
            SendPaths::Best(number) => number,
        }
    }
}

/// TTL settings of a session.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum TtlSecurity {
    /// The usual TTL: 1 on eBGP, the system's default on iBGP.
    #[default]
    Off,
    /// GTSM (RFC 5082): send with TTL 255, accept at least 256 − hops.
    Hops(u8),
    /// Multihop eBGP without GTSM: send with this TTL.
    Multihop(u8),
}

impl Session {
    /// Reads the keys of a section, and reports keys that do not fit together.
    pub(crate) fn read_from(&mut self, section: &Section<'_>) {
        only_one(section, "password", "password-file", "keep one of them");
        let hint = "keep one: a connection is signed in one way";
        only_one(section, "password", "tcp-ao", hint);
        only_one(section, "password-file", "tcp-ao", hint);
        // A key of the more general section gives way.
        if section.get("tcp-ao").is_some() {
            self.password = None;
        } else if section.get("password").is_some() || section.get("password-file").is_some() {
            self.tcp_ao.clear();
        }
        let hint = "keep one; `ttl-security` also accepts a number of hops";
        only_one(section, "ttl-security", "multihop", hint);
        self.update(section);
    }
}

fn only_one(section: &Section<'_>, one: &str, other: &str, hint: &str) {
    if let (Some(_), Some(both)) = (section.get(one), section.get(other)) {
        both.error(format!("`{one}` and `{other}` are both present"), hint);
    }
}

const ROLES: &[(&str, Role)] = &[
    ("provider", Role::Provider),
    ("route-server", Role::RouteServer),
    ("route-server-client", Role::RouteServerClient),
    ("customer", Role::Customer),
    ("peer", Role::Peer),
];

fn hops(item: &Item<'_>) -> Option<u8> {
    item.int(1..=254).map(|hops| hops as u8)
}

fn send_paths(item: &Item<'_>) -> Option<SendPaths> {
    match item.value.get_ref() {
        DeValue::Boolean(true) => Some(SendPaths::All),
        DeValue::Boolean(false) => Some(SendPaths::One),
        _ => item.int(1..=65535).map(|n| SendPaths::Best(n as u16)),
    }
}

fn password_file(item: &Item<'_>) -> Option<Option<Secret>> {
    let path = item.source.beside(item.str("peer.key")?);
    match safe_file::read(&path, safe_file::PASSWORD) {
        Ok(octets) => secret(item, octets.trim_ascii_end()).map(Some),
        Err(why) => {
            item.error(
                format!("cannot read {}: {why}", path.display()),
                "write the path of a file that this user can read",
            );
            None
        }
    }
}

fn secret(item: &Item<'_>, octets: &[u8]) -> Option<Secret> {
    if octets.is_empty() || octets.len() > 80 {
        item.error(
            "a TCP MD5 password has 1 to 80 bytes",
            "write the password agreed with the neighbor",
        );
        return None;
    }
    Some(Secret::new(octets))
}

fn shutdown(item: &Item<'_>) -> Option<Option<String>> {
    match item.value.get_ref() {
        DeValue::Boolean(down) => Some(down.then(String::new)),
        _ => {
            let text = item.str("maintenance until 18:00")?;
            if text.len() > 255 {
                item.error(
                    "the message is longer than 255 bytes (RFC 9003)",
                    "write a shorter one",
                );
            }
            Some(Some(text.to_owned()))
        }
    }
}

fn hold_time(item: &Item<'_>) -> Option<u16> {
    let seconds = seconds(item, 0, 65535)?;
    if seconds == 1 || seconds == 2 {
        item.error(
            "1 and 2 seconds are not allowed (RFC 4271 §4.2)",
            "write 0 (never), or at least 3 seconds",
        );
        return None;
    }
    Some(seconds as u16)
}

fn families(item: &Item<'_>) -> PerFamily<bool> {
    let words = [("ipv4", Family::Ipv4Unicast), ("ipv6", Family::Ipv6Unicast)];
    let mut on = PerFamily::both(false);
    for family in item.each(|i| i.word(&words)) {
        on[family] = true;
    }
    if item.list().is_empty() {
        item.error(
            "a session needs at least one family",
            "write [\"ipv4\"], [\"ipv6\"] or both",
        );
    }
    on
}
