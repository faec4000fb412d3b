//! Answers the part of `diff` about routes.

use std::collections::BTreeMap;

use rutter_policy::{Class, RejectReason};
use rutter_rib::{PeerId, PreviewedRoute, Snapshot};

use super::{Failure, RowWriter};
use crate::convert::{Sources, reject_row};
use crate::{Backend, Done, LimitChangeRow, Line, RouteChangeRow, RouteChangesRow};

/// The number of routes whose verdict changes.
#[derive(Clone, Copy, Default)]
struct Counts {
    accepted: u64,
    rejected: u64,
    changed: u64,
}

impl Counts {
    fn add(&mut self, route: &PreviewedRoute) {
        match (route.before, route.after) {
            (Ok(_), None | Some(Err(_))) => self.rejected += 1,
            (Err(_), Some(Ok(_))) => self.accepted += 1,
            _ => self.changed += 1,
        }
    }
}

/// Sends the limits that change, the counts of each neighbor whose routes are concerned, then up to `limit` routes.
pub(super) fn send(
    backend: &dyn Backend,
    (preview, limits): (
        impl FnOnce(&Snapshot, &mut dyn FnMut(PreviewedRoute)) -> Result<(), String>,
        impl FnOnce() -> Result<Vec<LimitChangeRow>, String>,
    ),
    limit: u64,
    rows: &mut RowWriter<'_>,
) -> Result<Done, Failure> {
    let snapshot = backend.snapshot();
    let mut counts: BTreeMap<PeerId, Counts> = BTreeMap::new();
    let mut listed = Vec::new();
    let mut note = |route: PreviewedRoute| {
        counts.entry(route.peer).or_default().add(&route);
        if (listed.len() as u64) < limit.min(MAX_LISTED) {
            listed.push(route);
        }
    };
    preview(&snapshot, &mut note).map_err(Failure::Refused)?;
    for row in limits().map_err(Failure::Refused)? {
        rows.send(&Line::LimitChange(Box::new(row)))?;
    }
    let sources = Sources::new(snapshot.peers());
    for (peer, of_peer) in counts {
        rows.send(&Line::RouteChanges(Box::new(RouteChangesRow {
            peer: sources.row(peer),
            accepted: of_peer.accepted,
            rejected: of_peer.rejected,
            changed: of_peer.changed,
        })))?;
    }
    for route in listed {
        rows.send(&Line::RouteChange(Box::new(row(&route, &sources))))?;
    }
    Ok(Done {
        rows: rows.count(),
        message: Some(COVERS.to_owned()),
        ..Done::default()
    })
}

/// The parts of a change that the counts leave out.
const COVERS: &str = "Not in these numbers: action communities and the effect of prefix limits. Other sources of data were not asked: \
    the data in force count.";

/// The most routes in one answer; they are collected before they are sent.
const MAX_LISTED: u64 = 1_000_000;

fn row(route: &PreviewedRoute, sources: &Sources<'_>) -> RouteChangeRow {
    let reason = |verdict: Result<Class, RejectReason>| verdict.err().map(reject_row);
    RouteChangeRow {
        peer: sources.row(route.peer),
        prefix: route.prefix,
        rejected_before: reason(route.before),
        rejected_after: route.after.and_then(reason),
        neighbor_removed: route.after.is_none(),
    }
}
