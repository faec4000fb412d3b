//! Limits on the number of prefixes that neighbors are sent (`max-prefix-out`).

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rutter_api::SessionState;
use rutter_config::{LimitAction, MaxPrefix};
use rutter_net::Family;
use rutter_rib::PeerId;

use crate::mailbox::Command;
use crate::privileges;
use crate::shared::Shared;
use crate::status::PeerStatus;

/// The time between two counts. A count is one walk over the table.
const COUNT_EVERY: Duration = Duration::from_secs(5);

/// A neighbor with a limit in one family.
struct Limited {
    address: IpAddr,
    peer: PeerId,
    limit: MaxPrefix,
}

/// Counts the advertised prefixes of neighbors that have a limit, while the table has more prefixes than some limit
/// allows. Ends when the sender of `end` is dropped.
pub(crate) fn watch(shared: &Arc<Shared>, end: &Receiver<()>) {
    privileges::yield_to_routing();
    // The neighbors above their limit that the log has a line about.
    let mut above: HashSet<(IpAddr, Family)> = HashSet::new();
    while end.recv_timeout(COUNT_EVERY) == Err(RecvTimeoutError::Timeout) {
        for family in Family::ALL {
            check(shared, family, &mut above);
        }
    }
}

fn check(shared: &Shared, family: Family, above: &mut HashSet<(IpAddr, Family)>) {
    let limited = limited(shared, family);
    let lowest = limited.iter().map(|one| one.limit.limit).min();
    let possible = lowest.is_some_and(|lowest| shared.rib.most_prefixes(family) > lowest);
    let counts = match possible {
        true => {
            let peers: Vec<PeerId> = limited.iter().map(|one| one.peer).collect();
            shared.rib.advertised_prefixes(family, &peers)
        }
        false => vec![0; limited.len()],
    };
    let exceeding = limited
        .iter()
        .zip(counts)
        .filter(|(one, count)| *count > one.limit.limit);
    let exceeding: Vec<(&Limited, u32)> = exceeding.collect();
    above.retain(|(address, of)| {
        *of != family || exceeding.iter().any(|(one, _)| one.address == *address)
    });
    for (one, advertised) in exceeding {
        if above.insert((one.address, family)) {
            exceeded(shared, family, one, advertised);
        }
    }
}

/// The established neighbors with a limit.
fn limited(shared: &Shared, family: Family) -> Vec<Limited> {
    let limited = |status: &PeerStatus| {
        status.with(|details| {
            let limit = details.config.session.max_prefix_out[family]?;
            let peer = details
                .peer
                .filter(|_| details.state == SessionState::Established)?;
            Some(Limited {
                address: details.config.address,
                peer,
                limit,
            })
        })
    };
    let all = shared.peers.all();
    all.iter().filter_map(|status| limited(status)).collect()
}

fn exceeded(shared: &Shared, family: Family, one: &Limited, advertised: u32) {
    let Limited { address, limit, .. } = one;
    let Some(status) = shared.peers.find(*address) else {
        return;
    };
    status.count_out_limit();
    let name = status.with(|details| details.config.name.clone());
    tracing::warn!(
        peer = name, %family, advertised, limit = limit.limit, action = ?limit.action,
        "outbound prefix limit exceeded"
    );
    if limit.action == LimitAction::Warn {
        return;
    }
    let command = Command::OutLimitExceeded {
        neighbor: *address,
        family,
        limit: *limit,
    };
    if let Err(error) = shared.post_to_peer(*address, command) {
        tracing::error!(peer = name, %error, "the session was not ended");
    }
}
