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
use rutter_config::DynamicNeighbor;
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
    /// A dynamic neighbor without a session leaves its place to another one.
    GiveWay,
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
            (_, next @ (Order::Remove | Order::GiveWay)) => next,
            (Order::Remove | Order::GiveWay, Order::Run(run)) => Order::Run(Run {
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

/// The orders with which a dynamic neighbor was admitted.
#[derive(Default, Debug)]
pub(crate) struct Admitted {
    pub(crate) orders: Vec<(IpAddr, Recorded)>,
    /// The neighbor that gave way.
    pub(crate) gave_way: Option<IpAddr>,
}

/// The section has as many neighbors as its limit allows, and none of them is idle.
#[derive(Debug)]
pub(crate) struct SectionIsFull;

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

    /// As [`PeerTable::run`] for a dynamic neighbor that connects; an address with an entry keeps it. Where the section has as
    /// many neighbors as its limit allows, the one gives way that has been idle longest.
    pub(crate) fn admit(
        &self,
        run: Run,
        section: &DynamicNeighbor,
        now_ms: u64,
        new_status: impl FnOnce(&NeighborSettings) -> PeerStatus,
    ) -> Result<Admitted, SectionIsFull> {
        let mut entries = self.entries.write();
        let mut admitted = Admitted::default();
        let address = run.settings.config.address;
        if entries.by_address.contains_key(&address) {
            return Ok(admitted);
        }
        if entries.dynamic.of(section.prefix) >= section.limit as usize {
            let idle = entries.idle_longest(section.prefix, now_ms);
            let (idle, recorded) = idle.ok_or(SectionIsFull)?;
            admitted.gave_way = Some(idle);
            admitted.orders.push((idle, recorded));
        }
        admitted
            .orders
            .push((address, entries.run(run, new_status)));
        Ok(admitted)
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
    /// Lets the dynamic neighbor of a network give way that has been idle longest. `None` if each keeps its place.
    fn idle_longest(&mut self, network: Prefix, now_ms: u64) -> Option<(IpAddr, Recorded)> {
        let idle = self.dynamic.addresses_of(network).filter_map(|address| {
            let entry = self.by_address.get(&address)?;
            let since = entry.status.idle_since(now_ms)?;
            entry.order.is_none().then_some((since, address))
        });
        let (_, address) = idle.min()?;
        let recorded = self.by_address.get_mut(&address)?.record(Order::GiveWay);
        // Its place is free at once.
        self.dynamic.set(address, None);
        Some((address, recorded))
    }

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
