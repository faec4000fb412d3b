//! What one transaction does.

use std::collections::HashMap;
use std::sync::Arc;

use rutter_events::AttrColumns;
use rutter_net::Prefix;

use crate::block::Entry;
use crate::peer::StoredPeer;
use crate::spool::Position;

/// The rows of some blocks, and what they amount to in the table of current routes.
#[derive(Debug, Default)]
pub struct Batch {
    /// Behind its last row; committed together with the rows.
    pub end: Position,
    /// The rows with their run and numbers: all that happened.
    pub rows: Vec<(Position, Entry)>,
    /// All peers that rows and changes name.
    pub peers: Vec<Arc<StoredPeer>>,
    /// What is new about peers, in order.
    pub peer_changes: Vec<PeerChange>,
    /// Routes to be removed before the changes apply: those of a peer, per family.
    pub cleared: Vec<(Arc<StoredPeer>, [bool; 2])>,
    /// The last word on each route that was named. Nothing here is of a peer that is being loaded.
    pub changes: HashMap<(usize, Prefix, u32), Change>,
}

/// The last word on a route.
#[derive(Clone, Debug)]
pub struct Change {
    /// When, in microseconds since 1970.
    pub time_us: u64,
    /// Its attributes; `None`: it is gone.
    pub attrs: Option<Arc<AttrColumns>>,
}

/// A session came or went.
#[derive(Clone, Debug)]
pub struct PeerChange {
    /// Whose.
    pub peer: Arc<StoredPeer>,
    /// Whether it is up now.
    pub up: bool,
    /// When, in microseconds since 1970.
    pub time_us: u64,
    /// Why it ended.
    pub detail: Box<str>,
}

impl PeerChange {
    /// As it is stored: `up` or `down`.
    pub(crate) fn state(&self) -> &'static str {
        if self.up { "up" } else { "down" }
    }
}

impl Batch {
    /// Wall time of its last row, where it has rows.
    pub fn last_us(&self) -> Option<u64> {
        self.rows.last().map(|(_, last)| last.time_us)
    }

    /// Whether a commit would do nothing.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}
