//! Many changes at once: what they will look at is asked of memory for all of them together.
//!
//! A change waits for one line after the other that no cache near has: the slot of the root, the node, the number in it, the
//! value. Those of one change lead to one another; those of several changes do not.

use crate::net::Net;
use crate::search::Shared;

use super::list::{self, Number};
use super::{Inner, intern};

/// A change of one route, for [`RoutesView::apply`](super::RoutesView::apply).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteChange<'c, N> {
    /// Which prefix.
    pub prefix: N,
    /// Whose route.
    pub source: u32,
    /// What is known of the route from now on, or nothing to take it out.
    pub value: Option<&'c [u32]>,
}

impl<'c, N> RouteChange<'c, N> {
    /// A source's route to a prefix has this value from now on.
    pub fn set(prefix: N, source: u32, value: &'c [u32]) -> Self {
        RouteChange {
            prefix,
            source,
            value: Some(value),
        }
    }

    /// A source has no route to a prefix any more.
    pub fn gone(prefix: N, source: u32) -> Self {
        RouteChange {
            prefix,
            source,
            value: None,
        }
    }
}

/// Changes whose lines are asked for together.
pub(super) const TOGETHER: usize = 32;

/// Where a change is on its way down.
#[derive(Clone, Copy, Default)]
struct Step {
    /// The node below the root, 0 where there is none or the change has to be left to a writer.
    node: u32,
    /// What the table has of the prefix.
    number: Option<Number>,
    /// Whether this could be found out.
    is_known: bool,
}

impl<N: Net> Inner<N> {
    /// Of up to [`TOGETHER`] changes, each by itself, a bit where it is so already; none where that is not known. For a reader at work,
    /// which has then seen what a writer will look at.
    pub(super) fn are_so(&self, changes: &[RouteChange<'_, N>]) -> u32 {
        let mut steps = [Step::default(); TOGETHER];
        let steps = &mut steps[..changes.len()];
        // Each loop is short, so that the processor asks for the lines of many changes at once.
        for (step, change) in steps.iter_mut().zip(changes) {
            if let Some(table) = self.table_of(change.prefix) {
                step.is_known = true;
                step.node = table.child_of_root(change.prefix);
            }
        }
        for (step, change) in steps.iter().zip(changes) {
            self.table(change.prefix).prefetch_node(step.node);
        }
        for (step, change) in steps.iter_mut().zip(changes) {
            if step.node != 0 {
                let table = self.table(change.prefix);
                step.number = crate::cpu::exact(table, change.prefix).map(Number);
                step.number
                    .inspect(|number| list::prefetch(&table.memory, *number));
            }
        }
        let mut so = 0;
        for (at, (step, change)) in steps.iter().zip(changes).enumerate() {
            let table = self.table(change.prefix);
            let is_so = step.is_known && is_so(table, step.number, change);
            so |= u32::from(is_so) << at;
        }
        so
    }

    fn table(&self, prefix: N) -> &Shared<N> {
        &self.tables[self.shard(prefix.bits())]
    }

    /// The table that can be asked without a lock for what a prefix has, with nothing of this thread's on its way to it.
    fn table_of(&self, prefix: N) -> Option<&Shared<N>> {
        let number = self.shard(prefix.bits());
        let table = &*self.tables[number];
        let is_in_node = u32::from(prefix.prefix_len()) > table.root.bits();
        let is_here = is_in_node && !self.is_short(prefix);
        (is_here && self.lanes[number].is_up_to_date_on(prefix)).then_some(table)
    }

    /// Whether a change says what is so already. Answers no where it does not know. For a reader at work, which has then
    /// seen what a writer will look at.
    pub(super) fn is_so(&self, change: &RouteChange<'_, N>) -> bool {
        self.table_of(change.prefix).is_some_and(|table| {
            let number = crate::cpu::exact(table, change.prefix).map(Number);
            is_so(table, number, change)
        })
    }
}

/// Whether what a prefix has is what a change says.
fn is_so<N: Net>(table: &Shared<N>, number: Option<Number>, change: &RouteChange<'_, N>) -> bool {
    let memory = &table.memory;
    let found = number.and_then(|number| list::find(memory, number, change.source));
    match (found, change.value) {
        (Some((block, _)), Some(value)) => intern::is(memory, block, change.source, value),
        (found, value) => found.is_none() && value.is_none(),
    }
}
