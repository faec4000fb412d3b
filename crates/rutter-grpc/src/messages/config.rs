//! Configurations: their differences and their history.

use rutter_api::{ApplyOrder, ChangedRow, DiffRow, HistoryRow, ResetByRow};
use tonic::Status;

use super::{required, string, strings};
use crate::v1;

/// Returns the order to put a configuration in force.
pub(crate) fn apply_order(message: v1::ApplyRequest) -> Result<ApplyOrder, Status> {
    let v1::ApplyRequest {
        file,
        confirm_s,
        max_loss,
    } = message;
    Ok(ApplyOrder {
        text_bytes: None,
        text: None,
        file: required("file", file)?.into(),
        confirm_s,
        max_loss,
    })
}

impl From<DiffRow> for v1::ConfigDiff {
    fn from(row: DiffRow) -> Self {
        let DiffRow {
            added,
            removed,
            changed,
            checks,
            communities,
            dynamic_neighbors,
            needs_restart,
            other,
        } = row;
        v1::ConfigDiff {
            added: strings(added),
            removed: strings(removed),
            changed: changed.into_iter().map(Into::into).collect(),
            checks,
            communities,
            dynamic_neighbors,
            needs_restart,
            other,
        }
    }
}

impl From<ChangedRow> for v1::ChangedNeighbor {
    fn from(row: ChangedRow) -> Self {
        let ChangedRow {
            neighbor,
            keys,
            needs_session_reset,
            reset_by,
            ends_session,
        } = row;
        v1::ChangedNeighbor {
            neighbor: string(neighbor),
            keys,
            needs_session_reset,
            reset_by: reset_by.into_iter().map(Into::into).collect(),
            ends_session,
        }
    }
}

impl From<ResetByRow> for v1::ResetBy {
    fn from(row: ResetByRow) -> Self {
        let ResetByRow { key, reason } = row;
        v1::ResetBy { key, reason }
    }
}

impl From<HistoryRow> for v1::HistoryEntry {
    fn from(row: HistoryRow) -> Self {
        let HistoryRow {
            number,
            unix_s,
            by,
            action,
            running,
            goes_back_in_s,
        } = row;
        v1::HistoryEntry {
            number,
            unix_s,
            by,
            action,
            running,
            goes_back_in_s,
        }
    }
}
