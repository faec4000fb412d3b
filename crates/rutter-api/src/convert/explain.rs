//! Converts an explanation into a row.

use rutter_rib::{Candidate, ClientVerdict, Explanation, Withheld};

use super::{
    Sources, attributes_row, finding_row, is_locally_originated, origin_state, path_state,
    reject_row,
};
use crate::{CandidateRow, ClientRow, ExplainRow, RouteRow, WithheldReasonRow, WithheldRow};

/// Converts an explanation. Ranks count from 1.
pub(crate) fn explain_row(explanation: &Explanation, sources: &Sources<'_>) -> ExplainRow {
    let candidate = |(i, c)| candidate_row(explanation, i, c, sources);
    ExplainRow {
        prefix: explanation.prefix,
        candidates: explanation
            .candidates
            .iter()
            .enumerate()
            .map(candidate)
            .collect(),
        clients: explanation
            .clients
            .iter()
            .map(|verdict| client_row(verdict, sources))
            .collect(),
    }
}

/// Converts the reason why a client is not sent a route. `rule` describes the rule of an export filter.
pub(crate) fn withheld_row(why: Withheld, rule: Option<String>) -> WithheldReasonRow {
    WithheldReasonRow {
        name: why.name().to_owned(),
        explanation: rule.unwrap_or_else(|| why.to_string()),
    }
}

fn candidate_row(
    explanation: &Explanation,
    index: usize,
    candidate: &Candidate,
    sources: &Sources<'_>,
) -> CandidateRow {
    CandidateRow {
        rank: index + 1,
        route: RouteRow {
            prefix: explanation.prefix,
            peer: sources.row(candidate.peer),
            path_id: (candidate.path_id != 0).then_some(candidate.path_id),
            best: index == 0 && candidate.reject.is_none(),
            stale: candidate.stale,
            long_lived_stale: false,
            locally_originated: is_locally_originated(
                sources.get(candidate.peer),
                &candidate.attrs,
            ),
            rejected: candidate.reject.map(reject_row),
            origin_state: origin_state(candidate.class),
            path_state: path_state(candidate.class),
            accepted_in_spite_of: candidate.class.failed.map(reject_row),
            attributes: attributes_row(&candidate.attrs),
        },
        lost_at: candidate.lost_at.map(|step| step.to_string()),
        findings: candidate.findings.iter().map(finding_row).collect(),
        filter_changes: candidate.filter_changes.clone(),
    }
}

fn client_row(verdict: &ClientVerdict, sources: &Sources<'_>) -> ClientRow {
    ClientRow {
        client: sources.row(verdict.peer),
        advertised: verdict.receives.iter().map(|index| index + 1).collect(),
        withheld: verdict
            .skipped
            .iter()
            .map(|(index, why)| WithheldRow {
                rank: index + 1,
                why: {
                    let filtered = verdict.filtered.iter().find(|(at, _)| at == index);
                    filtered.map_or_else(|| why.to_string(), |(_, evidence)| evidence.clone())
                },
            })
            .collect(),
    }
}
