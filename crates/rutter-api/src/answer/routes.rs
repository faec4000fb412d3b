//! Answers requests for lists of routes, directly from a snapshot.

use std::collections::HashMap;

use rutter_net::Prefix;
use rutter_rib::{AttrSet, RouteView, Snapshot};

use super::page_cursor::PageCursor;
use super::page_time::PageTime;
use super::route_conditions::Filter;
use super::{Failure, RowWriter};
use crate::convert::{Sources, attributes_row, findings_of, route_row};
use crate::{AttributeSetRow, Backend, Done, Line, RejectedRow, RouteFilter};

/// Sends the routes that match.
pub(super) fn routes(
    backend: &dyn Backend,
    filter: &RouteFilter,
    rows: &mut RowWriter<'_>,
) -> Result<Done, Failure> {
    let snapshot = backend.snapshot();
    let sources = Sources::new(snapshot.peers());
    each(backend, &snapshot, filter, rows, |prefix, route, best| {
        Line::Route(Box::new(route_row(prefix, route, best, &sources)))
    })
}

/// Sends the rejected routes that match, with all reasons.
pub(super) fn rejected(
    backend: &dyn Backend,
    filter: &RouteFilter,
    rows: &mut RowWriter<'_>,
) -> Result<Done, Failure> {
    let snapshot = backend.snapshot();
    let sources = Sources::new(snapshot.peers());
    let filter = RouteFilter {
        rejected: true,
        ..filter.clone()
    };
    each(backend, &snapshot, &filter, rows, |prefix, route, _| {
        Line::Rejected(Box::new(RejectedRow {
            findings: sources
                .get(route.peer)
                .map(|peer| findings_of(snapshot.outside_data(), peer, prefix, route.attrs))
                .unwrap_or_default(),
            route: route_row(prefix, route, false, &sources),
        }))
    })
}

/// Iterates over the snapshot and sends a line for each route that matches, up to the limit or the end of the page.
fn each(
    backend: &dyn Backend,
    snapshot: &Snapshot,
    wanted: &RouteFilter,
    rows: &mut RowWriter<'_>,
    mut line: impl FnMut(Prefix, &RouteView<'_>, bool) -> Line,
) -> Result<Done, Failure> {
    let filter = Filter::new(wanted, snapshot.peers())?;
    let limit = wanted.limit.unwrap_or(u64::MAX);
    let pages = wanted.after.as_deref();
    let start = PageCursor::parse(pages.unwrap_or_default())?;
    let mut time = PageTime::start(backend, rows);
    let families = filter.families();
    for family in families.filter(|family| filter.can_match(*family)) {
        let Some(first) = start.start(family) else {
            continue;
        };
        for (place, destination) in snapshot.destinations_from(family, first) {
            let is_wanted = filter.wants(destination.prefix);
            let has_routes = || destination.routes().next().is_some();
            let is_full = is_wanted && rows.count() >= limit && has_routes();
            if pages.is_some() && (is_full || time.is_over()) {
                let next = PageCursor { family, place };
                return Ok(Done {
                    next: Some(next.to_string()),
                    ..done(rows, true)
                });
            }
            if !is_wanted {
                continue;
            }
            for (i, route) in destination.routes().enumerate() {
                let best = i == 0 && route.reject.is_none();
                if !filter.matches(&route, best) {
                    continue;
                }
                if pages.is_none() && rows.count() == limit {
                    return Ok(done(rows, true));
                }
                rows.send(&line(destination.prefix, &route, best))?;
            }
        }
    }
    Ok(done(rows, false))
}

/// Sends the distinct attribute sets, the most used first. Needs a small entry per distinct set.
pub(super) fn attribute_sets(
    backend: &dyn Backend,
    limit: Option<u64>,
    rows: &mut RowWriter<'_>,
) -> Result<Done, Failure> {
    let snapshot = backend.snapshot();
    let mut sets = count_sets(&snapshot);
    sets.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (set, count) in &sets {
        if Some(rows.count()) == limit {
            return Ok(done(rows, true));
        }
        rows.send(&Line::AttributeSet(Box::new(AttributeSetRow {
            routes: *count,
            bytes: set.block().len() as u64,
            attributes: attributes_row(set),
        })))?;
    }
    Ok(done(rows, false))
}

/// Counts the routes of each attribute set. Interned sets are equal if and only if their blocks have the same address.
fn count_sets(snapshot: &Snapshot) -> Vec<(AttrSet, u64)> {
    let mut sets: HashMap<usize, (AttrSet, u64)> = HashMap::new();
    for page in 0..snapshot.pages() {
        snapshot.visit_page(page, |_, _, route| {
            let address = route.attrs.block().as_ptr() as usize;
            let set = sets.entry(address);
            set.or_insert_with(|| (route.attrs.clone(), 0)).1 += 1;
        });
    }
    sets.into_values().collect()
}

fn done(rows: &RowWriter<'_>, truncated: bool) -> Done {
    Done {
        rows: rows.count(),
        truncated,
        ..Done::default()
    }
}
