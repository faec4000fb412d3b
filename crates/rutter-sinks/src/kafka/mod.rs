//! Kafka: one topic, keys that compact to the current routes, and one partition for each peer.
//!
//! Messages are written at least once. After a crash, the rows after the last saved position are sent again
//! with the same run and number.

mod error_text;
mod message;
mod partitioner;
mod session;

use std::path::{Path, PathBuf};
use std::{fs, io};

use rutter_config::Broker;
use rutter_events::Kind;
use rutter_net::Family;

use crate::batch::Batch;
use crate::block::Entry;
use crate::spool::Position;
use crate::store::{Load, RowChunks, Store, StoreError, StoreProgress};
pub use message::SCHEMA;
use message::{Message, family_name, part, peer_key, route_key};
use session::{PartitionProgress, REQUEST, Session, record};

/// A topic of a cluster, written by one collector.
pub struct Kafka {
    sink: String,
    collector: String,
    settings: Broker,
    /// The file with our position, since the cluster does not store it for us.
    position_file: PathBuf,
    /// The position after the last acknowledged batch, if the topic holds it. The outer `None`: not checked
    /// yet.
    position: Option<Option<Position>>,
    /// The last attempt to save the position failed, for example because the disk is full.
    position_unsaved: bool,
    /// The end of each partition when it was last written to; empty if unknown.
    progress: Vec<PartitionProgress>,
    /// The acknowledged messages that the topic has lost.
    lost_messages: Option<String>,
    /// The request limit that was logged last.
    logged_limit: Option<(&'static str, usize)>,
    session: Option<Session>,
}

impl Kafka {
    /// Connects to nothing before [`Store::open`]. The position is saved in the folder of the spool.
    pub fn new(sink: &str, collector: &str, settings: Broker, folder: &Path) -> Self {
        Self {
            sink: sink.to_owned(),
            collector: collector.to_owned(),
            settings,
            position_file: folder.join("kafka.position"),
            position: None,
            position_unsaved: false,
            progress: Vec::new(),
            lost_messages: None,
            logged_limit: None,
            session: None,
        }
    }

    /// The position of the topic as far as we know it. The file is read once, since others may remove it.
    fn position(&mut self) -> Result<Option<Position>, StoreError> {
        let position = match self.position {
            Some(known) => known,
            None => self.read_position()?,
        };
        self.position = Some(position);
        Ok(position)
    }

    /// Reads run, number and the ends of the partitions.
    fn read_position(&mut self) -> Result<Option<Position>, StoreError> {
        let text = match fs::read_to_string(&self.position_file) {
            Ok(text) => text,
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(why) => {
                return Err(StoreError(format!(
                    "{}: {why}",
                    self.position_file.display()
                )));
            }
        };
        let words: Result<Vec<u64>, _> = text.split_whitespace().map(str::parse).collect();
        // Sending rows again is better than losing them.
        let [run, next_seq, ends @ ..] = words.as_deref().unwrap_or_default() else {
            return Ok(None);
        };
        if self.progress.is_empty() {
            let left = |end: &u64| PartitionProgress {
                end: *end as i64,
                row: None,
            };
            self.progress = ends.iter().map(left).collect();
        }
        let (run, next_seq) = (*run, *next_seq);
        Ok(Some(Position { run, next_seq }))
    }

    /// Saves the position. This process never sends acknowledged rows again, even if saving fails.
    fn save_position(&mut self, position: Position) {
        let new = self.position_file.with_extension("new");
        let mut text = format!("{} {}", position.run, position.next_seq);
        for left in &self.progress {
            text += &format!(" {}", left.end);
        }
        text.push('\n');
        let written = fs::write(&new, text).and_then(|()| fs::rename(&new, &self.position_file));
        self.position = Some(Some(position));
        let before = std::mem::replace(&mut self.position_unsaved, written.is_err());
        if let Err(why) = written
            && !before
        {
            let file = self.position_file.display();
            tracing::warn!(%file, %why, "the position cannot be saved: after a restart rows are sent again");
        }
    }

