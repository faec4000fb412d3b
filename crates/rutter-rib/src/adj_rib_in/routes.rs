//! The routes of one destination, in as few bytes as they need.

use std::ops::{Deref, DerefMut};

use crate::adj_rib_in::route::Route;
use crate::allocation::allocated;

/// The routes of one destination: accepted ones in the order of the decision process, then rejected ones.
///
/// Two lie inline, which is the usual number; more have an allocation of exactly their size. Most tables are loaded
/// once and then change one route for another, so spare capacity would mostly stay empty.
#[derive(Clone, Debug, Default)]
pub(crate) enum Routes {
    #[default]
    None,
    One(Route),
    Two([Route; 2]),
    Many(Box<[Route]>),
}

// The variants are encoded in the unused values of `Route::verdict`.
const _: () = assert!(size_of::<Routes>() == 2 * size_of::<Route>());

impl Routes {
    /// Inserts a route before the one at `at`.
    pub fn insert(&mut self, at: usize, route: Route) {
        *self = match std::mem::take(self) {
            Routes::None => Routes::One(route),
            Routes::One(held) if at == 0 => Routes::Two([route, held]),
            Routes::One(held) => Routes::Two([held, route]),
            Routes::Two([a, b]) => Routes::Many(Box::new(match at {
                0 => [route, a, b],
                1 => [a, route, b],
                _ => [a, b, route],
            })),
            Routes::Many(held) => {
                let mut held = held.into_vec();
                held.reserve_exact(1);
                held.insert(at, route);
                Routes::Many(held.into_boxed_slice())
            }
        };
    }

    /// Appends a route.
    pub fn push(&mut self, route: Route) {
        self.insert(self.len(), route);
    }

    /// Removes the route at `at`, which must exist.
    pub fn remove(&mut self, at: usize) -> Route {
        let mut held = match std::mem::take(self) {
            Routes::None => Vec::new(),
            Routes::One(route) => {
                assert!(at == 0, "a destination has one route, not {}", at + 1);
                return route;
            }
            Routes::Two([a, b]) => {
                assert!(at < 2, "a destination has two routes, not {}", at + 1);
                let (removed, kept) = if at == 0 { (a, b) } else { (b, a) };
                *self = Routes::One(kept);
                return removed;
            }
            Routes::Many(held) => held.into_vec(),
        };
        let removed = held.remove(at);
        *self = match <[Route; 2]>::try_from(held) {
            Ok(two) => Routes::Two(two),
            Err(held) => Routes::Many(held.into_boxed_slice()),
        };
        removed
    }

    /// Takes all routes out, in order.
    pub fn take(&mut self) -> Vec<Route> {
        match std::mem::take(self) {
            Routes::None => Vec::new(),
            Routes::One(route) => vec![route],
            Routes::Two(routes) => routes.into(),
            Routes::Many(routes) => routes.into_vec(),
        }
    }

    /// Bytes allocated besides the destination itself.
    pub fn heap_size(&self) -> usize {
        match self {
            Routes::Many(held) => allocated(size_of_val::<[Route]>(held)),
            _ => 0,
        }
    }
}

impl From<Vec<Route>> for Routes {
    fn from(mut routes: Vec<Route>) -> Self {
        match routes.len() {
            0 => Routes::None,
            1 => routes.pop().map_or(Routes::None, Routes::One),
            _ => match <[Route; 2]>::try_from(routes) {
                Ok(two) => Routes::Two(two),
                Err(routes) => Routes::Many(routes.into_boxed_slice()),
            },
        }
    }
}

impl Deref for Routes {
    type Target = [Route];

    fn deref(&self) -> &[Route] {
        match self {
            Routes::None => &[],
            Routes::One(route) => std::slice::from_ref(route),
            Routes::Two(routes) => routes,
            Routes::Many(routes) => routes,
        }
    }
}

impl DerefMut for Routes {
    fn deref_mut(&mut self) -> &mut [Route] {
        match self {
            Routes::None => &mut [],
            Routes::One(route) => std::slice::from_mut(route),
            Routes::Two(routes) => routes,
            Routes::Many(routes) => routes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PeerId;
    use crate::adj_rib_in::attr_set::{AttrStore, Summary};
    use crate::adj_rib_in::charges::NOBODY;
    use crate::adj_rib_in::route::State;
    use crate::adj_rib_in::verdict::Verdict;

    /// A route that is identified by its path identifier.
    fn route(store: &AttrStore, path_id: u32) -> Route {
        Route {
            attrs: store.intern(NOBODY, &[0x40, 1, 1, 0], &[], Summary::default),
            path_id,
            peer: PeerId(1),
            state: State::default(),
            verdict: Verdict::PLAIN,
        }
    }

    #[test]
    fn does_what_a_vector_does() {
        let store = AttrStore::new(1);
        let (mut routes, mut twin) = (Routes::default(), Vec::new());
        let mut draw = 12_345_u64;
        for path_id in 0..4_000 {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = (draw >> 33) as usize;
            let at = number % (twin.len() + 1);
            if number.is_multiple_of(2) && at < twin.len() {
                assert_eq!(routes.remove(at).path_id, twin.remove(at));
            } else if twin.len() < 7 {
                routes.insert(at, route(&store, path_id));
                twin.insert(at, path_id);
            }
            let held: Vec<u32> = routes.iter().map(|route| route.path_id).collect();
            assert_eq!(held, twin);
            assert_eq!(routes.heap_size() > 0, twin.len() > 2);
            let all = routes.take();
            assert!(routes.is_empty() && all.len() == twin.len());
            routes = all.into();
        }
    }
}
