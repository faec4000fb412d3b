//! The first few routes that each client may receive, for all clients at once.
//!
//! Everything here is operations on sets of clients, a few for each route. Neighbors choose the number of routes of a
//! destination and who may receive each: a loop over clients, or over sets of clients alike, would take their product.

use std::ops::Range;

use smallvec::SmallVec;

use crate::adj_rib_in::route::Route;
use crate::advertise::clients::COMPARISONS_PER_SORTED_ROUTE;
use crate::advertise::export_view::{ClientSet, ExportView, Rules, Scope};
use crate::decision::{Decision, Process};

/// The comparisons that the choice for all clients takes for each route.
const COMPARISONS_PER_CHOICE: usize = 4;

/// The routes where MULTI_EXIT_DISC leaves one order for all clients. The recipients of a route who have all their paths are
/// removed before the next is tried. O(routes · `max_paths`) operations, but with `max_paths` of 1 one or two routes serve most
/// clients.
pub(crate) fn first_paths<'r, C: ClientSet>(
    scope: &Scope<'_>,
    rules: Rules,
    routes: &[&'r Route],
    clients: &C,
    max_paths: usize,
) -> ExportView<'r, C> {
    let mut unserved = clients.clone();
    let mut with_paths = SmallVec::new();
    let mut view = SmallVec::new();
    let mut comparisons = 0;
    for route in routes {
        comparisons += 1 + with_paths.len();
        let to = unserved.recipients(scope, rules, route);
        if to.is_empty() {
            continue;
        }
        let served = match max_paths {
            1 => to.clone(),
            _ => count_path(&mut with_paths, to.clone(), max_paths),
        };
        unserved = unserved.minus(&served);
        view.push((*route, to));
        if unserved.is_empty() {
            break;
        }
    }
    scope.count_comparisons(comparisons);
    view
}

/// Counts a path of these clients. `with_paths` has the clients by the number of their paths, from 1. Returns those that
/// have `max_paths`, at least 2, now, and forgets them.
fn count_path<C: ClientSet>(with_paths: &mut SmallVec<[C; 4]>, to: C, max_paths: usize) -> C {
    let mut first = to;
    let mut served = C::default();
    // From the most paths down, so that each client moves once.
    for at in (0..with_paths.len()).rev() {
        if with_paths[at].is_empty() {
            continue;
        }
        let moved = with_paths[at].clone().and(&first);
        if moved.is_empty() {
            continue;
        }
        with_paths[at] = std::mem::take(&mut with_paths[at]).minus(&moved);
        first = first.minus(&moved);
        match with_paths.get_mut(at + 1) {
            _ if at + 2 == max_paths => served = moved,
            Some(with_more) => with_more.extend(&moved),
            None => with_paths.push(moved),
        }
    }
    match with_paths.first_mut() {
        Some(with_one) => with_one.extend(&first),
        None => with_paths.push(first),
    }
    served
}

/// The routes where MULTI_EXIT_DISC makes the order depend on the routes that a client may receive. In each round every
/// client is given the best route of those that it has not: see [`Process::sort`]. O(routes · `max_paths`) operations.
pub(crate) fn first_paths_by_med<'r, C: ClientSet>(
    scope: &Scope<'_>,
    rules: Rules,
    routes: &[&'r Route],
    clients: &C,
    max_paths: usize,
) -> ExportView<'r, C> {
    let decision = scope.topology.decision();
    let recipients = |route: &&Route| clients.recipients(scope, rules, route);
    let mut choice = Choice {
        order: Order::of(&decision, routes),
        left: routes.iter().map(recipients).collect(),
        survivors: vec![C::default(); routes.len()],
        chosen: vec![C::default(); routes.len()],
        comparisons: routes.len() * COMPARISONS_PER_SORTED_ROUTE,
    };
    let mut clients = clients.clone();
    for _ in 0..max_paths {
        clients = choice.next_path(clients);
        if clients.is_empty() {
            break;
        }
    }
    scope.count_comparisons(choice.comparisons);
    let view = routes.iter().copied().zip(choice.chosen);
    view.filter(|(_, to)| !to.is_empty()).collect()
}

