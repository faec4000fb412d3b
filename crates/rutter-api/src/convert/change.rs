//! Converts changes of the table into rows.

use rutter_rib::{ChangedPeer, LoggedChange, RouteOutcome, TableChange};

use super::{attributes_row, origin_state, path_state, reject_row};
use crate::{Change, ChangeRow, ChangedRoute, RouteSource, VerdictRow};

/// Converts a change.
pub(crate) fn change_row(logged: &LoggedChange) -> ChangeRow {
    ChangeRow {
        number: logged.number,
        unix_us: logged.unix_us,
        change: change(&logged.change),
    }
}

fn change(change: &TableChange) -> Change {
    match change {
        TableChange::Announced {
            route,
            attrs,
            outcome,
        } => Change::Announced {
            route: changed_route(route),
            attributes: attributes_row(attrs),
            verdict: verdict_row(outcome),
        },
        TableChange::Withdrawn { route } => Change::Withdrawn {
            route: changed_route(route),
        },
        TableChange::Verdict {
            route,
            before,
            after,
        } => Change::Verdict {
            route: changed_route(route),
            before: verdict_row(before),
            after: verdict_row(after),
        },
        TableChange::Best {
            prefix,
            before,
            after,
        } => Change::Best {
            prefix: *prefix,
            before: before.as_ref().map(source),
            after: after.as_ref().map(|(peer, _)| source(peer)),
            attributes: after.as_ref().map(|(_, attrs)| attributes_row(attrs)),
        },
        TableChange::SessionUp { peer } => Change::SessionUp { peer: source(peer) },
        TableChange::SessionDown { peer, reason } => Change::SessionDown {
            peer: source(peer),
            reason: reason.to_string(),
        },
    }
}

fn changed_route(route: &rutter_rib::ChangedRoute) -> ChangedRoute {
    ChangedRoute {
        prefix: route.prefix,
        peer: source(&route.peer),
        path_id: (route.path_id != 0).then_some(route.path_id),
    }
}

fn source(peer: &ChangedPeer) -> RouteSource {
    RouteSource {
        name: peer.name.to_string(),
        address: peer.address,
        asn: peer.asn.0,
    }
}

fn verdict_row(outcome: &RouteOutcome) -> VerdictRow {
    match outcome {
        Err(reason) => VerdictRow {
            rejected: Some(reject_row(*reason)),
            ..VerdictRow::default()
        },
        Ok(class) => VerdictRow {
            rejected: None,
            origin_state: origin_state(*class),
            path_state: path_state(*class),
            accepted_in_spite_of: class.failed.map(reject_row),
        },
    }
}