    /// Checks whether a topic with these ends holds the acknowledged messages. A loss is reported once.
    fn check_topic(&mut self, now: Vec<PartitionProgress>) -> Result<StoreProgress, StoreError> {
        let had = self.position()?;
        if topic_matches(&self.progress, &now) {
            return Ok(StoreProgress {
                position: had,
                ..StoreProgress::default()
            });
        }
        self.lost_messages = lost_messages(&self.settings.topic, &self.progress, &now);
        self.progress = now;
        self.position = Some(None);
        // If removing the file fails, its position does not match the topic.
        let _ = fs::remove_file(&self.position_file);
        Ok(StoreProgress {
            lost_position: had,
            ..StoreProgress::default()
        })
    }

    fn put(
        &mut self,
        session: &mut Session,
        by: &str,
        key: String,
        value: Option<Vec<u8>>,
        time_us: u64,
    ) -> Result<(), StoreError> {
        let index = partitioner::partition_of(by.as_bytes(), session.partitions());
        session.put(index, record(key, value, time_us))
    }

    /// Sends a message that concerns all peers to every partition.
    fn put_everywhere(
        &mut self,
        session: &mut Session,
        key: &str,
        value: &[u8],
        time_us: u64,
    ) -> Result<(), StoreError> {
        (0..session.partitions()).try_for_each(|index| {
            session.put(index, record(key.to_owned(), Some(value.to_vec()), time_us))
        })
    }

    fn put_event(
        &mut self,
        session: &mut Session,
        behind: Position,
        entry: &Entry,
    ) -> Result<(), StoreError> {
        let collector = self.collector.clone();
        let value = Message::event(&collector, behind, entry).json();
        let Some(peer) = &entry.peer else {
            let key = format!("{}|{}", part(&collector), entry.kind.name());
            return self.put_everywhere(session, &key, &value, entry.time_us);
        };
        let peer_part = peer_key(&collector, &peer.key);
        let Some(prefix) = entry.prefix else {
            let key = format!("{peer_part}|{}", entry.kind.name());
            self.put(session, &peer_part, key, Some(value), entry.time_us)?;
            return self.clear_families(session, behind, entry);
        };
        let key = route_key(&peer_part, prefix, entry.path_id);
        self.put(session, &peer_part, key.clone(), Some(value), entry.time_us)?;
        if entry.kind == Kind::Withdraw && self.settings.tombstones {
            self.put(session, &peer_part, key, None, entry.time_us)?;
        }
        Ok(())
    }

    /// Sends a `clear` for each family whose routes go down with the session.
    fn clear_families(
        &mut self,
        session: &mut Session,
        behind: Position,
        entry: &Entry,
    ) -> Result<(), StoreError> {
        let (Some(peer), Kind::PeerDown { retained }) = (&entry.peer, entry.kind) else {
            return Ok(());
        };
        let collector = self.collector.clone();
        for family in Family::ALL.into_iter().filter(|family| !retained[*family]) {
            let of = Some((&**peer, family));
            let at = Position {
                next_seq: behind.next_seq.saturating_sub(1),
                ..behind
            };
            let value = Message::clear(&collector, at, entry.time_us, of).json();
            let peer_part = peer_key(&collector, &peer.key);
            let key = format!("{peer_part}|clear|{}", family_name(family));
            self.put(session, &peer_part, key, Some(value), entry.time_us)?;
        }
        Ok(())
    }

    /// Logs that requests are limited, if the setting is new or the limit is smaller than before.
    fn log_request_limit(&mut self, cut: Option<(&'static str, usize)>) {
        let Some((setting, bytes)) = cut else {
            return;
        };
        let known = |logged: (&str, usize)| logged.0 == setting && logged.1 <= bytes;
        if self.logged_limit.is_some_and(known) {
            return;
        }
        self.logged_limit = cut;
        let (topic, words) = (
            &self.settings.topic,
            error_text::smaller_requests(setting, bytes, REQUEST),
        );
        tracing::warn!(sink = %self.sink, %topic, "{words}");
    }

    /// Runs an action with the session, and drops the session after an error.
    fn with_session<T>(
        &mut self,
        act: impl FnOnce(&mut Self, &mut Session) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut session = self
            .session
            .take()
            .ok_or_else(|| StoreError("not connected".into()))?;
        let done = act(self, &mut session);
        self.progress = session.progress();
        self.log_request_limit(session.request_limit());
        let done = done?;
        self.session = Some(session);
        Ok(done)
    }
}

impl Store for Kafka {
    fn open(&mut self) -> Result<StoreProgress, StoreError> {
        let mut session = Session::open(&self.settings)?;
        let held = self.check_topic(session.progress())?;
        session.resume(&self.progress);
        self.session = Some(session);
        Ok(held)
    }

