//! Explanations of destinations.

use rutter_api::{CandidateRow, ClientRow, ExplainRow, Request, WithheldRow};
use tonic::Status;

use super::{parse, required, string};
use crate::v1;

/// Returns the request for an explanation.
pub(crate) fn request(message: v1::ExplainRequest) -> Result<Request, Status> {
    let v1::ExplainRequest { target, what_if } = message;
    Ok(Request::Explain {
        target: required("target", target)?,
        what_if: what_if.map(assumed_route).transpose()?,
    })
}

fn assumed_route(message: v1::WhatIf) -> Result<rutter_api::WhatIf, Status> {
    let v1::WhatIf {
        from,
        as_path,
        communities,
        next_hop,
    } = message;
    let next_hop = next_hop.as_deref();
    Ok(rutter_api::WhatIf {
        from: required("what_if.from", from)?,
        as_path,
        communities,
        next_hop: next_hop
            .map(|text| parse("what_if.next_hop", text))
            .transpose()?,
    })
}

impl From<ExplainRow> for v1::Explanation {
    fn from(row: ExplainRow) -> Self {
        let ExplainRow {
            prefix,
            candidates,
            clients,
        } = row;
        v1::Explanation {
            prefix: string(prefix),
            candidates: candidates.into_iter().map(Into::into).collect(),
            clients: clients.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<CandidateRow> for v1::Candidate {
    fn from(row: CandidateRow) -> Self {
        let CandidateRow {
            rank,
            route,
            lost_at,
            findings,
            filter_changes,
        } = row;
        v1::Candidate {
            rank: rank_of(rank),
            route: Some(route.into()),
            lost_at,
            findings: findings.into_iter().map(Into::into).collect(),
            filter_changes,
        }
    }
}

impl From<ClientRow> for v1::ClientRoutes {
    fn from(row: ClientRow) -> Self {
        let ClientRow {
            client,
            advertised,
            withheld,
        } = row;
        v1::ClientRoutes {
            client: Some(client.into()),
            advertised: advertised.into_iter().map(rank_of).collect(),
            withheld: withheld.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<WithheldRow> for v1::WithheldCandidate {
    fn from(row: WithheldRow) -> Self {
        let WithheldRow { rank, why } = row;
        v1::WithheldCandidate {
            rank: rank_of(rank),
            why,
        }
    }
}

/// A destination has far fewer candidates than this can count.
fn rank_of(rank: usize) -> u32 {
    u32::try_from(rank).unwrap_or(u32::MAX)
}
