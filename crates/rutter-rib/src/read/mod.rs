//! The table for readers: snapshots, the change feed, the change log, explanations, exports and their counts, look-ups by address, memory in use.

pub(crate) mod change_log;
pub(crate) mod explain;
pub(crate) mod export_counts;
pub(crate) mod exports;
pub(crate) mod feed;
pub(crate) mod feed_batch;
pub(crate) mod lookup;
pub(crate) mod memory;
pub(crate) mod preview;
pub(crate) mod snapshot;
pub(crate) mod station_view;
