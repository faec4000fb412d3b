//! Kafka: one topic, keys that compact to the current routes, and all of a peer in one partition.
//!
//! Written at least once: after a crash the rows behind the last position that was noted are sent again, with the same
//! run and number.

mod message;
mod partition;
mod session;
mod words;

use std::path::{Path, PathBuf};
use std::{fs, io};

use rutter_config::Broker;
use rutter_events::Kind;
use rutter_net::Family;

use crate::batch::Batch;
use crate::block::Entry;
use crate::spool::Position;
use crate::store::{Fault, Load, Pieces, Store};
pub use message::SCHEMA;
use message::{Message, family_name, part, peer_key, route_key};
use session::{Left, Session, record};

/// A topic of a cluster, written to as one collector.
pub struct Kafka {
    collector: String,
    settings: Broker,
    /// How far it is, since the cluster does not keep that for us.
    noted: PathBuf,
    /// Behind the last batch that was acknowledged and could not be noted: the disk may be full.
    unnoted: Option<Position>,
    /// How far each partition was when it was written to last; empty where that is not known.
    left: Vec<Left>,
    session: Option<Session>,
}

impl Kafka {
    /// Nothing is connected before [`Store::open`]. The position is noted in the folder of the spool.
    pub fn new(collector: &str, settings: Broker, folder: &Path) -> Self {
        Self {
            collector: collector.to_owned(),
            settings,
            noted: folder.join("kafka.position"),
            unnoted: None,
            left: Vec::new(),
            session: None,
        }
    }

    /// Run, number, and the ends of the partitions.
    fn position(&mut self) -> Result<Option<Position>, Fault> {
        if self.unnoted.is_some() {
            return Ok(self.unnoted);
        }
        let text = match fs::read_to_string(&self.noted) {
            Ok(text) => text,
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(why) => return Err(Fault(format!("{}: {why}", self.noted.display()))),
        };
        let words: Result<Vec<u64>, _> = text.split_whitespace().map(str::parse).collect();
        // Rows are sent again rather than lost.
        let [run, next_seq, ends @ ..] = words.as_deref().unwrap_or_default() else {
            return Ok(None);
        };
        if self.left.is_empty() {
            let left = |end: &u64| Left {
                end: *end as i64,
                row: None,
            };
            self.left = ends.iter().map(left).collect();
        }
        let (run, next_seq) = (*run, *next_seq);
        Ok(Some(Position { run, next_seq }))
    }

    /// What was acknowledged is not sent again by this process, also where it cannot be noted.
    fn note(&mut self, position: Position) {
        let new = self.noted.with_extension("new");
        let mut text = format!("{} {}", position.run, position.next_seq);
        for left in &self.left {
            text += &format!(" {}", left.end);
        }
        text.push('\n');
        let written = fs::write(&new, text).and_then(|()| fs::rename(&new, &self.noted));
        let before = self.unnoted.take();
        if let Err(why) = written {
            if before.is_none() {
                let file = self.noted.display();
                tracing::warn!(%file, %why, "the position cannot be noted: after a restart rows are sent again");
            }
            self.unnoted = Some(position);
        }
    }

    fn put(
        &mut self,
        session: &mut Session,
        by: &str,
        key: String,
        value: Option<Vec<u8>>,
        time_us: u64,
    ) -> Result<(), Fault> {
        let index = partition::of(by.as_bytes(), session.partitions());
        session.put(index, record(key, value, time_us))
    }

    /// Into every partition: what concerns all peers.
    fn put_everywhere(
        &mut self,
        session: &mut Session,
        key: &str,
        value: &[u8],
        time_us: u64,
    ) -> Result<(), Fault> {
        (0..session.partitions()).try_for_each(|index| {
            session.put(index, record(key.to_owned(), Some(value.to_vec()), time_us))
        })
    }

    fn put_event(
        &mut self,
        session: &mut Session,
        behind: Position,
        entry: &Entry,
    ) -> Result<(), Fault> {
        let collector = self.collector.clone();
        let value = Message::event(&collector, behind, entry).json();
        let Some(peer) = &entry.peer else {
            let key = format!("{}|{}", part(&collector), entry.kind.name());
            return self.put_everywhere(session, &key, &value, entry.time_us);
        };
        let own = peer_key(&collector, &peer.key);
        let Some(prefix) = entry.prefix else {
            let key = format!("{own}|{}", entry.kind.name());
            self.put(session, &own, key, Some(value), entry.time_us)?;
            return self.clear_families(session, behind, entry);
        };
        let key = route_key(&own, prefix, entry.path_id);
        self.put(session, &own, key.clone(), Some(value), entry.time_us)?;
        if entry.kind == Kind::Withdraw && self.settings.tombstones {
            self.put(session, &own, key, None, entry.time_us)?;
        }
        Ok(())
    }

