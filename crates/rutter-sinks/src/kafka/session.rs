//! A connection to a cluster. Records wait until they fill a request for their partition, and a request is as
//! large as the topic accepts.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rskafka::BackoffConfig;
use rskafka::chrono::{DateTime, Utc};
use rskafka::client::error::Error;
use rskafka::client::partition::{Compression, OffsetAt, PartitionClient, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder, Credentials, SaslConfig};
use rskafka::record::Record;
use rutter_config::{Broker, Sasl, SaslMechanism};
use tokio::runtime::{Builder, Runtime};

use super::error_text;
use crate::spool::Position;
use crate::store::{StoreError, timeout_error};
use crate::tls::{TlsFiles, Verifier};

pub(super) struct Session {
    runtime: Runtime,
    timeout: Duration,
    client: Client,
    partitions: Vec<Partition>,
    /// The time of the last check of the partitions.
    partitions_checked: Instant,
    /// The largest request in bytes that the topic is known to accept.
    max_request: usize,
    /// The setting of the topic that limits requests.
    limit_setting: Option<&'static str>,
    /// The row of the records that are added now; none during a load.
    row: Option<Position>,
}

/// A partition and the records that wait for it.
struct Partition {
    client: PartitionClient,
    waiting: Vec<Waiting>,
    size: usize,
    left: PartitionProgress,
}

/// A waiting record, and the row that it belongs to.
struct Waiting {
    row: Option<Position>,
    record: Record,
}

/// The progress of a partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PartitionProgress {
    /// The offset after the last acknowledged message.
    pub(super) end: i64,
    /// The position after the last row whose messages were all acknowledged. They are not sent again after an
    /// error.
    pub(super) row: Option<Position>,
}

impl Session {
    /// Connects to all partitions.
    pub(super) fn open(settings: &Broker) -> Result<Self, StoreError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime =
            runtime.map_err(|why| StoreError(format!("cannot start the client: {why}")))?;
        let timeout = Duration::from_secs(settings.answer_timeout_s);
        let (builder, verifier) = builder(settings, timeout)?;
        let connected = async {
            connect(builder, &settings.topic).await.map_err(|why| {
                let fault = verifier.and_then(|verifier| verifier.take_fault());
                error_text::connecting(why, fault.as_ref(), settings)
            })
        };
        let (client, partitions) = within(&runtime, timeout, "cannot connect", connected)?;
        Ok(Self {
            runtime,
            timeout,
            client,
            partitions,
            partitions_checked: Instant::now(),
            max_request: REQUEST,
            limit_setting: None,
            row: None,
        })
    }

    /// The number of partitions.
    pub(super) fn partitions(&self) -> usize {
        self.partitions.len()
    }

    /// The progress of each partition.
    pub(super) fn progress(&self) -> Vec<PartitionProgress> {
        self.partitions.iter().map(|one| one.left).collect()
    }

    /// Continues with the progress of the previous connection; without one, at the ends that were found.
    pub(super) fn resume(&mut self, left: &[PartitionProgress]) {
        for (partition, left) in self.partitions.iter_mut().zip(left) {
            partition.left = *left;
        }
    }

    /// The setting that limits requests, and the largest request in bytes.
    pub(super) fn request_limit(&self) -> Option<(&'static str, usize)> {
        self.limit_setting
            .map(|setting| (setting, self.max_request))
    }

    /// Sets the row of the records that follow.
    pub(super) fn begin_row(&mut self, behind: Position) {
        self.row = Some(behind);
    }

    /// Adds a record for a partition. Requests end at the end of a row.
    pub(super) fn put(&mut self, index: usize, record: Record) -> Result<(), StoreError> {
        let (row, size) = (self.row, record_size(&record));
        let partition = &self.partitions[index];
        if row.is_some() && row <= partition.left.row {
            return Ok(());
        }
        let last = partition.waiting.last();
        let begins = last.is_some_and(|last| row.is_none() || row != last.row);
        if begins && partition.size + size > self.max_request {
            self.send(index)?;
        }
        let partition = &mut self.partitions[index];
        partition.size += size;
        partition.waiting.push(Waiting { row, record });
        Ok(())
    }

    /// Fails if the number of partitions has changed. Keys then belong to other partitions, and the next
    /// connection loads all routes again.
    pub(super) fn check_partitions(&mut self, topic: &str) -> Result<(), StoreError> {
        if self.partitions_checked.elapsed() < CHECK_EVERY {
            return Ok(());
        }
        let request = partitions_of(&self.client, topic);
        let what = "cannot look for partitions";
        let found = within(&self.runtime, self.timeout, what, request)?.len();
        let had = self.partitions.len();
        if found != had {
            return Err(StoreError(format!(
                "topic `{topic}` has {found} partitions instead of {had}"
            )));
        }
        self.partitions_checked = Instant::now();
        Ok(())
    }

    /// Sends all waiting records and returns when all in-sync replicas have acknowledged them.
    pub(super) fn flush(&mut self) -> Result<(), StoreError> {
        (0..self.partitions.len()).try_for_each(|index| self.send(index))?;
        self.row = None;
        Ok(())
    }

    /// Sends the waiting records of a partition, in smaller requests if the topic rejects a large one.
    fn send(&mut self, index: usize) -> Result<(), StoreError> {
        let partition = &mut self.partitions[index];
        partition.size = 0;
        let waiting = std::mem::take(&mut partition.waiting);
        let mut rest = &waiting[..];
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(fitting(rest, self.max_request));
            match self.produce(index, piece)? {
                Ok(()) => {
                    let left = &mut self.partitions[index].left;
                    left.row = left.row.max(last_whole(piece, behind));
                    rest = behind;
                }
                Err(setting) => {
                    let refused = request_size(piece);
                    if let [alone] = piece {
                        let topic = self.partitions[index].client.topic();
                        let key = alone.record.key.as_deref().unwrap_or_default();
                        return Err(StoreError(error_text::too_large(
                            topic, setting, key, refused,
                        )));
                    }
                    (self.max_request, self.limit_setting) = (refused / 2, Some(setting));
                }
            }
        }
        Ok(())
    }

    /// Sends one request. If it is too large for the topic, returns the setting that limits it.
    fn produce(
        &mut self,
        index: usize,
        piece: &[Waiting],
    ) -> Result<Result<(), &'static str>, StoreError> {
        // A rejected request is needed again.
        let records = piece.iter().map(|one| one.record.clone()).collect();
        let partition = &mut self.partitions[index];
        let client = &partition.client;
        let produced = async {
            match client.produce(records, Compression::NoCompression).await {
                Ok(offsets) => Ok(Ok(offsets)),
                Err(why) => match error_text::size_setting(&why) {
                    Some(setting) => Ok(Err(setting)),
                    None => Err(error_text::describe(&why, client.topic())),
                },
            }
        };
        let what = format!("cannot send to topic `{}`", client.topic());
        let offsets = match within(&self.runtime, self.timeout, &what, produced)? {
            Ok(offsets) => offsets,
            Err(setting) => return Ok(Err(setting)),
        };
        let end = &mut partition.left.end;
        if offsets.first().is_some_and(|first| first < end) {
            let topic = partition.client.topic();
            return Err(StoreError(format!(
                "topic `{topic}` lost its messages or was replaced"
            )));
        }
        *end = offsets.last().map_or(*end, |last| last + 1);
        Ok(Ok(()))
    }
}

