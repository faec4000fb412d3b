//! Changes of TCP-AO keys (RFC 5925) on established connections.
//!
//! A new key is added, and the neighbor is asked to use it. As soon as the neighbor has it, it signs with it and asks the
//! same of us; the kernel follows. Until then the old key signs, and the kernel refuses to delete it. So Rutter tries again
//! until the old key is gone. The order in which both sides are changed does not matter.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::fd::{AsFd as _, BorrowedFd};

use rutter_config::AoKey;

use crate::neighbor_settings::NeighborSettings;
use crate::session_driver::SessionDriver;
use crate::sockopt::tcp_ao::{self, AoUse};
use crate::sockopt::{KeyScope, is_absent};

/// The time between two attempts to delete a key, milliseconds.
const TRY_EVERY_MS: u64 = 3_000;

/// The keys that connections of one thread still use and should not, by neighbor.
#[derive(Default)]
pub(crate) struct AoChanges {
    removed: BTreeMap<IpAddr, Vec<AoKey>>,
    /// The time of the next attempt to delete them.
    next_ms: u64,
}

impl AoChanges {
    /// Changes the keys of a connection. Returns the keys that could not be added, each with the reason.
    pub(crate) fn begin(
        &mut self,
        settings: &NeighborSettings,
        old: &[AoKey],
        socket: BorrowedFd<'_>,
    ) -> Vec<String> {
        let new = &settings.config.session.tcp_ao;
        let removed = self.removed.entry(settings.config.address).or_default();
        removed.extend(old.iter().cloned());
        removed.retain(|key| !new.contains(key));
        let scope = scope(settings);
        delete_unused(scope, removed, socket);
        let mut errors = Vec::new();
        for key in new.iter().filter(|key| !old.contains(key)) {
            match tcp_ao::add(socket, scope, key, AoUse::Available) {
                // A change before this one has removed it in vain.
                Err(error) if error.raw_os_error() == Some(libc::EEXIST) => {}
                Err(error) => errors.push(format!("send-id {}: {error}", key.send_id)),
                Ok(()) => {}
            }
        }
        if let Some(preferred) = new.first()
            && let Err(error) = tcp_ao::request(socket, preferred)
        {
            errors.push(format!("receive-id {}: {error}", preferred.receive_id));
        }
        // The next look is at once: the preferred key may be the one in use.
        self.next_ms = 0;
        errors
    }

    /// The time of the next attempt.
    pub(crate) fn next_deadline(&self) -> Option<u64> {
        (!self.removed.is_empty()).then_some(self.next_ms)
    }
}

impl SessionDriver {
    /// Deletes the keys that neighbors do not use any more.
    pub(crate) fn change_ao_keys(&mut self) {
        let deadline = self.ao_changes.next_deadline();
        if deadline.is_none_or(|at| at > self.now_ms) {
            return;
        }
        self.ao_changes.next_ms = self.now_ms + TRY_EVERY_MS;
        let peers = &mut self.peers;
        self.ao_changes.removed.retain(|neighbor, keys| {
            let peer = peers.find(*neighbor).and_then(|slot| peers.get_mut(slot));
            let Some(peer) = peer else {
                return false;
            };
            let id = peer.established.as_ref().map(|e| e.connection);
            let connection = id.and_then(|id| peer.connections[id.index()].as_ref());
            // The next connection begins with the new keys.
            let Some(connection) = connection else {
                return false;
            };
            delete_unused(scope(&peer.settings), keys, connection.socket.as_fd());
            if keys.is_empty() {
                let name = &peer.settings.config.name;
                tracing::info!(
                    peer = name,
                    "the removed TCP-AO keys are not in use any more"
                );
            }
            !keys.is_empty()
        });
    }
}

/// Deletes the keys of a connection that sign nothing.
fn delete_unused(scope: KeyScope, keys: &mut Vec<AoKey>, socket: BorrowedFd<'_>) {
    keys.retain(|key| match tcp_ao::delete(socket, scope, key) {
        Ok(()) => false,
        Err(error) => !is_absent(&error),
    });
}

/// The peers of a neighbor's keys: a dynamic neighbor has those of its section.
fn scope(settings: &NeighborSettings) -> KeyScope {
    match &settings.dynamic {
        Some(section) => KeyScope {
            address: section.prefix.addr(),
            prefix_len: Some(section.prefix.len()),
        },
        None => KeyScope {
            address: settings.config.address,
            prefix_len: None,
        },
    }
}