/// The routes of a destination, by index, as the decision process groups them.
struct Order {
    /// By the steps before MULTI_EXIT_DISC, then by neighbouring AS, then by MULTI_EXIT_DISC.
    grouped: Vec<usize>,
    /// By the steps before MULTI_EXIT_DISC, then by those after it.
    by_later_steps: Vec<usize>,
    /// The places in both of the routes that tie before MULTI_EXIT_DISC, the best first.
    ties: Vec<Range<usize>>,
    /// The neighbouring AS and MULTI_EXIT_DISC of each route.
    meds: Vec<(u32, u32)>,
}

impl Order {
    fn of(decision: &Decision<'_>, routes: &[&Route]) -> Self {
        let med = |route: &&Route| {
            let neighbour_as = decision.summary(route).neighbour_as;
            (neighbour_as, decision.multi_exit_disc(route))
        };
        let mut grouped: Vec<usize> = (0..routes.len()).collect();
        grouped.sort_by(|a, b| decision.compare_grouped(routes[*a], routes[*b]));
        let is_tie =
            |a: &usize, b: &usize| decision.compare_early(routes[*a], routes[*b]).is_none();
        let mut by_later_steps = grouped.clone();
        let mut ties = Vec::new();
        for tied in by_later_steps.chunk_by_mut(is_tie) {
            let start = ties.last().map_or(0, |last: &Range<usize>| last.end);
            ties.push(start..start + tied.len());
            tied.sort_by(|a, b| decision.break_tie(routes[*a], routes[*b]).0);
        }
        Order {
            grouped,
            by_later_steps,
            ties,
            meds: routes.iter().map(med).collect(),
        }
    }
}

/// The choice of each client's best routes, one after the other.
struct Choice<C> {
    order: Order,
    /// The clients that may receive each route and have not been given it.
    left: Vec<C>,
    /// Of the clients that are given a route next, those for whom each route has survived MULTI_EXIT_DISC.
    survivors: Vec<C>,
    chosen: Vec<C>,
    comparisons: usize,
}

impl<C: ClientSet> Choice<C> {
    /// Gives each of these clients the best route that is left for it. Returns those that were given one.
    fn next_path(&mut self, clients: C) -> C {
        let mut unserved = clients.clone();
        for tie in 0..self.order.ties.len() {
            let tie = self.order.ties[tie].clone();
            self.find_survivors(tie.clone(), &unserved);
            for at in &self.order.by_later_steps[tie] {
                let to = std::mem::take(&mut self.survivors[*at]).and(&unserved);
                if to.is_empty() {
                    continue;
                }
                unserved = unserved.minus(&to);
                self.left[*at] = std::mem::take(&mut self.left[*at]).minus(&to);
                self.chosen[*at].extend(&to);
            }
            if unserved.is_empty() {
                break;
            }
        }
        clients.minus(&unserved)
    }

    /// Finds the routes of a tie that no other beats by MULTI_EXIT_DISC, for each of these clients.
    fn find_survivors(&mut self, tie: Range<usize>, clients: &C) {
        let meds = &self.order.meds;
        let is_one_as = |a: &usize, b: &usize| meds[*a].0 == meds[*b].0;
        let is_one_med = |a: &usize, b: &usize| meds[*a] == meds[*b];
        for of_as in self.order.grouped[tie].chunk_by(is_one_as) {
            let mut others = clients.clone();
            for of_med in of_as.chunk_by(is_one_med) {
                for at in of_med {
                    if self.left[*at].is_empty() {
                        continue;
                    }
                    self.comparisons += COMPARISONS_PER_CHOICE;
                    self.survivors[*at] = others.clone().and(&self.left[*at]);
                }
                for at in of_med {
                    others = others.minus(&self.left[*at]);
                }
                if others.is_empty() {
                    break;
                }
            }
        }
    }
}
