//! What a thread finds without a lock: that a change says what is so already, or where a writer has to make it.

use crate::net::Net;
use crate::search::{Shared, Spot};

use super::batch::RouteChange;
use super::intern;
use super::list::{self, Number};

/// What a reader at work has found of a prefix and a source. A writer may rely on it as long as this reader is at work, as
/// nothing of it can be used for something else meanwhile.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    spot: Spot,
    /// The source's value, and where in a list it stands.
    route: Option<(u32, u32)>,
}

impl Seen {
    /// Looks for the route that a change is about; `node` is that below the root. `None` where only a writer can tell.
    #[inline(always)]
    pub fn new<N: Net>(table: &Shared<N>, change: &RouteChange<'_, N>, node: u32) -> Option<Self> {
        let spot = spot_of(table, change.prefix, node)?;
        Some(Self::at(table, spot, change.source))
    }

    /// Looks for the route of a source to a prefix that has this spot.
    #[inline(always)]
    pub fn at<N: Net>(table: &Shared<N>, spot: Spot, source: u32) -> Self {
        let number = spot.number.and_then(Number::of);
        let route = number.and_then(|number| list::find(&table.memory, number, source));
        Seen { spot, route }
    }

    /// Whether this is what a change says.
    #[inline(always)]
    pub fn is_so<N: Net>(&self, table: &Shared<N>, change: &RouteChange<'_, N>) -> bool {
        match (self.route, change.value) {
            (Some((block, _)), Some(value)) => {
                intern::is(&table.memory, block, change.source, value)
            }
            (found, value) => found.is_none() && value.is_none(),
        }
    }

    pub fn spot(&self) -> Spot {
        self.spot
    }

    /// The source's route now, where the prefix still has the same number: then its list is the same, but for values.
    #[inline(always)]
    pub fn route_of<N: Net>(&self, table: &Shared<N>, number: Option<u32>) -> Option<Route> {
        let now = |(block, place)| match place {
            0 => (block, place),
            place => (table.memory.word(place), place),
        };
        (self.spot.number == number).then(|| self.route.map(now))
    }
}

/// A route, if there is one: its value and where that stands.
type Route = Option<(u32, u32)>;

/// Where a prefix is; `None` where only a writer can tell.
#[inline(always)]
pub(super) fn spot_of<N: Net>(table: &Shared<N>, prefix: N, node: u32) -> Option<Spot> {
    if u32::from(prefix.prefix_len()) > table.root.bits() {
        return Some(crate::cpu::spot(table, prefix, node));
    }
    let record = table.exact_head(prefix)?;
    Some(Spot {
        home: record,
        depth: 0,
        at: 0,
        number: (record != 0).then(|| table.memory.word(record)),
    })
}
