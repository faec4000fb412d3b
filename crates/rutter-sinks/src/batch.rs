//! The contents of one transaction.

use std::collections::HashMap;
use std::sync::Arc;

use rutter_events::AttrColumns;
use rutter_net::{PerFamily, Prefix};

use crate::block::Entry;
use crate::peer::StoredPeer;
use crate::spool::Position;

/// The rows of some blocks, and the changes to the table of current routes that follow from them.
#[derive(Debug, Default)]
pub struct Batch {
    /// The position after the last row; committed together with the rows.
    pub end: Position,
    /// All rows as events, with their run and numbers.
    pub rows: Vec<(Position, Entry)>,
    /// All peers that the rows and changes refer to.
    pub peers: Vec<Arc<StoredPeer>>,
    /// The sessions that came up or went down, in order.
    pub peer_changes: Vec<PeerChange>,
    /// Peers whose routes are removed before the changes apply, with the families that are removed.
    pub cleared: Vec<(Arc<StoredPeer>, PerFamily<bool>)>,
    /// The last change of each route. Peers that are being loaded have no entries here.
    pub changes: HashMap<(usize, Prefix, u32), Change>,
}

/// The last change of a route.
#[derive(Clone, Debug)]
pub struct Change {
    /// The time of the change, in microseconds since 1970.
    pub time_us: u64,
    /// The new attributes; `None` for a withdrawn route.
    pub attrs: Option<Arc<AttrColumns>>,
}

/// A session that came up or went down.
#[derive(Clone, Debug)]
pub struct PeerChange {
    /// The peer of the session.
    pub peer: Arc<StoredPeer>,
    /// True if the session is up now.
    pub up: bool,
    /// The time of the change, in microseconds since 1970.
    pub time_us: u64,
    /// The reason why the session went down.
    pub detail: Box<str>,
}

impl PeerChange {
    /// The stored form of the state: `up` or `down`.
    pub(crate) fn state(&self) -> &'static str {
        if self.up { "up" } else { "down" }
    }
}

impl Batch {
    /// The wall time of the last row, if there are rows.
    pub fn last_us(&self) -> Option<u64> {
        self.rows.last().map(|(_, last)| last.time_us)
    }

    /// Returns whether a commit would change nothing.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}
