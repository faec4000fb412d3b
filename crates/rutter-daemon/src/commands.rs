//! Carries out the commands of other threads on the thread that owns the neighbor.

use std::io;
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;

use rutter_session::{Input, ResetReason, StopReason};

use crate::connection::ConnectionKey;
use crate::mailbox::{Clear, Command};
use crate::neighbor_settings::NeighborSettings;
use crate::peer::Peer;
use crate::peer_table::{Change, Order};
use crate::session_driver::SessionDriver;
use crate::status::PeerStatus;
use crate::transport;

/// Carries out commands with the sessions of a thread.
pub(crate) struct CommandRunner<'a>(pub(crate) &'a mut SessionDriver);

impl CommandRunner<'_> {
    /// Carries out one command.
    pub(crate) fn run(&mut self, command: Command) {
        match command {
            Command::Settle(address) => self.settle(address),
            Command::Accepted { remote, stream } => self.accepted(remote, stream),
            Command::Clear { neighbor, action } => self.clear(neighbor, action),
            Command::OutLimitExceeded {
                neighbor,
                family,
                limit,
            } => {
                if let Some(slot) = self.0.peers.find(neighbor) {
                    self.0.limit_exceeded(slot, family, limit);
                }
            }
            Command::OutOfMemory { neighbor } => {
                if let Some(slot) = self.0.peers.find(neighbor) {
                    self.0.end_for_memory(slot);
                }
            }
            Command::RemoveStale { neighbor } => {
                if let Some(slot) = self.0.peers.find(neighbor) {
                    self.0.remove_stale_for_memory(slot);
                }
            }
            Command::RequestRefresh { neighbor, family } => {
                if let Some(slot) = self.0.peers.find(neighbor) {
                    self.0.request_refresh(slot, family);
                }
            }
            // The event loop has released its buffers.
            Command::ReleaseBuffers => {}
            Command::RestartIsOver => {
                for slot in 0..self.0.peers.slot_count() {
                    self.0.handle(slot, Input::Restarting(false));
                }
            }
            Command::Shutdown { reason, text } => self.shutdown(reason, &text),
        }
    }

    /// Makes a neighbor what it should be.
    fn settle(&mut self, address: IpAddr) {
        if self.0.is_stopping() {
            return;
        }
        let shared = Arc::clone(&self.0.shared);
        let Some((order, status)) = shared.peers.take_order(address) else {
            return;
        };
        match (order, self.0.peers.find(address)) {
            (Order::Remove, Some(slot)) => self.remove(slot),
            (Order::GiveWay, Some(slot)) => {
                self.end(slot);
                self.0.remove_peer(slot);
            }
            (Order::Run(run), Some(slot)) if run.change < Change::Replace => {
                self.replace(slot, *run.settings, run.change == Change::Reset);
            }
            (Order::Run(run), Some(slot)) if run.adds => self.succeed(slot, *run.settings),
            (Order::Run(_), Some(slot)) => self.remove(slot),
            (Order::Run(run), None) if run.adds => self.add(*run.settings, status),
            // A dynamic neighbor that has left.
            (Order::Remove | Order::GiveWay | Order::Run(_), None) => self.0.forget(address),
        }
    }

    /// Adds a neighbor; there is none with its address.
    fn add(&mut self, settings: NeighborSettings, status: Arc<PeerStatus>) {
        let address = settings.config.address;
        let shared = Arc::clone(&self.0.shared);
        let dynamic = settings.dynamic.is_some();
        let shutdown = settings.config.session.shutdown.is_some();
        let mut peer = Peer::new(settings, status, shared.seed_for(address));
        if !dynamic {
            peer.register(&shared.rib);
        }
        let slot = self.0.insert_peer(peer);
        if shared.restart.is_restarting() {
            self.0.handle(slot, Input::Restarting(true));
        }
        if !shutdown {
            self.0.handle(slot, Input::Start);
        }
    }

    fn remove(&mut self, slot: usize) {
        let address = self.end(slot);
        self.0.remove_peer(slot);
        if let Some(address) = address {
            tracing::info!(peer = %address, "neighbor removed");
        }
    }

    /// Ends the session of a neighbor that is to be removed.
    fn end(&mut self, slot: usize) -> Option<IpAddr> {
        let peer = self.0.peers.get_mut(slot)?;
        let address = peer.address();
        // The neighbor must not be removed because it left.
        peer.settings.dynamic = None;
        self.stop(slot, StopReason::Deconfigured, "");
        Some(address)
    }

    /// Replaces a neighbor by another one with the same address.
    fn succeed(&mut self, slot: usize, settings: NeighborSettings) {
        let Some(address) = self.end(slot) else {
            return;
        };
        self.0.take_out(slot);
        let shared = Arc::clone(&self.0.shared);
        let status = Arc::new(shared.status_on(&settings, self.0.thread()));
        shared.peers.set_status(address, &status);
        self.add(settings, status);
    }

    fn replace(&mut self, slot: usize, mut settings: NeighborSettings, reset: bool) {
        let shared = Arc::clone(&self.0.shared);
        let Some(peer) = self.0.peers.get_mut(slot) else {
            return;
        };
        let lacks_facts = peer.keep_facts(&shared.config.read(), &mut settings);
        let address = settings.config.address;
        let old_shutdown = peer.settings.config.session.shutdown.clone();
        let new_shutdown = settings.config.session.shutdown.clone();
        let (config, table) = (Arc::clone(&settings.config), settings.table.clone());
        let dynamic = settings.dynamic.is_some();
        peer.session.set_config(settings.session.clone());
        let before = Arc::clone(&peer.settings.config);
        peer.settings = settings;
        peer.check_changed_limits_again(&before);
        peer.status.with(|details| {
            details.config = config;
            details.dynamic = dynamic;
        });
        if let (true, false, Some(id)) = (lacks_facts, reset, peer.id) {
            shared.rib.replace_neighbor(id, table.clone());
        }
        if reset {
            let input = Input::Reset {
                reason: ResetReason::ConfigChange,
                text: "",
            };
            self.0.handle(slot, input);
            if let Some(peer) = self.0.peers.get_mut(slot) {
                match peer.id {
                    Some(id) => shared.rib.replace_neighbor(id, table),
                    None => drop(peer.register(&shared.rib)),
                }
            }
        }
        if !reset {
            self.0.change_live(slot, &before);
        }
        match (&old_shutdown, &new_shutdown) {
            (None, Some(text)) => {
                self.stop(slot, StopReason::Shutdown, text);
                shared.restart.removed(address);
            }
            (Some(_), None) => self.0.handle(slot, Input::Start),
            _ => {}
        }
    }

    fn stop(&mut self, slot: usize, reason: StopReason, text: &str) {
        self.0.handle(slot, Input::Stop { reason, text });
    }

    /// Accepts the delayed connections that need not wait any longer, but for those that the neighbor has closed.
    pub(crate) fn accept_delayed(&mut self) {
        for (remote, stream) in self.0.take_delayed_connections() {
            let is_open = stream.set_nonblocking(true).is_ok()
                && match stream.peek(&mut [0]) {
                    Ok(bytes) => bytes > 0,
                    Err(error) => error.kind() == io::ErrorKind::WouldBlock,
                };
            if is_open {
                self.accepted(remote, stream);
            }
        }
    }

    fn accepted(&mut self, remote: IpAddr, stream: TcpStream) {
        let Some(slot) = self.0.peers.find(remote) else {
            return;
        };
        let (waits, now_ms) = (self.0.uncommitted_on(slot).is_some(), self.0.now_ms);
        let Some(peer) = self.0.peers.get_mut(slot) else {
            return;
        };
        if waits && peer.session.would_be_replaced(now_ms) {
            return self.0.delay_connection(remote, stream);
        }
        let Some(id) = peer.session.accepts() else {
            tracing::debug!(
                peer = peer.name(),
                "connection refused: the session accepts none now"
            );
            return;
        };
        peer.had_connection = true;
        let opened = transport::adopt(stream, &peer.settings.config)
            .map(mio::net::TcpStream::from_std)
            .and_then(|socket| self.0.open(ConnectionKey { slot, id }, socket, false));
        match opened {
            Ok(()) => {
                let input = Input::Connected {
                    connection: id,
                    outgoing: false,
                };
                self.0.handle(slot, input);
            }
            Err(error) => tracing::warn!(peer = %remote, %error, "connection dropped"),
        }
    }

    fn clear(&mut self, neighbor: IpAddr, action: Clear) {
        let Some(slot) = self.0.peers.find(neighbor) else {
            return;
        };
        match action {
            Clear::SoftOut(family) => self.0.refresh_client(slot, family),
            Clear::Hard => self.clear_hard(slot),
        }
    }

    /// Resets a session, or starts a session that a prefix limit stopped. A session that the configuration shuts down
    /// stays stopped.
    fn clear_hard(&mut self, slot: usize) {
        let Some(peer) = self.0.peers.get_mut(slot) else {
            return;
        };
        let input = if !peer.session.is_stopped() {
            Input::Reset {
                reason: ResetReason::Administrative,
                text: "",
            }
        } else if peer.settings.config.session.shutdown.is_none() {
            Input::Start
        } else {
            return;
        };
        self.0.handle(slot, input);
    }

    /// Ends all sessions. The thread ends when their connections are closed.
    fn shutdown(&mut self, reason: StopReason, text: &str) {
        self.0.begin_stop();
        for slot in 0..self.0.peers.slot_count() {
            self.stop(slot, reason, text);
        }
    }
}

#[cfg(test)]
#[path = "commands_tests.rs"]
mod tests;
