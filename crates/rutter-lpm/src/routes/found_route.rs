//! What a thread finds without a lock: that a change has_words what is so already, or where a writer has to make it.

use crate::net::Net;
use crate::shared_table::{Location, SharedTable};

use super::batch_change::RouteChange;
use super::route_list::{self, RoutesRef};
use super::value_pool;

/// What a reader at work has found of a prefix and a source. A writer may rely on it as long as this reader is at work, as
/// nothing of it can be used for something else meanwhile.
#[derive(Clone, Copy)]
pub(super) struct FoundRoute {
    location: Location,
    /// The source's value, and where in a list it stands.
    route: Option<(u32, u32)>,
}

impl FoundRoute {
    /// Looks for the route that a change is about; `node` is that below the root. `None` where only a writer can tell.
    #[inline(always)]
    pub fn new<N: Net>(
        table: &SharedTable<N>,
        change: &RouteChange<'_, N>,
        node: u32,
    ) -> Option<Self> {
        let location = location_of(table, change.prefix, node)?;
        Some(Self::at(table, location, change.source))
    }

    /// Looks for the route of a source to a prefix that has this location.
    #[inline(always)]
    pub fn at<N: Net>(table: &SharedTable<N>, location: Location, source: u32) -> Self {
        let number = location.number.and_then(RoutesRef::of);
        let route = number.and_then(|number| route_list::find(&table.memory, number, source));
        FoundRoute { location, route }
    }

    /// Whether this is what a change has_words.
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

    /// The source's route now, where the prefix still has the same number: then its list is the same, but for values.
    #[inline(always)]
    pub fn route_of<N: Net>(&self, table: &SharedTable<N>, number: Option<u32>) -> Option<Route> {
        let now = |(block, place)| match place {
            0 => (block, place),
            place => (table.memory.word(place), place),
        };
        (self.location.number == number).then(|| self.route.map(now))
    }
}

/// A route, if there is one: its value and where that stands.
type Route = Option<(u32, u32)>;

/// Where a prefix is; `None` where only a writer can tell.
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
