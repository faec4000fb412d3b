//! What a database or a broker must be able to do.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::batch::Batch;
use crate::peer::StoredPeer;
use crate::spool::Position;
use crate::table_load::LoadRow;

/// Why a store did not do what it was asked to; it is tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError(pub String);

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StoreError {}

/// Nothing came back in time.
pub(crate) fn no_answer(what: &str, waited: Duration) -> StoreError {
    StoreError(format!("{what}: no answer in {} s", waited.as_secs()))
}

/// Nothing came back for as long as the configuration allows.
pub(crate) fn hangs(what: &str) -> StoreError {
    StoreError(format!(
        "{what}: no answer within `answer-timeout`: the server hangs, or is busy for longer than that"
    ))
}

/// What a store has when it is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreProgress {
    /// How far the rows go that are committed; `None` where it knows of none.
    pub position: Option<Position>,
    /// Wall time of the last of them in microseconds since 1970, where that is known.
    pub time_us: Option<u64>,
    /// How far it was before it lost that, where we know it and it does not.
    pub lost_position: Option<Position>,
}

/// What a load replaces.
#[derive(Clone, Debug)]
pub struct Load {
    /// All routes of the collector, or only those of the peers below.
    pub all: bool,
    /// The peers whose routes follow, and whether their sessions are up.
    pub peers: Vec<(bool, Arc<StoredPeer>)>,
    /// Up to which row the state holds at least.
    pub position: Position,
    /// Wall time of the snapshot, microseconds since 1970.
    pub time_us: u64,
}

/// The next piece of a load.
pub type RowChunks<'p> = dyn FnMut() -> Option<Vec<LoadRow>> + 'p;

/// A database or a broker. After a [`StoreError`] it is opened again before anything else.
pub trait Store {
    /// Connects, brings the schema up to date, keeps other writers of the same collector out, and says how far the
    /// rows go that are committed.
    fn open(&mut self) -> Result<StoreProgress, StoreError>;

    /// What is known of events that it acknowledged and does not have any more, though it knows no position: `None`
    /// where it has the last one, which is before `behind` and of that time.
    fn find_loss(&mut self, behind: Position, time_us: u64) -> Result<Option<String>, StoreError>;

    /// Writes a batch and its end, both or nothing. What was written of it before, in part or in whole, does no harm.
    fn write(&mut self, batch: &Batch) -> Result<(), StoreError>;

    /// Removes the routes that a load replaces.
    fn begin_load(&mut self, load: &Load) -> Result<(), StoreError>;

    /// Adds the routes of a load, piece by piece until there is none: sorted by peer, prefix and path identifier, each
    /// once.
    fn load(&mut self, load: &Load, chunks: &mut RowChunks<'_>) -> Result<(), StoreError>;

    /// The load is complete.
    fn end_load(&mut self, load: &Load) -> Result<(), StoreError>;

    /// Removes some events of this collector that happened before this time, in microseconds since 1970: so many that
    /// nobody waits for long. `true` where there may be more.
    fn expire(&mut self, before_us: u64) -> Result<bool, StoreError> {
        let _ = before_us;
        Ok(false)
    }

    /// Whether the store holds as many current routes as it was given: others may have added or removed some.
    fn has_expected_routes(&mut self) -> Result<bool, StoreError> {
        Ok(true)
    }

    /// Closes the connection, if there is one.
    fn close(&mut self);
}
