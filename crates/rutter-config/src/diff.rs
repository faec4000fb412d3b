//! The differences between two configurations.

use std::fmt;
use std::net::IpAddr;

use rutter_net::Family;

use crate::schema::{PARTS, RESETS_SESSION, When};
use crate::{Checks, Communities, Config, Daemon, FamilyOptions, Neighbor};

/// A neighbor that differs between the configurations.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Changed {
    /// The neighbor.
    pub neighbor: IpAddr,
    /// The keys that differ. `checks` if only its import policy differs, because of another section.
    pub keys: Vec<String>,
    /// The change resets the session, because a key was negotiated or belongs to the socket.
    pub needs_session_reset: bool,
    /// The session ends and stays down: `shutdown` was set.
    pub ends_session: bool,
}

/// The differences between two configurations.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Diff {
    /// New neighbors.
    pub added: Vec<IpAddr>,
    /// Removed neighbors.
    pub removed: Vec<IpAddr>,
    /// Changed neighbors, including those that only a change of the checks affects.
    pub changed: Vec<Changed>,
    /// Keys of `[checks]` that differ.
    pub checks: Vec<String>,
    /// Keys of `[communities]` that differ: audiences are recomputed.
    pub communities: Vec<String>,
    /// Whether sections of dynamic neighbors differ.
    pub dynamic_neighbors: bool,
    /// Keys that take effect on the next start only (`exchange.asn`, `daemon.threads`, …).
    pub needs_restart: Vec<String>,
    /// Other keys that differ and take effect at once (`mrt`, `metrics`, `daemon.log`). A reload adds `rpki.vrps` if
    /// that file has other VRPs.
    pub other: Vec<String>,
}

impl Diff {
    /// Returns whether the configurations are equal.
    pub fn is_empty(&self) -> bool {
        *self == Diff::default()
    }

    fn neighbors(&mut self, old: &Config, new: &Config) {
        let find =
            |all: &[Neighbor], address: IpAddr| all.iter().position(|n| n.address == address);
        for neighbor in &old.neighbors {
            match find(&new.neighbors, neighbor.address) {
                None => self.removed.push(neighbor.address),
                Some(index) => {
                    self.changed
                        .extend(neighbor_diff(old, neighbor, new, &new.neighbors[index]));
                }
            }
        }
        let added = new.neighbors.iter().map(|n| n.address);
        self.added = added
            .filter(|a| find(&old.neighbors, *a).is_none())
            .collect();
    }
}

/// Compares two configurations.
pub fn diff(old: &Config, new: &Config) -> Diff {
    let mut diff = Diff {
        checks: checks(&old.checks, &new.checks),
        communities: communities(&old.communities, &new.communities),
        dynamic_neighbors: old.dynamic_neighbors != new.dynamic_neighbors,
        ..Diff::default()
    };
    diff.neighbors(old, new);
    daemon(&old.daemon, &new.daemon, &mut diff);
    for part in PARTS.iter().filter(|part| (part.differs)(old, new)) {
        match part.when {
            When::AtOnce => diff.other.push(part.name.to_owned()),
            When::NextStart | When::NextCollect => diff.needs_restart.push(part.name.to_owned()),
            // Compared above.
            When::ByKey => {}
        }
    }
    diff
}

fn names(differ: &[(bool, &str)]) -> Vec<String> {
    differ
        .iter()
        .filter(|(differs, _)| *differs)
        .map(|(_, name)| (*name).to_owned())
        .collect()
}

/// Lists the keys of fields that differ. The pattern names all fields, so the compiler finds a missing one.
macro_rules! differing {
    ($type:ident, $old:expr, $new:expr, { $($field:ident => $key:expr),* $(,)? }) => {{
        let ($type { $($field: _),* }, new, old) = ($old, $new, $old);
        names(&[$((old.$field != new.$field, $key)),*])
    }};
}

fn checks(old: &Checks, new: &Checks) -> Vec<String> {
    differing!(Checks, old, new, {
        prefix_length => "prefix-length",
        next_hop => "next-hop",
        first_as => "first-as",
        max_as_path_len => "max-as-path-length",
        bogons => "bogons",
        ipv6_global_unicast => "ipv6-global-unicast",
        invalid_asns => "invalid-asns",
        allowed_bogon_asns => "allow-asns",
        transit_free_asns => "transit-free",
        never_via_route_servers => "never-via-route-servers",
        reject_as_set => "as-set",
        black_list => "black-list",
        blackhole => "blackhole",
        graceful_shutdown => "graceful-shutdown",
    })
}

