//! The latest events, kept in memory for the table `events`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use rutter_events::{AttrColumns, Kind, Peer, Row};
use rutter_net::Prefix;

/// One event, sharing what it has in common with others.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub run: u64,
    pub seq: u64,
    pub time_us: u64,
    pub peer: Option<Arc<Peer>>,
    pub kind: Kind,
    pub prefix: Option<Prefix>,
    pub path_id: u32,
    pub attrs: Option<Arc<AttrColumns>>,
    pub detail: Box<str>,
}

/// The latest events; clones are the same log. The oldest go when it is full: the whole history is in archives.
#[derive(Clone, Debug)]
pub struct EventLog {
    events: Arc<Mutex<VecDeque<Event>>>,
    capacity: usize,
}

impl EventLog {
    /// An empty log that holds this many events.
    pub fn new(capacity: usize) -> Self {
        Self {
            events: Arc::default(),
            capacity,
        }
    }

    /// Adds an event.
    pub fn push(&self, row: &Row<'_>) {
        let event = Event {
            run: row.run,
            seq: row.seq,
            time_us: row.time_us,
            peer: row.peer.cloned(),
            kind: row.kind,
            prefix: row.prefix,
            path_id: row.path_id,
            attrs: row.attrs.cloned(),
            detail: row.detail.into(),
        };
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        while events.len() >= self.capacity.max(1) {
            events.pop_front();
        }
        events.push_back(event);
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.iter().cloned().collect()
    }
}
