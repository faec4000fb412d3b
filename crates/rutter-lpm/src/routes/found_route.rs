//! Finds a route without a lock: the table already has the new value, or a writer continues from here.

use crate::net::Net;
use crate::shared_table::{Location, SharedTable};

use super::batch_change::RouteChange;
use super::route_list::{self, RoutesRef};
use super::value_pool;

/// The prefix and route that an active reader found. A writer may rely on it while that reader is active: none
/// of its memory can be reused until then.
#[derive(Clone, Copy)]
pub(super) struct FoundRoute {
    location: Location,
    /// The source's value, and its place in a list.
    route: Option<(u32, u32)>,
}

impl FoundRoute {
    /// Finds the route of a change; `node` is the node below the root. Returns `None` if only a writer can find
    /// it.
    #[inline(always)]
    pub fn new<N: Net>(
        table: &SharedTable<N>,
        change: &RouteChange<'_, N>,
        node: u32,
    ) -> Option<Self> {
        let location = location_of(table, change.prefix, node)?;
        Some(Self::at(table, location, change.source))
    }

    /// Finds the route of a source to a prefix at this location.
    #[inline(always)]
    pub fn at<N: Net>(table: &SharedTable<N>, location: Location, source: u32) -> Self {
        let number = location.number.and_then(RoutesRef::of);
        let route = number.and_then(|number| route_list::find(&table.memory, number, source));
        FoundRoute { location, route }
    }

    /// Returns whether the route already has the value of the change.
    #[inline(always)]
    pub fn is_unchanged<N: Net>(
        &self,
        table: &SharedTable<N>,
        change: &RouteChange<'_, N>,
    ) -> bool {
        match (self.route, change.value) {
            (Some((block, _)), Some(value)) => {
                value_pool::is(&table.memory, block, change.source, value)
            }
            (found, value) => found.is_none() && value.is_none(),
        }
    }

    pub fn location(&self) -> Location {
        self.location
    }

    /// The source's route now, if the prefix still has the same number: then its list is the same, except for
    /// values.
    #[inline(always)]
    pub fn route_of<N: Net>(&self, table: &SharedTable<N>, number: Option<u32>) -> Option<Route> {
        let now = |(block, place)| match place {
            0 => (block, place),
            place => (table.memory.word(place), place),
        };
        (self.location.number == number).then(|| self.route.map(now))
    }
}

/// A route, if there is one: its value and the place of the value.
type Route = Option<(u32, u32)>;

/// The location of a prefix; `None` if only a writer can find it.
#[inline(always)]
pub(super) fn location_of<N: Net>(
    table: &SharedTable<N>,
    prefix: N,
    node: u32,
) -> Option<Location> {
    if u32::from(prefix.prefix_len()) > table.root.bits() {
        return Some(crate::cpu::location(table, prefix, node));
    }
    let record = table.exact_in_root(prefix)?;
    Some(Location {
        home: record,
        depth: 0,
        at: 0,
        number: (record != 0).then(|| table.memory.word(record)),
    })
}