    fn find_loss(&mut self, _: Position, _: u64) -> Result<Option<String>, StoreError> {
        Ok(self.lost_messages.clone())
    }

    fn write(&mut self, batch: &Batch) -> Result<(), StoreError> {
        self.with_session(|kafka, session| {
            session.check_partitions(&kafka.settings.topic)?;
            for (behind, entry) in &batch.rows {
                session.begin_row(*behind);
                kafka.put_event(session, *behind, entry)?;
            }
            session.flush()
        })?;
        self.save_position(batch.end);
        Ok(())
    }

    fn begin_load(&mut self, load: &Load) -> Result<(), StoreError> {
        self.with_session(|kafka, session| {
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
                let peer_part = peer_key(&collector, &peer.key);
                for family in Family::ALL {
                    let of = Some((&**peer, family));
                    let value = Message::clear(&collector, load.position, load.time_us, of).json();
                    let key = format!("{peer_part}|clear|{}", family_name(family));
                    kafka.put(session, &peer_part, key, Some(value), load.time_us)?;
                }
            }
            Ok(())
        })
    }

    fn load(&mut self, load: &Load, chunks: &mut RowChunks<'_>) -> Result<(), StoreError> {
        self.with_session(|kafka, session| {
            let collector = kafka.collector.clone();
            while let Some(rows) = chunks() {
                for row in &rows {
                    let peer_part = peer_key(&collector, &row.peer.key);
                    let route = (row.prefix, row.path_id, &*row.attrs);
                    let message =
                        Message::state(&collector, load.position, load.time_us, &row.peer, route);
                    let key = route_key(&peer_part, row.prefix, row.path_id);
                    kafka.put(session, &peer_part, key, Some(message.json()), load.time_us)?;
                }
            }
            Ok(())
        })
    }

    fn end_load(&mut self, _: &Load) -> Result<(), StoreError> {
        self.with_session(|_, session| session.flush())
    }

    fn close(&mut self) {
        self.session = None;
    }
}

/// Returns whether a topic with these ends holds the acknowledged messages and keeps peers in their partitions. A topic
/// that was created again does not, nor does one with another number of partitions.
fn topic_matches(left: &[PartitionProgress], now: &[PartitionProgress]) -> bool {
    let holds = left.iter().zip(now).all(|(left, now)| left.end <= now.end);
    left.is_empty() || left.len() == now.len() && holds
}

/// The messages that a topic has lost. At most a few partitions are named.
fn lost_messages(
    topic: &str,
    left: &[PartitionProgress],
    now: &[PartitionProgress],
) -> Option<String> {
    let now = now.iter().map(|now| now.end).chain(std::iter::repeat(0));
    let ends = left.iter().map(|left| left.end).zip(now).enumerate();
    let lost: Vec<String> = ends
        .filter(|(_, (left, now))| now < left)
        .map(|(number, (left, now))| format!("{now} to {} of partition {number}", left - 1))
        .collect();
    let named = lost.iter().take(NAMED).cloned().collect::<Vec<_>>();
    let more = match lost.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and of {more} more"),
    };
    (!lost.is_empty()).then(|| {
        format!(
            "topic `{topic}` has lost messages {}{more}",
            named.join(", ")
        )
    })
}

/// The number of partitions that a gap names.
const NAMED: usize = 4;

#[cfg(test)]
mod tests {
    use std::fmt::Debug;
    use std::sync::Arc;

    use parking_lot::Mutex;
    use tracing::field::{Field, Visit};
    use tracing::span::{self, Attributes, Id};
    use tracing::subscriber::with_default;
    use tracing::{Event, Metadata, Subscriber};

    use super::*;

    const POSITION: Position = Position {
        run: 7,
        next_seq: 9,
    };

