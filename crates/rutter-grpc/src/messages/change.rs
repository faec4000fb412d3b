//! Changes of the table.

use rutter_api::{Change, ChangeFilter, ChangeRow, ChangedRoute, ChangesQuery, VerdictRow};
use tonic::Status;

use super::{parse, string};
use crate::v1;
use crate::v1::change::Kind;

/// Returns the changes that a client wants.
pub(crate) fn query(message: v1::WatchChangesRequest) -> Result<ChangesQuery, Status> {
    let v1::WatchChangesRequest {
        peer,
        within,
        kinds,
        after,
    } = message;
    let within = within.as_deref();
    Ok(ChangesQuery {
        filter: ChangeFilter {
            peer,
            within: within.map(|text| parse("within", text)).transpose()?,
            kinds,
        },
        after,
    })
}

impl From<ChangeRow> for v1::Change {
    fn from(row: ChangeRow) -> Self {
        let ChangeRow {
            number,
            unix_us,
            change,
        } = row;
        v1::Change {
            number,
            unix_us,
            kind: Some(change.into()),
        }
    }
}

impl From<Change> for Kind {
    fn from(change: Change) -> Self {
        match change {
            Change::Announced {
                route,
                attributes,
                verdict,
            } => Kind::Announced(v1::Announced {
                route: Some(route.into()),
                attributes: Some(attributes.into()),
                verdict: Some(verdict.into()),
            }),
            Change::Withdrawn { route } => Kind::Withdrawn(v1::Withdrawn {
                route: Some(route.into()),
            }),
            Change::Verdict {
                route,
                before,
                after,
            } => Kind::Verdict(v1::VerdictChanged {
                route: Some(route.into()),
                before: Some(before.into()),
                after: Some(after.into()),
            }),
            Change::Best {
                prefix,
                before,
                after,
                attributes,
            } => Kind::Best(v1::BestChanged {
                prefix: string(prefix),
                before: before.map(Into::into),
                after: after.map(Into::into),
                attributes: attributes.map(Into::into),
            }),
            Change::SessionUp { peer } => Kind::SessionUp(v1::SessionUp {
                peer: Some(peer.into()),
            }),
            Change::SessionDown { peer, reason } => Kind::SessionDown(v1::SessionDown {
                peer: Some(peer.into()),
                reason,
            }),
        }
    }
}

impl From<ChangedRoute> for v1::ChangedRoute {
    fn from(row: ChangedRoute) -> Self {
        let ChangedRoute {
            prefix,
            peer,
            path_id,
        } = row;
        v1::ChangedRoute {
            prefix: string(prefix),
            peer: Some(peer.into()),
            path_id,
        }
    }
}

impl From<VerdictRow> for v1::Verdict {
    fn from(row: VerdictRow) -> Self {
        let VerdictRow {
            rejected,
            origin_state,
            path_state,
            accepted_in_spite_of,
        } = row;
        v1::Verdict {
            rejected: rejected.map(Into::into),
            origin_state,
            path_state,
            accepted_in_spite_of: accepted_in_spite_of.map(Into::into),
        }
    }
}
