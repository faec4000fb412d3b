//! Kafka: one topic, keys that compact to the current routes, and all of a peer in one partition.
//!
//! Written at least once: after a crash the rows behind the last position that was noted are sent again, with the same
//! run and number.

mod message;
mod partition;
mod words;

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{fs, io};

use rskafka::BackoffConfig;
use rskafka::chrono::{DateTime, Utc};
use rskafka::client::error::Error;
use rskafka::client::partition::{Compression, OffsetAt, PartitionClient, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder};
use rskafka::record::Record;
use rutter_config::Broker;
use rutter_events::Kind;
use rutter_net::Family;
use tokio::runtime::{Builder, Runtime};

use crate::batch::Batch;
use crate::block::Entry;
use crate::spool::Position;
use crate::store::{Fault, Load, Pieces, Store, hangs};
pub use message::SCHEMA;
use message::{Message, family_name, part, peer_key, route_key};

/// A topic of a cluster, written to as one collector.
pub struct Kafka {
    collector: String,
    settings: Broker,
    /// How far it is, since the cluster does not keep that for us.
    noted: PathBuf,
    /// Behind the last batch that was acknowledged and could not be noted: the disk may be full.
    unnoted: Option<Position>,
    /// Where each partition ended behind the last message that was acknowledged; empty where that is not known.
    ends: Vec<i64>,
    session: Option<Session>,
}

struct Session {
    runtime: Runtime,
    patience: Duration,
    client: Client,
    partitions: Vec<Partition>,
    /// When the cluster was asked last which partitions there are.
    looked: Instant,
}

/// A partition and what is on its way there.
struct Partition {
    client: PartitionClient,
    records: Vec<Record>,
    size: usize,
    /// Behind the last message that was acknowledged.
    end: i64,
}

