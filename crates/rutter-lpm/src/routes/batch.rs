//! Many changes at once: what they will look at is asked of memory for all of them together.
//!
//! A change waits for one line after the other that no cache near has: the slot of the root, the node, the number in it, the
//! value. Those of one change lead to one another; those of several changes do not.

use crate::net::Net;
use crate::search::Shared;

use super::lane::spread;
use super::list::{self, Number};
use super::{Inner, TooLong, intern};

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

/// Changes whose lines are asked for together, at most.
pub(super) const TOGETHER: usize = 64;

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
    /// Makes up to `MOST` changes but those that say what is so already. For a reader at work, which has then seen what a writer will
    /// look at.
    pub(super) fn make_some<const MOST: usize>(
        &self,
        changes: &[RouteChange<'_, N>],
    ) -> Result<(), TooLong> {
        let so = self.are_so::<MOST>(changes);
        let not_so = || {
            changes
                .iter()
                .enumerate()
                .filter(|(at, _)| so >> at & 1 == 0)
        };
        let mut hashes = [0; MOST];
        for (at, change) in not_so() {
            hashes[at] = self.ask(change);
        }
        not_so().for_each(|(at, change)| self.ask_for_value(change, hashes[at]));
        // Of which prefixes there may be a change among those made: what was found before holds no more.
        let mut made = 0_u64;
        for (at, change) in changes.iter().enumerate() {
            let one_of = 1 << spread(change.prefix, 6);
            let is_first = made & one_of == 0;
            let was_so = so >> at & 1 == 1;
            if is_first && was_so || !is_first && self.is_so(change) {
                continue;
            }
            made |= one_of;
            let hash = match was_so {
                true => self.ask(change),
                false => hashes[at],
            };
            self.make(change, hash)?;
        }
        Ok(())
    }

    /// Of up to `MOST` changes, each by itself, a bit where it is so already; none where that is not known.
    fn are_so<const MOST: usize>(&self, changes: &[RouteChange<'_, N>]) -> u64 {
        let mut steps = [Step::default(); MOST];
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
            if step.is_known {
                let table = self.table(change.prefix);
                let number = number_of(table, change.prefix);
                (step.is_known, step.number) = (number.is_some(), number.flatten());
                step.number
                    .inspect(|number| list::prefetch(&table.memory, *number));
            }
        }
        let mut so = 0;
        for (at, (step, change)) in steps.iter().zip(changes).enumerate() {
            let table = self.table(change.prefix);
            let is_so = step.is_known && is_so(table, step.number, change);
            so |= u64::from(is_so) << at;
        }
        so
    }

    /// Asks for where a change's value will be looked for, and returns the hash by which it will be.
    pub(super) fn ask(&self, change: &RouteChange<'_, N>) -> u64 {
        let Some(value) = change.value else {
            return 0;
        };
        let hash = self.seed.hash(change.source, value);
        let shard = self.shard(change.prefix.bits());
        self.lanes[shard]
            .lines
            .ask(&self.tables[shard].memory, hash);
        hash
    }

    /// Asks for the value itself, of which [`Self::ask`] has told the hash.
    fn ask_for_value(&self, change: &RouteChange<'_, N>, hash: u64) {
        if change.value.is_some() {
            let shard = self.shard(change.prefix.bits());
            let lines = &self.lanes[shard].lines;
            lines.ask_for_blocks(&self.tables[shard].memory, hash);
        }
    }

    fn table(&self, prefix: N) -> &Shared<N> {
        &self.tables[self.shard(prefix.bits())]
    }

    /// The table that can be asked without a lock for what a prefix has, with nothing of this thread's on its way to it.
    fn table_of(&self, prefix: N) -> Option<&Shared<N>> {
        let number = self.shard(prefix.bits());
        let is_here = !self.is_short(prefix) && self.lanes[number].is_up_to_date_on(prefix);
        is_here.then(|| &*self.tables[number])
    }

    /// Whether a change says what is so already. Answers no where it does not know. For a reader at work, which has then
    /// seen what a writer will look at.
    pub(super) fn is_so(&self, change: &RouteChange<'_, N>) -> bool {
        self.table_of(change.prefix).is_some_and(|table| {
            let number = number_of(table, change.prefix);
            number.is_some_and(|number| is_so(table, number, change))
        })
    }
}

/// What a table has of a prefix; `None` where only a writer can tell.
fn number_of<N: Net>(table: &Shared<N>, prefix: N) -> Option<Option<Number>> {
    if u32::from(prefix.prefix_len()) > table.root.bits() {
        return Some(crate::cpu::exact(table, prefix).and_then(Number::of));
    }
    let record = table.exact_head(prefix)?;
    Some((record != 0).then(|| Number(table.memory.word(record))))
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
