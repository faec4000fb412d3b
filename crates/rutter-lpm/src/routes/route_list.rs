//! The routes of a prefix, as the table's number of the prefix refers to them.
//!
//! Most prefixes have one route: the number is then the block of its value. For several routes it is a list of
//! blocks. Such a block contains a head word (the number of routes, and whether the list continues), the place
//! of each value, and the place of the next block. A list is replaced as a whole, except for its values:
//! readers see those change from one word to the next.

use crate::block_allocator::LINE;
use crate::memory::Memory;
use crate::net::Net;
use crate::table::Table;

use super::value_pool;

/// A place, the kind of block there, and how much longer the prefix is than the depth of its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RoutesRef(pub u32);

const PLACE: u32 = (1 << 28) - 1;
const IS_LIST: u32 = 1 << 28;
const LEN_AT: u32 = 29;

impl RoutesRef {
    /// No routes: the gap of a removed prefix that may come back.
    pub const GAP: RoutesRef = RoutesRef(0);

    /// Wraps the number of a prefix; `None` for a gap.
    #[inline(always)]
    pub fn of(number: u32) -> Option<Self> {
        (number != 0).then_some(RoutesRef(number))
    }

    /// The number of a prefix with one route; `extra_len` is
    /// [`SharedTable::extra_len`](crate::shared_table::SharedTable::extra_len).
    pub fn of_route(value: u32, extra_len: u8) -> Self {
        RoutesRef(value | u32::from(extra_len) << LEN_AT)
    }

    fn of_list(list: u32, extra_len: u8) -> Self {
        RoutesRef(list | IS_LIST | u32::from(extra_len) << LEN_AT)
    }

    /// The part of the prefix's length that does not follow from its node.
    #[inline(always)]
    pub fn extra_len(self) -> u8 {
        (self.0 >> LEN_AT) as u8
    }

    #[inline(always)]
    pub fn is_list(self) -> bool {
        self.0 & IS_LIST != 0
    }

    #[inline(always)]
    pub fn place(self) -> u32 {
        self.0 & PLACE
    }
}

/// The routes in a block of a list.
const MOST: usize = 64;
const COUNT: u32 = 0xff;
const MORE: u32 = 1 << 8;

/// An iterator over the values of a prefix's routes, with their places in the list.
pub(super) struct Values<'m> {
    memory: &'m Memory,
    /// The block of the list, 0 if there is none.
    block: u32,
    head: u32,
    at: u32,
    /// The value of the only route, until it is returned.
    only: u32,
}

/// The routes of a prefix, the oldest first.
#[inline(always)]
pub(super) fn values(memory: &Memory, number: RoutesRef) -> Values<'_> {
    let (block, head, only) = match number.is_list() {
        true => (number.place(), memory.word(number.place()), 0),
        false => (0, 0, number.place()),
    };
    Values {
        memory,
        block,
        head,
        at: 0,
        only,
    }
}

impl Iterator for Values<'_> {
    /// The value, and its place in the list; 0 for a single route.
    type Item = (u32, u32);

    #[inline(always)]
    fn next(&mut self) -> Option<(u32, u32)> {
        if self.block == 0 {
            let only = std::mem::take(&mut self.only);
            return (only != 0).then_some((only, 0));
        }
        if self.at == self.head & COUNT {
            if self.head & MORE == 0 {
                return None;
            }
            self.block = self.memory.word(self.block + 1 + self.at);
            self.head = self.memory.word(self.block);
            self.at = 0;
        }
        let place = self.block + 1 + self.at;
        self.at += 1;
        Some((self.memory.word(place), place))
    }
}

/// Prefetches the words that most prefixes have.
pub(super) fn prefetch(memory: &Memory, number: RoutesRef) {
    memory.prefetch(number.place());
    memory.prefetch(number.place() + LINE);
}

/// The route of a source: its value and the place of the value.
#[inline(always)]
pub(super) fn find(memory: &Memory, number: RoutesRef, source: u32) -> Option<(u32, u32)> {
    values(memory, number).find(|(value, _)| value_pool::source(memory.block(*value)) == source)
}

/// Stores the routes of a prefix: none, one route, or a list.
pub(super) fn store<N: Net>(
    table: &mut Table<N>,
    values: &[u32],
    extra_len: u8,
) -> Option<RoutesRef> {
    if let [value] = values {
        return Some(RoutesRef::of_route(*value, extra_len));
    }
    let mut next = None;
    // From the end, so that each block can refer to the next one.
    for values in values.chunks(MOST).rev() {
        let head = values.len() as u32 | if next.is_some() { MORE } else { 0 };
        next = Some(table.store(&[&[head], values, next.as_slice()]));
    }
    next.map(|list| RoutesRef::of_list(list, extra_len))
}

/// Retires the blocks of a list; the value of a single route stays.
pub(super) fn retire<N: Net>(table: &mut Table<N>, number: RoutesRef) {
    let mut block = number.is_list().then_some(number.place());
    while let Some(place) = block {
        let memory = &table.shared.memory;
        let head = memory.word(place);
        block = (head & MORE != 0).then(|| memory.word(place + 1 + (head & COUNT)));
        table.retire(place);
    }
}