impl Kafka {
    /// Nothing is connected before [`Store::open`]. The position is noted in the folder of the spool.
    pub fn new(collector: &str, settings: Broker, folder: &Path) -> Self {
        Self {
            collector: collector.to_owned(),
            settings,
            noted: folder.join("kafka.position"),
            unnoted: None,
            ends: Vec::new(),
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
        if self.ends.is_empty() {
            self.ends = ends.iter().map(|end| *end as i64).collect();
        }
        let (run, next_seq) = (*run, *next_seq);
        Ok(Some(Position { run, next_seq }))
    }

    /// What was acknowledged is not sent again by this process, also where it cannot be noted.
    fn note(&mut self, position: Position) {
        let new = self.noted.with_extension("new");
        let mut text = format!("{} {}", position.run, position.next_seq);
        for end in &self.ends {
            text += &format!(" {end}");
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
        let index = partition::of(by.as_bytes(), session.partitions.len());
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
        (0..session.partitions.len()).try_for_each(|index| {
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
        self.ends = session.partitions.iter().map(|one| one.end).collect();
        let done = done?;
        self.session = Some(session);
        Ok(done)
    }
}

impl Store for Kafka {
    fn open(&mut self) -> Result<Option<Position>, Fault> {
        let position = self.position()?;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|why| Fault(format!("cannot begin: {why}")))?;
        let patience = Duration::from_secs(self.settings.answer_timeout_s);
        let connected = connect(&self.settings, patience);
        let (client, mut partitions) = within(&runtime, patience, "cannot connect", connected)?;
        let now: Vec<i64> = partitions.iter().map(|one| one.end).collect();
        let kept = is_as_left(&self.ends, &now);
        for (partition, end) in partitions.iter_mut().zip(&self.ends) {
            partition.end = if kept { *end } else { 0 };
        }
        self.session = Some(Session {
            runtime,
            patience,
            client,
            partitions,
            looked: Instant::now(),
        });
        Ok(position.filter(|_| kept))
    }

    fn write(&mut self, batch: &Batch) -> Result<(), Fault> {
        self.with(|kafka, session| {
            session.look(&kafka.settings.topic)?;
            for (behind, entry) in &batch.rows {
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

impl Session {
    fn put(&mut self, index: usize, record: Record) -> Result<(), Fault> {
        let partition = &mut self.partitions[index];
        partition.size += record.approximate_size() + OVERHEAD;
        partition.records.push(record);
        match partition.size >= REQUEST {
            true => send(&self.runtime, self.patience, partition),
            false => Ok(()),
        }
    }

    /// Somebody may have added partitions: then keys belong elsewhere, and all is told anew over the next connection.
    fn look(&mut self, topic: &str) -> Result<(), Fault> {
        if self.looked.elapsed() < LOOK {
            return Ok(());
        }
        let asked = partitions_of(&self.client, topic);
        let there = within(
            &self.runtime,
            self.patience,
            "cannot look for partitions",
            asked,
        )?
        .len();
        let had = self.partitions.len();
        if there != had {
            return Err(Fault(format!(
                "topic `{topic}` has {there} partitions and had {had}"
            )));
        }
        self.looked = Instant::now();
        Ok(())
    }

    /// Returns when all that was put is acknowledged by all replicas in sync.
    fn flush(&mut self) -> Result<(), Fault> {
        let (runtime, patience) = (&self.runtime, self.patience);
        self.partitions
            .iter_mut()
            .try_for_each(|partition| send(runtime, patience, partition))
    }
}

fn send(runtime: &Runtime, patience: Duration, partition: &mut Partition) -> Result<(), Fault> {
    partition.size = 0;
    let records = std::mem::take(&mut partition.records);
    if records.is_empty() {
        return Ok(());
    }
    let client = &partition.client;
    let produced = async {
        let produced = client.produce(records, Compression::NoCompression).await;
        produced.map_err(|why| words::of(&why, client.topic()))
    };
    let offsets = within(runtime, patience, "cannot send", produced)?;
    if offsets.first().is_some_and(|first| *first < partition.end) {
        let topic = partition.client.topic();
        return Err(Fault(format!("what topic `{topic}` held is gone")));
    }
    partition.end = offsets.last().map_or(partition.end, |last| last + 1);
    Ok(())
}

async fn connect(
    settings: &Broker,
    patience: Duration,
) -> Result<(Client, Vec<Partition>), String> {
    let name = &settings.topic;
    let said = |why: Error| words::of(&why, name);
    let backoff = BackoffConfig {
        // Before our own patience ends, so that the last error is told.
        deadline: Some(patience / 2),
        ..BackoffConfig::default()
    };
    let client = ClientBuilder::new(settings.brokers.clone())
        .client_id("rutter")
        .backoff_config(backoff)
        .build()
        .await
        .map_err(said)?;
    let mut partitions = Vec::new();
    for number in partitions_of(&client, name).await? {
        let handling = UnknownTopicHandling::Retry;
        let client = client.partition_client(name, number, handling).await;
        let client = client.map_err(said)?;
        let end = client.get_offset(OffsetAt::Latest).await.map_err(said)?;
        partitions.push(Partition {
            client,
            records: Vec::new(),
            size: 0,
            end,
        });
    }
    Ok((client, partitions))
}

/// The numbers of the partitions that a topic has now.
async fn partitions_of(client: &Client, name: &str) -> Result<Vec<i32>, String> {
    let topics = client.list_topics().await;
    let topics = topics.map_err(|why| words::of(&why, name))?;
    let topic = topics.into_iter().find(|topic| topic.name == name);
    let topic = topic.ok_or_else(|| {
        format!("there is no topic `{name}`, or we may not see it: create it first, or grant DESCRIBE and WRITE")
    })?;
    Ok(topic.partitions.into_iter().collect())
}

/// Waits for an answer, but not for ever.
fn within<T>(
    runtime: &Runtime,
    patience: Duration,
    what: &str,
    asked: impl Future<Output = Result<T, String>>,
) -> Result<T, Fault> {
    match runtime.block_on(async { tokio::time::timeout(patience, asked).await }) {
        Ok(answer) => answer.map_err(|why| Fault(format!("{what}: {why}"))),
        Err(_) => Err(hangs(what)),
    }
}

fn record(key: String, value: Option<Vec<u8>>, time_us: u64) -> Record {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_us = now.unwrap_or_default().as_micros() as u64;
    let timestamp = timestamp(time_us, now_us);
    Record {
        key: Some(key.into_bytes()),
        value,
        headers: Default::default(),
        timestamp,
    }
}

/// The time of a record. Brokers refuse what is of the future, as rows are that were told before a clock was set back;
/// the value has their time.
fn timestamp(time_us: u64, now_us: u64) -> DateTime<Utc> {
    let time_us = time_us.min(now_us);
    DateTime::<Utc>::from_timestamp_micros(time_us as i64).unwrap_or_default()
}

/// Whether a topic with these ends holds what was acknowledged, and peers are where they were: one that was made anew does
/// not, nor one with other partitions.
fn is_as_left(ends: &[i64], now: &[i64]) -> bool {
    let holds = ends.iter().zip(now).all(|(end, now)| end <= now);
    ends.is_empty() || ends.len() == now.len() && holds
}

/// Brokers refuse requests above a megabyte unless configured otherwise.
const REQUEST: usize = 700 << 10;
/// Octets of a record besides key and value.
const OVERHEAD: usize = 24;
/// How often it is looked whether there are other partitions.
const LOOK: Duration = Duration::from_secs(15);

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
    fn no_record_is_of_the_future() {
        let now_us = 1_795_000_000_000_000;
        assert_eq!(
            timestamp(now_us - 5, now_us),
            timestamp(now_us - 5, u64::MAX)
        );
        assert_eq!(
            timestamp(now_us + 7_200_000_000, now_us),
            timestamp(now_us, now_us)
        );
    }

    #[test]
    fn a_topic_that_was_made_anew_or_has_other_partitions_is_not_as_it_was_left() {
        assert!(is_as_left(&[], &[7, 0]));
        // Others write, too.
        assert!(is_as_left(&[7, 0], &[8, 3]));
        assert!(!is_as_left(&[7, 0], &[6, 3]));
        assert!(!is_as_left(&[7, 0], &[7, 0, 0]));
        assert!(!is_as_left(&[7, 0], &[7]));
    }
}
