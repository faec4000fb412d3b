//! Changes of the server while it runs: another configuration, and another process that goes on with the sessions.

use std::sync::Arc;

use rutter_session::{Input, ResetReason};
use rutter_wire::handover::BadRecord;

use super::{World, connects_by};
use crate::configuration::Configuration;
use crate::handover::{Records, successor};
use crate::server::{Server, config, neighbor};
use crate::setup::{Setup, black_listed};

impl World {
    /// Puts another configuration in force, as a reload does. `pause` is called in the middle of the walk.
    pub(crate) fn put_in_force(&mut self, new: &Configuration, mut pause: impl FnMut(&mut World)) {
        let old = std::mem::replace(&mut self.configuration, new.clone());
        let clients = (0..).zip(old.iter().zip(new));
        let changed: Vec<u16> = clients
            .filter(|(_, (old, new))| old != new)
            .map(|(index, _)| index)
            .collect();
        let mut neighbors = Vec::new();
        for index in &changed {
            let rules = &new[usize::from(*index)];
            let id = self.server.peers[usize::from(*index)].id;
            neighbors.push((id, neighbor(*index, black_listed(*index, rules), rules)));
        }
        let rib = Arc::clone(&self.server.rib);
        rib.replace_neighbors(neighbors, || {
            rib.flush();
            pause(self);
        });
        for index in changed {
            let at = usize::from(index);
            let passive = connects_by(&self.kinds)(index);
            let resets = old[at].hold_time_s != new[at].hold_time_s;
            let session = &mut self.server.peers[at].end.session;
            session.set_config(config(index, passive, &new[at]));
            match resets {
                true => self.server_input(
                    index,
                    Input::Reset {
                        reason: ResetReason::ConfigChange,
                        text: "",
                    },
                ),
                false => self.server.restyle(at),
            }
        }
        rib.flush();
    }

    /// The server as records for another process; `None` if it cannot be held still now.
    pub(crate) fn hold_server(&mut self) -> Option<Records> {
        self.server.hold()
    }

    /// Returns whether another process refuses these records.
    pub(crate) fn refuses(&self, records: &Records, seed: u64) -> bool {
        self.successor(records, 1, seed).is_err()
    }

    fn successor(&self, records: &Records, shards: usize, seed: u64) -> Result<Server, BadRecord> {
        let setup = Setup {
            log_limit: self.log_limit,
            ..Setup::configured(&self.configuration)
        };
        successor(&self.server, setup, records, shards, self.now_ms, seed)
    }

    /// Another process goes on with the server of these records, which the present one wrote a moment ago. `pause` is
    /// called in the middle of its walk over the routes.
    pub(crate) fn go_on_with(
        &mut self,
        records: &Records,
        shards: usize,
        seed: u64,
        mut pause: impl FnMut(&mut World),
    ) {
        let next = self.successor(records, shards, seed);
        self.server = next.expect("whole records");
        for at in 0..self.connections.len() {
            let connection = &mut self.connections[at];
            let end = &self.server.peers[usize::from(connection.client)].end;
            if end.session.established() != Some(connection.at_server) && connection.open[1] {
                connection.open[1] = false;
                connection.to_client.close();
            }
        }
        let rib = Arc::clone(&self.server.rib);
        rib.reevaluate_all(|| {
            rib.flush();
            pause(self);
        });
        rib.flush();
    }
}
