//! The neighbors by address: the state that each publishes, the thread that owns it, and the order that waits for this
//! thread.
//!
//! Reloads and accepted connections do not send a queue of changes to a thread. They record the latest settings that a
//! neighbor should have, and wake the thread. So no order of changes leaves a neighbor on two threads, or on none.
//!
//! Invariant: while an address has an entry, all its orders go to the thread of the entry. A neighbor is on that thread
//! or waits in the entry's order. The entry goes only with the neighbor, when no order waits.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::RwLock;
use rutter_net::Prefix;

use crate::dynamic_counts::DynamicCounts;
use crate::neighbor_settings::NeighborSettings;
use crate::status::PeerStatus;

/// The neighbors by address.
#[derive(Default)]
pub(crate) struct PeerTable {
    entries: RwLock<Entries>,
}

#[derive(Default)]
struct Entries {
    by_address: BTreeMap<IpAddr, Entry>,
    dynamic: DynamicCounts,
}

struct Entry {
    status: Arc<PeerStatus>,
    order: Option<Order>,
}

/// The state that a neighbor should have.
pub(crate) enum Order {
    /// It runs with these settings.
    Run(Run),
    /// It is not there.
    Remove,
}

/// The settings that a neighbor should have.
pub(crate) struct Run {
    pub(crate) settings: Box<NeighborSettings>,
    pub(crate) change: Change,
    /// A neighbor that is not there is added. A dynamic neighbor is added only when it connects.
    pub(crate) adds: bool,
}

/// The way in which new settings take effect on a neighbor that runs already. The later ones include the earlier ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Change {
    /// The session continues.
    Live,
    /// The session restarts.
    Reset,
    /// The neighbor is removed and added: it may be another one at the same address.
    Replace,
}

impl Order {
    /// The effect of this order and then another one, before the thread has carried out either.
    fn then(self, next: Order) -> Order {
        match (self, next) {
            (_, Order::Remove) => Order::Remove,
            (Order::Remove, Order::Run(run)) => Order::Run(Run {
                change: Change::Replace,
                ..run
            }),
            (Order::Run(first), Order::Run(run)) => Order::Run(Run {
                change: run.change.max(first.change),
                adds: run.adds || first.adds,
                ..run
            }),
        }
    }
}

/// An order that was recorded for a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recorded {
    pub(crate) thread: usize,
    /// No other order waits, so the thread does not know of it yet.
    pub(crate) is_first: bool,
}

impl PeerTable {
    /// Records the settings that a neighbor should have. `new_status` makes the state of a neighbor without an entry, and
    /// claims its thread.
    pub(crate) fn run(
        &self,
        run: Run,
        new_status: impl FnOnce(&NeighborSettings) -> PeerStatus,
    ) -> Recorded {
        self.entries.write().run(run, new_status)
    }

    /// As [`PeerTable::run`] for an address without an entry; `None` for another one.
    pub(crate) fn run_new(
        &self,
        run: Run,
        new_status: impl FnOnce(&NeighborSettings) -> PeerStatus,
    ) -> Option<Recorded> {
        let mut entries = self.entries.write();
        let is_new = !entries
            .by_address
            .contains_key(&run.settings.config.address);
        is_new.then(|| entries.run(run, new_status))
    }

    /// Enters a neighbor whose session another process began. It is on its thread already, so no order waits. `section` is
    /// the network of a dynamic neighbor's section.
    pub(crate) fn continue_with(
        &self,
        address: IpAddr,
        status: Arc<PeerStatus>,
        section: Option<Prefix>,
    ) {
        let mut entries = self.entries.write();
        entries.dynamic.set(address, section);
        let entry = Entry {
            status,
            order: None,
        };
        entries.by_address.insert(address, entry);
    }

    /// Records that a neighbor should not be there. `None`: it is not.
    pub(crate) fn remove(&self, address: IpAddr) -> Option<Recorded> {
        let mut entries = self.entries.write();
        let entry = entries.by_address.get_mut(&address)?;
        Some(entry.record(Order::Remove))
    }

    /// Takes the order that waits for a neighbor, with the state that the neighbor publishes. Only the thread of the
    /// neighbor may call this.
    pub(crate) fn take_order(&self, address: IpAddr) -> Option<(Order, Arc<PeerStatus>)> {
        let mut entries = self.entries.write();
        let entry = entries.by_address.get_mut(&address)?;
        Some((entry.order.take()?, Arc::clone(&entry.status)))
    }

    /// The thread has removed a neighbor. Returns whether its entry is gone: it stays with `successor` if an order waits.
    pub(crate) fn removed(
        &self,
        address: IpAddr,
        successor: impl FnOnce(&NeighborSettings) -> PeerStatus,
    ) -> bool {
        let mut entries = self.entries.write();
        let Some(entry) = entries.by_address.get_mut(&address) else {
            return false;
        };
        if let Some(order) = &entry.order {
            if let Order::Run(run) = order {
                entry.status = Arc::new(successor(&run.settings));
            }
            return false;
        }
        entries.by_address.remove(&address);
        entries.dynamic.set(address, None);
        true
    }

    /// Replaces the state that a neighbor publishes, because another neighbor follows it at its address.
    pub(crate) fn set_status(&self, address: IpAddr, status: &Arc<PeerStatus>) {
        if let Some(entry) = self.entries.write().by_address.get_mut(&address) {
            entry.status = Arc::clone(status);
        }
    }

    /// The number of dynamic neighbors of a section with this network.
    pub(crate) fn dynamic_count(&self, network: Prefix) -> usize {
        self.entries.read().dynamic.of(network)
    }

    pub(crate) fn find(&self, address: IpAddr) -> Option<Arc<PeerStatus>> {
        let entries = self.entries.read();
        let entry = entries.by_address.get(&address)?;
        Some(Arc::clone(&entry.status))
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.read().by_address.len()
    }

    /// All states, in the order of the addresses.
    pub(crate) fn all(&self) -> Vec<Arc<PeerStatus>> {
        let entries = self.entries.read();
        let statuses = entries.by_address.values();
        statuses.map(|entry| Arc::clone(&entry.status)).collect()
    }
}

impl Entries {
    fn run(
        &mut self,
        run: Run,
        new_status: impl FnOnce(&NeighborSettings) -> PeerStatus,
    ) -> Recorded {
        let address = run.settings.config.address;
        let section = run.settings.dynamic.as_ref();
        self.dynamic
            .set(address, section.map(|section| section.prefix));
        let entry = self.by_address.entry(address).or_insert_with(|| Entry {
            status: Arc::new(new_status(&run.settings)),
            order: None,
        });
        entry.record(Order::Run(run))
    }
}

impl Entry {
    fn record(&mut self, order: Order) -> Recorded {
        let before = self.order.take();
        let is_first = before.is_none();
        self.order = Some(match before {
            Some(before) => before.then(order),
            None => order,
        });
        Recorded {
            thread: self.status.with(|details| details.thread),
            is_first,
        }
    }
}