/// Prepares the client, with the verifier of its certificates if it uses TLS.
fn builder(
    settings: &Broker,
    timeout: Duration,
) -> Result<(ClientBuilder, Option<Arc<Verifier>>), StoreError> {
    let backoff = BackoffConfig {
        // Shorter than our own timeout, so that the last error is reported.
        deadline: Some(timeout / 2),
        ..BackoffConfig::default()
    };
    let mut builder = ClientBuilder::new(settings.brokers.clone())
        .client_id("rutter")
        .backoff_config(backoff);
    if let Some(sasl) = &settings.sasl {
        builder = builder.sasl_config(login(sasl)?);
    }
    let Some(tls) = &settings.tls else {
        return Ok((builder, None));
    };
    let (config, verifier) = TlsFiles::read(tls)?.client_config(tls)?;
    Ok((builder.tls_config(config), Some(verifier)))
}

fn login(sasl: &Sasl) -> Result<SaslConfig, StoreError> {
    let password = sasl.password.current().map_err(StoreError)?;
    let password = String::from_utf8_lossy(password.reveal()).into_owned();
    let credentials = Credentials::new(sasl.user.clone(), password);
    Ok(match sasl.mechanism {
        SaslMechanism::Plain => SaslConfig::Plain(credentials),
        SaslMechanism::ScramSha256 => SaslConfig::ScramSha256(credentials),
        SaslMechanism::ScramSha512 => SaslConfig::ScramSha512(credentials),
    })
}

async fn connect(builder: ClientBuilder, name: &str) -> Result<(Client, Vec<Partition>), String> {
    let describe = |why: Error| error_text::describe(&why, name);
    let client = builder.build().await.map_err(describe)?;
    let mut partitions = Vec::new();
    for number in partitions_of(&client, name).await? {
        let handling = UnknownTopicHandling::Retry;
        let client = client.partition_client(name, number, handling).await;
        let client = client.map_err(describe)?;
        let end = client
            .get_offset(OffsetAt::Latest)
            .await
            .map_err(describe)?;
        partitions.push(Partition {
            client,
            waiting: Vec::new(),
            size: 0,
            left: PartitionProgress { end, row: None },
        });
    }
    Ok((client, partitions))
}

