//! Prefix limits that follow PeeringDB's data.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rutter_api::{LimitChangeRow, RouteSource};
use rutter_config::{Config, MaxPrefix};
use rutter_net::{Asn, Family, PerFamily};
use rutter_sources::irr::prefix_limits_in;

use crate::privileges;
use crate::reload;
use crate::shared::Shared;

/// The time between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Puts limits in force when PeeringDB's data change. Ends when the sender of `end` is dropped.
pub(crate) fn watch(shared: &Arc<Shared>, end: &Receiver<()>) {
    privileges::yield_to_routing();
    while end.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        if !shared.upgrades.is_preparing() {
            follow(shared);
        }
    }
}

/// Puts the limits in force that the source has now. Sessions continue; a neighbor above its new limit is found with the
/// next prefix that it announces.
pub(crate) fn follow(shared: &Arc<Shared>) {
    let limits = shared.sources.prefix_limits();
    if limits.as_ref() == shared.config.read().prefix_limits() {
        return;
    }
    let _one_at_a_time = shared.reloading.lock();
    let old = Arc::clone(&shared.config.read());
    let new = Arc::new(old.with_prefix_limits(limits));
    *shared.config.write() = Arc::clone(&new);
    let sessions = reload::change_prefix_limits(shared, &old, &new);
    if sessions > 0 {
        shared.flush();
        tracing::info!(sessions, "prefix limits changed with PeeringDB's data");
    }
}

/// The limits that would change if an operator accepted the data that wait.
pub(crate) fn changes_of_refused(shared: &Shared) -> Vec<LimitChangeRow> {
    let Some(limits) = shared.sources.refused_prefix_limits() else {
        return Vec::new();
    };
    let old = Arc::clone(&shared.config.read());
    changes(shared, &old, &old.with_prefix_limits(Some(limits)))
}

/// The limits that would change with a configuration, and with PeeringDB's data as its file has them now.
pub(crate) fn changes_of_config(shared: &Shared, new: &Config) -> Vec<LimitChangeRow> {
    let dump = new.irr.as_ref().and_then(|irr| irr.peeringdb.as_ref());
    let dump = dump.filter(|_| new.follows_prefix_limits());
    let limits = dump.and_then(|dump| prefix_limits_in(dump).ok());
    let old = Arc::clone(&shared.config.read());
    match limits {
        Some(limits) => changes(
            shared,
            &old,
            &new.with_prefix_limits(Some(Arc::new(limits))),
        ),
        // A file that cannot be read leaves the data in force.
        None => changes(shared, &old, new),
    }
}

/// The limits of present neighbors that differ between two configurations.
fn changes(shared: &Shared, old: &Config, new: &Config) -> Vec<LimitChangeRow> {
    let mut rows = Vec::new();
    for status in shared.peers.all() {
        let (name, dynamic, address, asn) = status.with(|details| {
            let config = &details.config;
            (
                config.name.clone(),
                details.dynamic,
                config.address,
                config.asn,
            )
        });
        let of = |config: &Config| limits_of(config, address, dynamic.then_some(asn));
        let (Some(before), Some(after)) = (of(old), of(new)) else {
            continue;
        };
        for family in Family::ALL {
            let [before, after] = [before[family], after[family]];
            let number = |limit: Option<MaxPrefix>| limit.map(|limit| limit.limit);
            if number(before) != number(after) {
                rows.push(LimitChangeRow {
                    peer: RouteSource {
                        name: name.clone(),
                        address,
                        asn: asn.0,
                    },
                    family: family.to_string(),
                    before: number(before),
                    after: number(after),
                    peeringdb: after.and_then(|limit| limit.recommended),
                });
            }
        }
    }
    rows.sort_by_key(|row| row.peer.address);
    rows
}

/// The limits of a neighbor under a configuration; `None` if it has no such neighbor. A dynamic one has an AS number.
fn limits_of(
    config: &Config,
    address: IpAddr,
    dynamic: Option<Asn>,
) -> Option<PerFamily<Option<MaxPrefix>>> {
    if let Some(neighbor) = config.neighbor(address) {
        return Some(config.max_prefix(neighbor));
    }
    let mut sections = config.dynamic_neighbors.iter();
    let section = sections.find(|section| section.admits(address))?;
    Some(config.max_prefix(&section.neighbor(address, dynamic?)))
}
