//! Attribute sets as rows name them: as columns already, or as they stand in the table.

use std::sync::Arc;

use rutter_events::AttrColumns;
use rutter_rib::AttrSet;

/// A set that rows share.
pub(crate) enum RowAttrs {
    /// Of an event.
    Event(Arc<AttrColumns>),
    /// Of a route of the table: its columns are needed once, and not kept.
    Table(AttrSet),
}

impl RowAttrs {
    /// Its columns.
    pub fn with<T>(&self, with: impl FnOnce(&AttrColumns) -> T) -> T {
        match self {
            RowAttrs::Event(columns) => with(columns),
            RowAttrs::Table(set) => with(&AttrColumns::of(set)),
        }
    }
}