/// The numbers of the partitions that a topic has now.
async fn partitions_of(client: &Client, name: &str) -> Result<Vec<i32>, String> {
    let topics = client.list_topics().await;
    let topics = topics.map_err(|why| error_text::describe(&why, name))?;
    let topic = topics.into_iter().find(|topic| topic.name == name);
    let topic = topic.ok_or_else(|| {
        format!("topic `{name}` does not exist, or we may not see it: create it, or grant DESCRIBE and WRITE")
    })?;
    Ok(topic.partitions.into_iter().collect())
}

/// Waits for an answer, at most for `timeout`.
fn within<T>(
    runtime: &Runtime,
    timeout: Duration,
    what: &str,
    request: impl Future<Output = Result<T, String>>,
) -> Result<T, StoreError> {
    match runtime.block_on(async { tokio::time::timeout(timeout, request).await }) {
        Ok(answer) => answer.map_err(|why| StoreError(format!("{what}: {why}"))),
        Err(_) => Err(timeout_error(what)),
    }
}

pub(super) fn record(key: String, value: Option<Vec<u8>>, time_us: u64) -> Record {
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

/// The time of a record, never in the future, since brokers reject that. Rows can have later times if the clock
/// was set back; the value has the original time.
fn timestamp(time_us: u64, now_us: u64) -> DateTime<Utc> {
    let time_us = time_us.min(now_us);
    DateTime::<Utc>::from_timestamp_micros(time_us as i64).unwrap_or_default()
}

/// An upper bound for the bytes of a record in a request.
fn record_size(record: &Record) -> usize {
    record.approximate_size() + OVERHEAD
}

/// An upper bound for the bytes of a request with these records.
fn request_size(piece: &[Waiting]) -> usize {
    BATCH
        + piece
            .iter()
            .map(|one| record_size(&one.record))
            .sum::<usize>()
}

/// The last row whose records are all in `piece`.
fn last_whole(piece: &[Waiting], behind: &[Waiting]) -> Option<Position> {
    let begun = behind.first().and_then(|next| next.row);
    let mut rows = piece.iter().rev().filter_map(|one| one.row);
    rows.find(|row| Some(*row) != begun)
}

/// The number of records that fit into a request. The first one is sent whatever its size.
fn fitting(waiting: &[Waiting], request: usize) -> usize {
    let mut size = BATCH;
    let fits = waiting.iter().take_while(|one| {
        size += record_size(&one.record);
        size <= request
    });
    fits.count().max(1)
}

/// The default request size. Brokers reject requests above a megabyte unless configured otherwise.
pub(super) const REQUEST: usize = 700 << 10;
/// The bytes of a request apart from its records: the header of a record batch.
const BATCH: usize = 61;
/// The bytes of a record apart from key and value.
const OVERHEAD: usize = 24;
/// The interval between checks for a changed number of partitions.
const CHECK_EVERY: Duration = Duration::from_secs(15);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_record_has_a_future_time() {
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
    fn requests_keep_to_the_limit_except_for_one_large_record() {
        let of = |bytes: usize| Waiting {
            row: None,
            record: record(String::new(), Some(vec![0; bytes - OVERHEAD]), 0),
        };
        let records = [of(100), of(200), of(300)];
        assert_eq!(request_size(&records), BATCH + 600);
        assert_eq!(fitting(&records, BATCH + 600), 3);
        assert_eq!(fitting(&records, BATCH + 599), 2);
        assert_eq!(fitting(&records, BATCH + 299), 1);
        assert_eq!(fitting(&records, 0), 1);
    }

    #[test]
    fn a_row_is_complete_with_its_last_record() {
        let row = |next_seq| Position { run: 7, next_seq };
        let waiting: Vec<Waiting> = [1, 2, 2, 3]
            .map(|number| Waiting {
                row: Some(row(number)),
                record: record(String::new(), None, 0),
            })
            .into();
        let whole = |at: usize| last_whole(&waiting[..at], &waiting[at..]);
        assert_eq!(whole(1), Some(row(1)));
        assert_eq!(whole(2), Some(row(1)));
        assert_eq!(whole(3), Some(row(2)));
        assert_eq!(whole(4), Some(row(3)));
        assert_eq!(last_whole(&waiting[1..2], &waiting[2..]), None);
    }
}
