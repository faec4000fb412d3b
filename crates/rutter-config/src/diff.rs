//! The differences between two configurations.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;

use crate::key_rows::{DifferentKey, KeyRows, Reload};
use crate::sections::PARTS;
use crate::{Config, Neighbor};

/// A neighbor that differs between the configurations.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Changed {
    /// The address of the neighbor.
    pub neighbor: IpAddr,
    /// The keys that differ. `checks` if only its import policy differs, because of another section.
    pub keys: Vec<String>,
    /// The change resets the session, because of the keys of `reset_by`.
    pub needs_session_reset: bool,
    /// The keys that reset the session, each with the reason.
    pub reset_by: Vec<ResetBy>,
    /// The routes of the neighbor must be evaluated again, because its import policy differs.
    pub reevaluates: bool,
    /// The session ends and stays down: `shutdown` was set.
    pub ends_session: bool,
}

/// A key that resets the session.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct ResetBy {
    /// The key that differs.
    pub key: String,
    /// Why its change cannot take effect while the session goes on.
    pub reason: &'static str,
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
    /// Other keys that differ and take effect at once (`mrt`, `metrics`, `daemon.log`).
    pub other: Vec<String>,
}

impl Diff {
    /// Returns whether the configurations are equal.
    pub fn is_empty(&self) -> bool {
        *self == Diff::default()
    }

    /// Records a changed part. Parts without an effect of their own were compared key by key.
    fn part(&mut self, name: &str, reload: Option<Reload>) {
        match reload {
            None => {}
            Some(Reload::NextStart | Reload::NextCollect) => {
                self.needs_restart.push(name.to_owned())
            }
            Some(_) => self.other.push(name.to_owned()),
        }
    }

    fn neighbors(&mut self, old: &Config, new: &Config) {
        // An exchange may have thousands of members.
        let by_address = |config: &Config| -> HashMap<IpAddr, usize> {
            let addresses = config.neighbors.iter().map(|n| n.address);
            addresses.zip(0..).collect()
        };
        let in_new = by_address(new);
        for neighbor in &old.neighbors {
            match in_new.get(&neighbor.address) {
                None => self.removed.push(neighbor.address),
                Some(index) => {
                    self.changed.extend(neighbor_diff(
                        (old, neighbor),
                        (new, &new.neighbors[*index]),
                        &self.checks,
                    ));
                }
            }
        }
        let in_old = by_address(old);
        let added = new.neighbors.iter().map(|n| n.address);
        self.added = added.filter(|a| !in_old.contains_key(a)).collect();
    }
}

/// Compares two configurations.
pub fn diff(old: &Config, new: &Config) -> Diff {
    let mut diff = Diff {
        checks: names(old.checks.differences(&new.checks)),
        communities: names(old.communities.differences(&new.communities)),
        dynamic_neighbors: old.dynamic_neighbors != new.dynamic_neighbors,
        ..Diff::default()
    };
    diff.neighbors(old, new);
    for key in old.daemon.differences(&new.daemon) {
        diff.part(&format!("daemon.{}", key.name), Some(key.reload));
    }
    for part in PARTS.iter().filter(|part| (part.differs)(old, new)) {
        diff.part(part.name, part.reload);
    }
    diff
}

fn names(keys: Vec<DifferentKey>) -> Vec<String> {
    keys.into_iter().map(|key| key.name).collect()
}

/// Compares a neighbor. `shared`: the keys of `[checks]` that differ.
fn neighbor_diff(
    (old, a): (&Config, &Neighbor),
    (new, b): (&Config, &Neighbor),
    shared: &[String],
) -> Option<Changed> {
    let keys = a.differences(b);
    let reset_by: Vec<ResetBy> = keys.iter().filter_map(reset_by).collect();
    let evaluated = keys.iter().any(|key| key.reload == Reload::Reevaluates);
    let mut keys = names(keys);
    let mut checks = a.check_differences(b);
    let (held, wanted) = (old.import_settings(a), new.import_settings(b));
    let other_checks = !checks.is_empty() || held != wanted;
    if held.filters != wanted.filters && a.session.import_filter == b.session.import_filter {
        // The filter itself is another.
        keys.push("import-filter".to_owned());
    }
    let sent = |config: &Config, neighbor: &Neighbor| {
        config.filters.chain(&neighbor.session.export_filter)
    };
    if sent(old, a) != sent(new, b) && a.session.export_filter == b.session.export_filter {
        keys.push("export-filter".to_owned());
    }
    // Changes of `[checks]` itself are in `Diff::checks`.
    checks.retain(|key| {
        !shared
            .iter()
            .any(|shared| key.strip_prefix("checks.") == Some(shared))
    });
    keys.append(&mut checks);
    if keys.is_empty() && other_checks {
        keys.push("checks".to_owned());
    }
    (!keys.is_empty()).then(|| Changed {
        reevaluates: evaluated || other_checks,
        neighbor: a.address,
        ends_session: b.session.shutdown.is_some() && a.session.shutdown.is_none(),
        needs_session_reset: !reset_by.is_empty(),
        reset_by,
        keys,
    })
}

fn reset_by(key: &DifferentKey) -> Option<ResetBy> {
    let reason = key.reload.reset_reason()?;
    let key = key.name.clone();
    Some(ResetBy { key, reason })
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
            reset_by,
            ends_session,
            ..
        } in &self.changed
        {
            let because: Vec<&str> = reset_by.iter().map(|one| one.key.as_str()).collect();
            let reset = match (ends_session, because.is_empty()) {
                (true, _) => " (ends the session)".to_owned(),
                (_, false) => format!(" (the session is reset: {})", because.join(", ")),
                _ => String::new(),
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
