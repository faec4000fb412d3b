//! The latest events, kept in memory for the table `events`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use rutter_events::{AttrColumns, Kind, Peer, Row};
use rutter_net::Prefix;

/// An event. Events share their peer and attributes.
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

/// The latest events. Clones share the log. A full log drops its oldest events; archives keep the whole history.
#[derive(Clone, Debug)]
pub struct EventLog {
    log: Arc<Mutex<Log>>,
    capacity: usize,
    memory: usize,
}

#[derive(Debug, Default)]
struct Log {
    events: VecDeque<Event>,
    /// The bytes of all events, as if each shared its attributes with the event before it only.
    octets: usize,
}

impl Log {
    fn add(&mut self, event: Event) {
        self.octets += event.octets(self.events.back());
        self.events.push_back(event);
    }

    /// Drops the first event. The event after it is now charged for the attributes that both shared.
    fn drop_first(&mut self) {
        let Some(first) = self.events.pop_front() else {
            return;
        };
        let shared = self.events.front();
        let kept = shared.map_or(0, |next| next.octets(None) - next.octets(Some(&first)));
        self.octets = (self.octets + kept).saturating_sub(first.octets(None));
    }
}

impl Event {
    /// The bytes of the event, without the attributes that it shares with the event before.
    fn octets(&self, before: Option<&Event>) -> usize {
        let attrs = self.attrs.as_ref();
        let is_same = |before: &Event| {
            let pair = before.attrs.as_ref().zip(attrs);
            pair.is_some_and(|(before, own)| Arc::ptr_eq(before, own))
        };
        let attrs = attrs.filter(|_| !before.is_some_and(is_same));
        size_of::<Self>() + self.detail.len() + attrs.map_or(0, |attrs| attrs.octets())
    }
}

impl EventLog {
    /// An empty log with at most this many events and bytes.
    pub fn new(capacity: usize, memory: usize) -> Self {
        Self {
            log: Arc::default(),
            capacity,
            memory,
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
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.add(event);
        while log.events.len() > self.capacity.max(1)
            || log.octets > self.memory && log.events.len() > 1
        {
            log.drop_first();
        }
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.events.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use rutter_net::Community;
    use rutter_wire::attr::Attributes;

    use super::*;

    /// A peer decides how long its attributes are.
    #[test]
    fn fewer_long_events_are_kept() {
        let log = EventLog::new(1_000, 1 << 20);
        let long = |number: u32| {
            let mut attrs = AttrColumns::new(&Attributes::from_canonical(&[]), None);
            attrs.communities = vec![Community(number); 10_000];
            Arc::new(attrs)
        };
        let push = |seq, attrs: &Arc<AttrColumns>| {
            log.push(&Row {
                run: 1,
                seq,
                time_us: 0,
                collector: "",
                peer: None,
                kind: Kind::Announce,
                prefix: None,
                path_id: 0,
                attrs: Some(attrs),
                detail: "",
            });
        };
        for seq in 0..100 {
            push(seq, &long(seq as u32));
        }
        let kept = log.events();
        assert!((20..27).contains(&kept.len()), "{}", kept.len());
        assert_eq!(kept.last().map(|event| event.seq), Some(99));
        // Events that share their attributes are short.
        let shared = long(0);
        for seq in 100..1_200 {
            push(seq, &shared);
        }
        assert_eq!(log.events().len(), 1_000);
        let counted = log.log.lock().unwrap().octets;
        assert!((40_000..400_000).contains(&counted), "{counted}");
    }
}