    /// A Kafka store that saves its position in a folder.
    fn kafka(folder: &Path) -> Kafka {
        let settings = Broker {
            brokers: vec!["127.0.0.1:9".into()],
            topic: "rutter".into(),
            tombstones: false,
            answer_timeout_s: 1,
            tls: None,
            sasl: None,
        };
        Kafka::new("stream", "here", settings, folder)
    }

    /// The lines of a log, with fields before the message.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<String>>>);

    impl Subscriber for Log {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &span::Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            let mut line = Line(String::new());
            event.record(&mut line);
            self.0.lock().push(line.0);
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    struct Line(String);

    impl Visit for Line {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            self.0 += &format!("{}={value:?} ", field.name());
        }
    }

    #[test]
    fn requests_that_are_cut_are_logged_with_sink_and_topic() {
        let mut kafka = kafka(Path::new("/dev/full"));
        let log = Log::default();
        with_default(log.clone(), || {
            for bytes in [5_600, 5_700, 1_400, 1_400] {
                kafka.log_request_limit(Some(("max.message.bytes", bytes)));
            }
            kafka.log_request_limit(None);
        });
        let lines = log.0.lock();
        assert_eq!(lines.len(), 2, "{lines:?}");
        for words in [
            "sink=stream",
            "topic=rutter",
            "1400 bytes",
            "`max.message.bytes` to 716800",
        ] {
            assert!(lines[1].contains(words), "{words}: {lines:?}");
        }
    }

    fn ends(ends: &[i64]) -> Vec<PartitionProgress> {
        let left = |end: &i64| PartitionProgress {
            end: *end,
            row: None,
        };
        ends.iter().map(left).collect()
    }

    /// A folder for the saved position.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("rutter-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn the_acknowledged_position_is_known_without_a_disk() {
        let mut kafka = kafka(Path::new("/dev/full"));
        kafka.save_position(POSITION);
        assert_eq!(kafka.position(), Ok(Some(POSITION)));
    }

    #[test]
    fn the_acknowledged_position_is_known_after_its_file_was_removed() {
        let folder = folder("noted");
        let mut kafka = kafka(&folder);
        kafka.progress = ends(&[7]);
        kafka.save_position(POSITION);
        fs::remove_dir_all(&folder).unwrap();
        let held = kafka.check_topic(ends(&[7])).unwrap();
        assert_eq!(held.position, Some(POSITION));
    }

    #[test]
    fn the_loss_of_a_topic_is_reported_once() {
        let folder = folder("gone");
        let mut before = kafka(&folder);
        before.progress = ends(&[7, 3]);
        before.save_position(POSITION);
        // The next process finds the same loss.
        for mut kafka in [kafka(&folder), before] {
            let held = kafka.check_topic(ends(&[7, 1])).unwrap();
            let what = "topic `rutter` has lost messages 1 to 2 of partition 1";
            assert_eq!((held.position, held.lost_position), (None, Some(POSITION)));
            assert_eq!(kafka.find_loss(POSITION, 0), Ok(Some(what.into())));
            // The connection is lost before anything is written.
            let held = kafka.check_topic(ends(&[7, 1])).unwrap();
            assert_eq!((held.position, held.lost_position), (None, None));
        }
        assert_eq!(kafka(&folder).position(), Ok(None));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn lost_messages_are_named() {
        let lost = |left: &[i64], now: &[i64]| lost_messages("t", &ends(left), &ends(now));
        assert_eq!(lost(&[7, 0], &[8, 0, 0]), None);
        assert_eq!(
            lost(&[7, 3], &[0]).unwrap(),
            "topic `t` has lost messages 0 to 6 of partition 0, 0 to 2 of partition 1"
        );
        let many = lost(&[1; 9], &[]).unwrap();
        assert!(
            many.ends_with(", 0 to 0 of partition 3 and of 5 more"),
            "{many}"
        );
    }

    #[test]
    fn a_new_topic_or_other_partitions_do_not_match() {
        fn is(left: &[i64], now: &[i64]) -> bool {
            topic_matches(&ends(left), &ends(now))
        }
        assert!(is(&[], &[7, 0]));
        // Others write to the topic, too.
        assert!(is(&[7, 0], &[8, 3]));
        assert!(!is(&[7, 0], &[6, 3]));
        assert!(!is(&[7, 0], &[7, 0, 0]));
        assert!(!is(&[7, 0], &[7]));
    }
}