    /// The routes of families that a session does not leave behind are gone with it.
    fn clear_families(
        &mut self,
        session: &mut Session,
        behind: Position,
        entry: &Entry,
    ) -> Result<(), Fault> {
        let (Some(peer), Kind::PeerDown { retained }) = (&entry.peer, entry.kind) else {
            return Ok(());
        };
        let collector = self.collector.clone();
        for family in Family::ALL
            .into_iter()
            .filter(|family| !retained[family.index()])
        {
            let of = Some((&**peer, family));
            let at = Position {
                next_seq: behind.next_seq.saturating_sub(1),
                ..behind
            };
            let value = Message::clear(&collector, at, entry.time_us, of).json();
            let own = peer_key(&collector, &peer.key);
            let key = format!("{own}|clear|{}", family_name(family));
            self.put(session, &own, key, Some(value), entry.time_us)?;
        }
        Ok(())
    }

    /// Does something with the session; after a fault it is gone.
    fn with<T>(
        &mut self,
        act: impl FnOnce(&mut Self, &mut Session) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let mut session = self
            .session
            .take()
            .ok_or_else(|| Fault("not connected".into()))?;
        let done = act(self, &mut session);
        self.left = session.left();
        let done = done?;
        self.session = Some(session);
        Ok(done)
    }
}

impl Store for Kafka {
    fn open(&mut self) -> Result<Option<Position>, Fault> {
        let position = self.position()?;
        let mut session = Session::open(&self.settings)?;
        let kept = is_as_left(&self.left, &session.left());
        match kept {
            true => session.go_on(&self.left),
            false => session.go_on(&vec![Left::default(); self.left.len()]),
        }
        self.session = Some(session);
        Ok(position.filter(|_| kept))
    }

    fn write(&mut self, batch: &Batch) -> Result<(), Fault> {
        self.with(|kafka, session| {
            session.look(&kafka.settings.topic)?;
            for (behind, entry) in &batch.rows {
                session.begin_row(*behind);
                kafka.put_event(session, *behind, entry)?;
            }
            session.flush()
        })?;
        self.note(batch.end);
        Ok(())
    }

    fn begin_load(&mut self, load: &Load) -> Result<(), Fault> {
        self.with(|kafka, session| {
            let collector = kafka.collector.clone();
            if load.all {
                let value = Message::clear(&collector, load.position, load.time_us, None).json();
                return kafka.put_everywhere(
                    session,
                    &format!("{}|clear", part(&collector)),
                    &value,
                    load.time_us,
                );
            }
            for (_, peer) in &load.peers {
                let own = peer_key(&collector, &peer.key);
                for family in Family::ALL {
                    let of = Some((&**peer, family));
                    let value = Message::clear(&collector, load.position, load.time_us, of).json();
                    let key = format!("{own}|clear|{}", family_name(family));
                    kafka.put(session, &own, key, Some(value), load.time_us)?;
                }
            }
            Ok(())
        })
    }

    fn load(&mut self, load: &Load, pieces: &mut Pieces<'_>) -> Result<(), Fault> {
        self.with(|kafka, session| {
            let collector = kafka.collector.clone();
            while let Some(rows) = pieces() {
                for row in &rows {
                    let own = peer_key(&collector, &row.peer.key);
                    let route = (row.prefix, row.path_id, &*row.attrs);
                    let message =
                        Message::state(&collector, load.position, load.time_us, &row.peer, route);
                    let key = route_key(&own, row.prefix, row.path_id);
                    kafka.put(session, &own, key, Some(message.json()), load.time_us)?;
                }
            }
            Ok(())
        })
    }

    fn end_load(&mut self, _: &Load) -> Result<(), Fault> {
        self.with(|_, session| session.flush())
    }

    fn close(&mut self) {
        self.session = None;
    }
}

/// Whether a topic whose partitions are so far holds what was acknowledged, and peers are where they were: one that was made
/// anew does not, nor one with other partitions.
fn is_as_left(left: &[Left], now: &[Left]) -> bool {
    let holds = left.iter().zip(now).all(|(left, now)| left.end <= now.end);
    left.is_empty() || left.len() == now.len() && holds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_acknowledged_is_known_without_a_disk() {
        let settings = Broker {
            brokers: vec!["127.0.0.1:9".into()],
            topic: "rutter".into(),
            tombstones: false,
            answer_timeout_s: 1,
        };
        let mut kafka = Kafka::new("here", settings, Path::new("/dev/full"));
        let position = Position {
            run: 7,
            next_seq: 9,
        };
        kafka.note(position);
        assert_eq!(kafka.position(), Ok(Some(position)));
    }

    #[test]
    fn a_topic_that_was_made_anew_or_has_other_partitions_is_not_as_it_was_left() {
        fn is(left: &[i64], now: &[i64]) -> bool {
            let of = |ends: &[i64]| -> Vec<Left> {
                ends.iter()
                    .map(|end| Left {
                        end: *end,
                        row: None,
                    })
                    .collect()
            };
            is_as_left(&of(left), &of(now))
        }
        assert!(is(&[], &[7, 0]));
        // Others write, too.
        assert!(is(&[7, 0], &[8, 3]));
        assert!(!is(&[7, 0], &[6, 3]));
        assert!(!is(&[7, 0], &[7, 0, 0]));
        assert!(!is(&[7, 0], &[7]));
    }
}
