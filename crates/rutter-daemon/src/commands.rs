//! Commands from other threads, carried out on the thread that owns the neighbor.

use std::net::{IpAddr, TcpStream};
use std::sync::Arc;

use rutter_rib::Batch;
use rutter_session::{Input, ResetReason, StopReason};

use crate::mailbox::{Clear, Command};
use crate::neighbor::Plan;
use crate::peer::Peer;
use crate::reactor::Reactor;
use crate::transport;

/// All connections are closed by then after a shutdown.
const STOP_WITHIN_MS: u64 = 3_000;

impl Reactor {
    /// Empties the mailbox.
    pub(crate) fn run_commands(&mut self) {
        if !std::mem::take(&mut self.woken) {
            return;
        }
        for command in self.mailbox().take() {
            match command {
                Command::Add(plan) => self.add(*plan),
                Command::Remove(address) => self.remove(address),
                Command::Replace { plan, reset } => self.replace(*plan, reset),
                Command::Accepted { remote, stream } => self.accepted(remote, stream),
                Command::Clear { neighbor, what } => self.clear(neighbor, what),
                Command::ReleaseBuffers => self.release_buffers(),
                Command::Shutdown { text } => self.shutdown(&text),
            }
        }
    }

    fn add(&mut self, plan: Plan) {
        let address = plan.config.address;
        let Some(status) = self.shared.peers.find(address) else {
            return;
        };
        let dynamic = plan.dynamic.is_some();
        let shutdown = plan.config.shutdown.is_some();
        let slot = self.insert_peer(Peer::new(plan, status, self.shared.seed_for(address)));
        if !dynamic {
            self.table_id(slot);
        }
        if !shutdown {
            self.drive(slot, Input::Start);
        }
    }

    fn remove(&mut self, address: IpAddr) {
        let Some(&slot) = self.by_address.get(&address) else {
            return;
        };
        let input = Input::Stop {
            reason: StopReason::Deconfigured,
            text: "",
        };
        self.drive(slot, input);
        self.remove_peer(slot);
        tracing::info!(peer = %address, "neighbor removed");
    }

    fn replace(&mut self, plan: Plan, reset: bool) {
        let address = plan.config.address;
        let Some(&slot) = self.by_address.get(&address) else {
            return self.add_removed(plan);
        };
        let shared = Arc::clone(&self.shared);
        let Some(peer) = self.peer_mut(slot) else {
            return;
        };
        let old_shutdown = peer.plan.config.shutdown.clone();
        let new_shutdown = plan.config.shutdown.clone();
        let (config, table) = (Arc::clone(&plan.config), plan.table.clone());
        let dynamic = plan.dynamic.is_some();
        peer.session.set_config(plan.session.clone());
        peer.plan = plan;
        peer.status.with(|details| {
            details.config = config;
            details.dynamic = dynamic;
        });
        if reset {
            let input = Input::Reset {
                reason: ResetReason::ConfigChange,
                text: "",
            };
            self.drive(slot, input);
            match self.peer_mut(slot).and_then(|peer| peer.id) {
                Some(id) => shared.rib.replace_neighbor(id, table),
                None => drop(self.table_id(slot)),
            }
        }
        match (&old_shutdown, &new_shutdown) {
            (None, Some(text)) => self.stop(slot, text),
            (Some(_), None) => self.drive(slot, Input::Start),
            _ => {}
        }
    }

    /// The neighbor went between the decision to change it and now (a reload before this one removed it, or it was
    /// dynamic and is configured now): it is added under its new settings. A dynamic one comes back by itself.
    fn add_removed(&mut self, plan: Plan) {
        if plan.dynamic.is_some() {
            return;
        }
        if let Err(why) = self.shared.add_peer(plan) {
            tracing::error!(%why, "a neighbor was not added");
        }
    }

    /// The table has come to rest: what a burst left of working memory goes.
    fn release_buffers(&mut self) {
        if self.batch.is_empty() {
            self.batch = Batch::new();
        }
    }

    fn stop(&mut self, slot: usize, text: &str) {
        let input = Input::Stop {
            reason: StopReason::Shutdown,
            text,
        };
        self.drive(slot, input);
    }

    fn accepted(&mut self, remote: IpAddr, stream: TcpStream) {
        let Some(&slot) = self.by_address.get(&remote) else {
            return;
        };
        let Some(peer) = self.peer_mut(slot) else {
            return;
        };
        let Some(connection) = peer.session.accepts() else {
            tracing::debug!(
                peer = peer.name(),
                "connection refused: the session takes none now"
            );
            return;
        };
        peer.met = true;
        let opened = transport::adopt(stream, &peer.plan.config)
            .map(mio::net::TcpStream::from_std)
            .and_then(|socket| self.open(slot, connection, socket, false));
        match opened {
            Ok(()) => {
                let outgoing = false;
                let input = Input::Connected {
                    connection,
                    outgoing,
                };
                self.drive(slot, input);
            }
            Err(error) => tracing::warn!(peer = %remote, %error, "connection dropped"),
        }
    }

    fn clear(&mut self, neighbor: IpAddr, what: Clear) {
        let Some(&slot) = self.by_address.get(&neighbor) else {
            return;
        };
        match what {
            Clear::SoftOut(family) => self.refresh_client(slot, family),
            Clear::Hard => self.clear_hard(slot),
        }
    }

    /// Resets a session, or starts one that a prefix limit stopped. One that is shut down by configuration stays so.
    fn clear_hard(&mut self, slot: usize) {
        let Some(peer) = self.peer_mut(slot) else {
            return;
        };
        let input = if !peer.session.is_stopped() {
            Input::Reset {
                reason: ResetReason::Administrative,
                text: "",
            }
        } else if peer.plan.config.shutdown.is_none() {
            Input::Start
        } else {
            return;
        };
        self.drive(slot, input);
    }

    /// Ends all sessions; the loop ends when their connections are closed.
    fn shutdown(&mut self, text: &str) {
        self.stop_by_ms = Some(self.now_ms + STOP_WITHIN_MS);
        for slot in 0..self.peers.len() {
            self.stop(slot, text);
        }
    }
}
