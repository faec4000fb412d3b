//! The attribute sets of rows: columns of an event, or a set of the table.

use std::sync::Arc;

use rutter_events::AttrColumns;
use rutter_rib::AttrSet;

/// A set that rows share.
pub(crate) enum RowAttrs {
    /// The set of an event.
    Event(Arc<AttrColumns>),
    /// The set of a route of the table. Its columns are needed once, and are not kept.
    Table(AttrSet),
}

impl RowAttrs {
    /// Calls `with` with the columns.
    pub fn with<T>(&self, with: impl FnOnce(&AttrColumns) -> T) -> T {
        match self {
            RowAttrs::Event(columns) => with(columns),
            RowAttrs::Table(set) => with(&AttrColumns::of(set)),
        }
    }
}
