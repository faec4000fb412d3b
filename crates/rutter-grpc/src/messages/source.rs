//! Sources of outside data.

use rutter_api::SourceRow;

use crate::v1;

impl From<SourceRow> for v1::Source {
    fn from(row: SourceRow) -> Self {
        let SourceRow {
            name,
            location,
            state,
            entries,
            updated_at,
            age_s,
            detail,
            last_error,
            refused,
        } = row;
        v1::Source {
            name,
            location,
            state,
            entries,
            updated_at,
            age_s,
            detail,
            last_error,
            refused,
        }
    }
}
