//! The interface of a database or a broker.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::batch::Batch;
use crate::peer::StoredPeer;
use crate::spool::Position;
use crate::table_load::LoadRow;

/// The reason why a store failed. The request is tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError(pub String);

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StoreError {}

/// An error for an answer that did not come in time.
pub(crate) fn no_answer(what: &str, waited: Duration) -> StoreError {
    StoreError(format!("{what}: no answer in {} s", waited.as_secs()))
}

/// An error for an answer that did not come within the configured timeout.
pub(crate) fn timeout_error(what: &str) -> StoreError {
    StoreError(format!(
        "{what}: no answer within `answer-timeout`: the server hangs, or is busy for longer than that"
    ))
}

/// The progress of a store when it is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreProgress {
    /// The position after the last committed row; `None` if the store has no position.
    pub position: Option<Position>,
    /// The wall time of the last committed row, in microseconds since 1970, if known.
    pub time_us: Option<u64>,
    /// The position that the store has lost, if we know it.
    pub lost_position: Option<Position>,
}

/// The routes that a load replaces.
#[derive(Clone, Debug)]
pub struct Load {
    /// True if the load replaces all routes of the collector; false for only those of the listed peers.
    pub all: bool,
    /// The peers to load, each with whether its session is up.
    pub peers: Vec<(bool, Arc<StoredPeer>)>,
    /// The loaded state contains at least all rows before this position.
    pub position: Position,
    /// The wall time of the snapshot, in microseconds since 1970.
    pub time_us: u64,
}

/// Returns the next chunk of a load.
pub type RowChunks<'p> = dyn FnMut() -> Option<Vec<LoadRow>> + 'p;

/// A database or a broker. After a [`StoreError`] it is opened again before anything else.
pub trait Store {
    /// Connects, updates the schema, keeps other writers of the same collector out, and returns the progress.
    fn open(&mut self) -> Result<StoreProgress, StoreError>;

    /// Describes acknowledged events that the store has lost together with its position. Returns `None` if it
    /// has the last event, which is before `behind` and has that time.
    fn find_loss(&mut self, behind: Position, time_us: u64) -> Result<Option<String>, StoreError>;

    /// Writes a batch and its end, both or nothing. Writing rows again that were stored before does no harm.
    fn write(&mut self, batch: &Batch) -> Result<(), StoreError>;

    /// Removes the routes that a load replaces.
    fn begin_load(&mut self, load: &Load) -> Result<(), StoreError>;

    /// Adds the routes of a load, chunk by chunk. They are sorted by peer, prefix and path identifier, and each
    /// occurs once.
    fn load(&mut self, load: &Load, chunks: &mut RowChunks<'_>) -> Result<(), StoreError>;

    /// Completes the load.
    fn end_load(&mut self, load: &Load) -> Result<(), StoreError>;

    /// Removes some events of this collector before a time in microseconds since 1970. The number is limited so
    /// that nobody waits for long. Returns `true` if there may be more.
    fn expire(&mut self, before_us: u64) -> Result<bool, StoreError> {
        let _ = before_us;
        Ok(false)
    }

    /// Returns whether the store holds as many current routes as were written. Others may have added or removed some.
    fn has_expected_routes(&mut self) -> Result<bool, StoreError> {
        Ok(true)
    }

    /// Closes the connection, if there is one.
    fn close(&mut self);
}