fn communities(old: &Communities, new: &Communities) -> Vec<String> {
    differing!(Communities, old, new, {
        actions => "actions",
        rfc1997 => "rfc1997",
        scrub => "scrub",
        aliases => "aliases",
    })
}

fn daemon(old: &Daemon, new: &Daemon, diff: &mut Diff) {
    let keys = differing!(Daemon, old, new, {
        threads => "daemon.threads",
        listen => "daemon.listen",
        control_socket => "daemon.control-socket",
        log => "daemon.log",
        log_format => "daemon.log-format",
        user => "daemon.user",
        group => "daemon.group",
    });
    for key in keys {
        match key.as_str() {
            "daemon.log" => diff.other.push(key),
            _ => diff.needs_restart.push(key),
        }
    }
}

fn neighbor_diff(old: &Config, a: &Neighbor, new: &Config, b: &Neighbor) -> Option<Changed> {
    let mut keys = differing!(Neighbor, a, b, {
        address => "address",
        name => "description",
        kind => "mode",
        asn => "asn",
        local_asn => "local-asn",
        local_address => "local-address",
        port => "port",
        passive => "passive",
        shutdown => "shutdown",
        families => "",
        add_path_limit => "add-path.send",
        password => "password",
        ttl_security => "ttl-security",
        hold_time_s => "hold-time",
        connect_retry_s => "connect-retry",
        send_hold_time_s => "send-hold-time",
        idle_hold_time_s => "idle-hold-time",
        extended_message => "extended-message",
        graceful_restart => "graceful-restart",
        role => "role",
        role_strict => "role-strict",
        import => "import",
        export => "export",
        next_hop => "next-hop",
        authorized_addresses => "authorized-addresses",
        next_hop_self => "next-hop-self",
        local_pref => "local-pref",
        allow_transit_free => "allow-transit-free",
        black_list => "black-list",
        allow_prefixes => "allow-prefixes",
        allow_origins => "allow-origins",
        as_sets => "as-sets",
    });
    keys.retain(|key| !key.is_empty());
    for family in Family::ALL {
        for key in family_keys(a.family(family), b.family(family)) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
    }
    if keys.is_empty() && old.import_settings(a) != new.import_settings(b) {
        keys.push("checks".to_owned());
    }
    (!keys.is_empty()).then(|| Changed {
        neighbor: a.address,
        ends_session: b.shutdown.is_some() && a.shutdown.is_none(),
        needs_session_reset: keys
            .iter()
            .any(|key| RESETS_SESSION.contains(&key.as_str())),
        keys,
    })
}

fn family_keys(old: &FamilyOptions, new: &FamilyOptions) -> Vec<String> {
    differing!(FamilyOptions, old, new, {
        enabled => "families",
        add_path_receive => "add-path",
        add_path_send => "add-path",
        extended_next_hop => "extended-next-hop",
        max_prefix => "max-prefix",
    })
}

impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return writeln!(f, "nothing changes");
        }
        self.added
            .iter()
            .try_for_each(|address| writeln!(f, "+ {address}"))?;
        self.removed
            .iter()
            .try_for_each(|address| writeln!(f, "- {address}"))?;
        for Changed {
            neighbor,
            keys,
            needs_session_reset,
            ends_session,
        } in &self.changed
        {
            let reset = match (ends_session, needs_session_reset) {
                (true, _) => " (ends the session)",
                (_, true) => " (resets the session)",
                _ => "",
            };
            writeln!(f, "~ {neighbor}: {}{reset}", keys.join(", "))?;
        }
        for (what, keys) in [("checks", &self.checks), ("communities", &self.communities)] {
            if !keys.is_empty() {
                writeln!(f, "~ [{what}] {}", keys.join(", "))?;
            }
        }
        if self.dynamic_neighbors {
            writeln!(f, "~ [[dynamic-neighbor]]")?;
        }
        self.other
            .iter()
            .try_for_each(|key| writeln!(f, "~ {key}"))?;
        let restart = |key: &String| writeln!(f, "! {key} (takes effect on the next start)");
        self.needs_restart.iter().try_for_each(restart)
    }
}
