//! Faults and changes of a run: sessions that end, bytes that stall or change, routes that come and go.

use rutter_net::{Family, Prefix};
use rutter_session::{Input, ResetReason, StopReason};

use super::World;
use crate::client::PathLen;

impl World {
    /// Injects a random fault or change, or none.
    pub(super) fn inject_fault(&mut self) {
        let index = self.random.below(self.clients.len() as u64) as u16;
        match self.random.below(60) {
            0..=11 => {
                self.change_announcement(index);
            }
            12 => self.reset_connection(),
            13 => self.stall(),
            14 => self.corrupt(),
            15 => self.restart(index),
            16 => {
                let reason = ResetReason::Administrative;
                self.server_input(
                    index,
                    Input::Reset {
                        reason,
                        text: "maintenance",
                    },
                );
            }
            17 => {
                let reason = StopReason::Shutdown;
                self.server_input(
                    index,
                    Input::Stop {
                        reason,
                        text: "bye",
                    },
                );
            }
            18..=19 => self.server_input(index, Input::Start),
            20 => {
                let family = Family::ALL[self.random.below(2) as usize];
                self.client_input(index, Input::RequestRefresh { family });
            }
            21 => {
                let family = Family::ALL[self.random.below(2) as usize];
                self.server_input(index, Input::RequestRefresh { family });
            }
            _ => {}
        }
    }

    /// A client restarts without a NOTIFICATION: its connections are lost.
    pub(crate) fn restart(&mut self, index: u16) {
        while let Some(at) = self
            .connections
            .iter()
            .position(|connection| connection.client == index)
        {
            self.cut(at);
        }
        self.client_input(index, Input::Restarting(true));
    }

    /// Announces or withdraws a random prefix and returns it.
    pub(crate) fn change_announcement(&mut self, index: u16) -> Prefix {
        let at = self.random.below(self.prefixes.len() as u64) as usize;
        let path_len = match self.random.below(4) {
            0 => None,
            _ => Some(1 + self.random.below(3) as PathLen),
        };
        let prefix = self.prefixes[at];
        self.clients[usize::from(index)].announce(prefix, path_len);
        prefix
    }

    pub(crate) fn reset_connection(&mut self) {
        if self.connections.is_empty() {
            return;
        }
        let at = self.random.below(self.connections.len() as u64) as usize;
        self.cut(at);
    }

    /// Both ends of a connection lose it.
    fn cut(&mut self, at: usize) {
        let connection = self.connections.remove(at);
        self.lose(
            connection.client,
            connection.open,
            connection.at_client,
            connection.at_server,
        );
    }

    pub(crate) fn stall(&mut self) {
        let until = self.now_ms + self.random.below(20_000);
        let (connections, random) = (&mut self.connections, &mut self.random);
        if connections.is_empty() {
            return;
        }
        let at = random.below(connections.len() as u64) as usize;
        match random.below(2) {
            0 => connections[at].to_client.stall(until),
            _ => connections[at].to_server.stall(until),
        }
    }

    /// Corrupts the unsent bytes of a client.
    fn corrupt(&mut self) {
        let index = self.random.below(self.clients.len() as u64) as usize;
        let queue = &mut self.clients[index].queue;
        if queue.is_empty() {
            let garbage: Vec<u8> = (0..30).map(|_| self.random.number() as u8).collect();
            queue.extend(garbage);
        } else {
            let at = self.random.below(queue.len() as u64) as usize;
            queue[at] ^= 1 << self.random.below(8);
        }
    }

    /// Ends the phase with faults and resets all sessions: BGP cannot notice corrupted bytes that still parse.
    pub(super) fn end_faults(&mut self) {
        self.faults = false;
        for connection in &mut self.connections {
            connection.to_client.end_stall();
            connection.to_server.end_stall();
        }
        for index in 0..self.clients.len() as u16 {
            let reason = ResetReason::Administrative;
            self.server_input(index, Input::Start);
            self.server_input(index, Input::Reset { reason, text: "" });
            self.client_input(index, Input::Start);
        }
    }
}
