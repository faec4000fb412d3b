//! The check of the UPDATEs between two quiet moments.

use std::collections::{BTreeMap, BTreeSet};

use rutter_net::Prefix;

use crate::data_model::Table;
use crate::held_routes::ReceivedChange;
use crate::world::World;

/// The UPDATEs that clients may receive between two quiet moments.
///
/// The announcements and sessions of this time concern some prefixes. For all others the routes in the table stay,
/// and only outside data can change the best route of a client. A client may receive one UPDATE for each such change.
pub(crate) struct RoundCheck {
    /// The numbers of the clients' sessions at the quiet moment.
    sessions: Vec<u64>,
    /// The clients whose session ended since then.
    broken: Vec<bool>,
    demotions: u64,
    /// The prefixes that an announcement or the end of a session concerns.
    touched: BTreeSet<Prefix>,
    /// The tables of the clients under the present data and the routes of the quiet moment.
    tables: Vec<Table>,
    /// For each client, the number of changes by outside data that it has not received yet.
    due: Vec<BTreeMap<Prefix, u32>>,
    /// The number of received changes that were compared.
    pub checked: u64,
}

impl RoundCheck {
    /// Begins at a quiet moment with these tables.
    pub fn new(world: &mut World, tables: Vec<Table>) -> Self {
        for client in &mut world.clients {
            client.held.take_received();
        }
        RoundCheck {
            sessions: world.clients.iter().map(|client| client.sessions).collect(),
            broken: vec![false; tables.len()],
            demotions: world.server.rib.demotions(),
            touched: BTreeSet::new(),
            due: vec![BTreeMap::new(); tables.len()],
            tables,
            checked: 0,
        }
    }

    /// Notes that a client announces or withdraws a prefix.
    pub fn touch(&mut self, prefix: Prefix) {
        self.touched.insert(prefix);
    }

    /// Notes other data: `tables` are those of the clients under these and the routes of the quiet moment.
    pub fn change_data(&mut self, tables: Vec<Table>) {
        for (due, (old, new)) in self.due.iter_mut().zip(self.tables.iter().zip(&tables)) {
            let prefixes: BTreeSet<&Prefix> = old.keys().chain(new.keys()).collect();
            for prefix in prefixes {
                if old.get(prefix) != new.get(prefix) {
                    *due.entry(*prefix).or_default() += 1;
                }
            }
        }
        self.tables = tables;
    }

    /// Compares all that clients have received since the last call. Call it after each step.
    pub fn check(&mut self, world: &mut World) {
        self.note_broken(world);
        let is_lagging = world.server.rib.demotions() != self.demotions;
        for (index, client) in world.clients.iter_mut().enumerate() {
            let refreshes = client.end.route_refreshes;
            assert_eq!(refreshes, 0, "client {index} received ROUTE-REFRESH");
            for change in client.held.take_received() {
                if !self.broken[index] {
                    self.check_change(index, change, is_lagging);
                }
            }
        }
    }

    /// All routes of a client whose session ends may change.
    fn note_broken(&mut self, world: &World) {
        let ends = world.clients.iter().zip(&world.server.peers);
        for (index, (client, peer)) in ends.enumerate() {
            let is_unbroken = client.is_up()
                && peer.end.session.established().is_some()
                && client.sessions == self.sessions[index];
            if !is_unbroken {
                self.broken[index] = true;
                self.touched.extend(client.announced.keys());
            }
        }
    }

    fn check_change(&mut self, index: usize, change: ReceivedChange, is_lagging: bool) {
        let prefix = change.prefix;
        self.checked += 1;
        // A client that left the log receives the present state of a destination once, after any number of changes.
        assert!(
            change.is_difference || is_lagging,
            "client {index} received {prefix} as it held it"
        );
        // Where it stopped inside the log, it may have read the last change.
        if change.is_difference && !self.touched.contains(&prefix) {
            let due = self.due[index].get_mut(&prefix).filter(|due| **due > 0);
            let due = due.unwrap_or_else(|| {
                panic!("client {index} received {prefix}, whose best route stayed")
            });
            *due -= 1;
        }
    }
}
