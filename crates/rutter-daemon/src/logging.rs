//! Structured logging to standard error, and to a bounded ring that `rutter log` reads.

use std::collections::VecDeque;
use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::{Condvar, Mutex};
use rutter_config::LogFormat;
use rutter_net::Date;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, span};

/// The latest log lines of the process.
pub(crate) struct LogRing {
    lines: Mutex<Lines>,
    grown: Condvar,
}

#[derive(Default)]
struct Lines {
    ring: VecDeque<Arc<Record>>,
    /// The sequence number of the first line in the ring.
    first: u64,
}

/// One event of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// Wall time in microseconds since 1970.
    pub(crate) unix_us: u64,
    pub(crate) level: Level,
    /// The module of the event.
    pub(crate) target: &'static str,
    /// The field `peer`, if the event has one.
    pub(crate) peer: Option<String>,
    /// The message with its other fields.
    pub(crate) message: String,
}

const RING_LINES: usize = 2_000;

impl LogRing {
    fn push(&self, line: Arc<Record>) {
        let mut lines = self.lines.lock();
        if lines.ring.len() == RING_LINES {
            lines.ring.pop_front();
            lines.first += 1;
        }
        lines.ring.push_back(line);
        drop(lines);
        self.grown.notify_all();
    }

    /// Returns the lines from sequence number `from`, and the number for the next call. Waits up to `timeout` for the
    /// first line. Lines that have left the ring are skipped.
    pub(crate) fn read(&self, from: u64, timeout: Duration) -> (Vec<Arc<Record>>, u64) {
        let mut lines = self.lines.lock();
        if lines.first + lines.ring.len() as u64 <= from {
            self.grown.wait_for(&mut lines, timeout);
        }
        let skip = from.saturating_sub(lines.first) as usize;
        let found: Vec<_> = lines.ring.iter().skip(skip).cloned().collect();
        (found, lines.first + lines.ring.len() as u64)
    }
}

/// The sequence number in [`LogRing::read`] that yields the oldest line kept.
pub(crate) const OLDEST: u64 = 0;

/// Initialises logging. The first call sets the format; later calls change only the level.
pub(crate) fn init(format: LogFormat, level: Level) -> Arc<LogRing> {
    static LOGGER: OnceLock<Arc<LogRing>> = OnceLock::new();
    LEVEL.store(rank(level), Ordering::Relaxed);
    tracing::callsite::rebuild_interest_cache();
    let ring = LOGGER.get_or_init(|| {
        let ring = Arc::new(LogRing {
            lines: Mutex::default(),
            grown: Condvar::new(),
        });
        let subscriber = Logger {
            format,
            ring: Arc::clone(&ring),
        };
        // This fails if the program has installed its own subscriber: then that one logs.
        let _ = tracing::subscriber::set_global_default(subscriber);
        ring
    });
    Arc::clone(ring)
}

/// Returns the level in a filter such as `info,rutter_session=debug`. Filters of single modules are ignored.
pub(crate) fn level(text: &str) -> Level {
    let plain = text.split(',').find(|part| !part.contains('='));
    let level = plain.and_then(|part| part.trim().parse().ok());
    level.unwrap_or(Level::INFO)
}

static LEVEL: AtomicU8 = AtomicU8::new(2);

fn rank(level: Level) -> u8 {
    match level {
        Level::ERROR => 0,
        Level::WARN => 1,
        Level::INFO => 2,
        Level::DEBUG => 3,
        _ => 4,
    }
}

/// Returns whether an event is logged. Libraries log each attempt at `info`, while we log its result. Their events
/// appear two levels later. rskafka also returns each error that it logs, and we log it with sink and topic.
fn is_logged(target: &str, level: Level, most: u8) -> bool {
    let later = match target {
        ours if ours.starts_with("rutter") => 0,
        rskafka if rskafka.starts_with("rskafka") && level == Level::ERROR => 3,
        _ => 2,
    };
    rank(level) + later <= most
}

struct Logger {
    format: LogFormat,
    ring: Arc<LogRing>,
}

impl tracing::Subscriber for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let level = LEVEL.load(Ordering::Relaxed);
        metadata.is_event() && is_logged(metadata.target(), *metadata.level(), level)
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let line = match self.format {
            LogFormat::Text => fields.text(now, *event.metadata().level()),
            LogFormat::Json => fields.json(now, *event.metadata().level()),
        };
        let _ = writeln!(std::io::stderr().lock(), "{line}");
        let metadata = event.metadata();
        let record = fields.record(now, *metadata.level(), metadata.target());
        self.ring.push(Arc::new(record));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// The message and the fields of an event.
#[derive(Default)]
struct Fields {
    message: String,
    rest: Vec<(&'static str, String)>,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.take(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.take(field, value.to_owned());
    }
}

impl Fields {
    fn take(&mut self, field: &Field, value: String) {
        if field.name() == "message" {
            self.message = value;
        } else {
            self.rest.push((field.name(), value));
        }
    }

    fn record(&self, now: Duration, level: Level, target: &'static str) -> Record {
        let peer = self.rest.iter().find(|(name, _)| *name == "peer");
        Record {
            unix_us: now.as_micros() as u64,
            level,
            target,
            peer: peer.map(|(_, value)| value.clone()),
            message: self.with_fields(|name| name != "peer"),
        }
    }

    fn text(&self, now: Duration, level: Level) -> String {
        format!(
            "{} {level:>5} {}",
            Timestamp(now),
            self.with_fields(|_| true)
        )
    }

    fn with_fields(&self, wanted: impl Fn(&str) -> bool) -> String {
        let mut line = one_line(&self.message);
        for (name, value) in self.rest.iter().filter(|(name, _)| wanted(name)) {
            if value.contains([' ', '"', '=']) || value.contains(char::is_control) {
                let _ = write!(line, " {name}={value:?}");
            } else {
                let _ = write!(line, " {name}={value}");
            }
        }
        line
    }

    fn json(&self, now: Duration, level: Level) -> String {
        let mut object = serde_json::Map::new();
        object.insert("time".into(), Timestamp(now).to_string().into());
        object.insert("level".into(), level.as_str().to_lowercase().into());
        object.insert("message".into(), self.message.clone().into());
        for (name, value) in &self.rest {
            object.insert((*name).into(), value.clone().into());
        }
        serde_json::Value::Object(object).to_string()
    }
}

/// Replaces control characters: text of a neighbor must not forge lines.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// Formats the time since 1970 as in RFC 3339: UTC with milliseconds.
pub(crate) struct Timestamp(pub(crate) Duration);

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let date = Date::of_second(seconds);
        let (h, m, s) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        let milliseconds = self.0.subsec_millis();
        write!(f, "{date}T{h:02}:{m:02}:{s:02}.{milliseconds:03}Z")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_rfc_3339() {
        let at = |s| Timestamp(Duration::from_millis(s)).to_string();
        assert_eq!(at(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(951_782_400_123), "2000-02-29T00:00:00.123Z");
        assert_eq!(at(1_798_761_599_999), "2026-12-31T23:59:59.999Z");
    }

    #[test]
    fn libraries_are_logged_at_more_verbose_levels() {
        let logged = |target, level, most| is_logged(target, level, rank(most));
        assert!(logged("rutter_sinks::service", Level::INFO, Level::INFO));
        assert!(!logged("rutter_sinks::service", Level::DEBUG, Level::INFO));
        assert!(!logged("rskafka::backoff", Level::WARN, Level::INFO));
        assert!(logged("tokio_postgres::client", Level::ERROR, Level::INFO));
        assert!(!logged(
            "rskafka::client::partition",
            Level::ERROR,
            Level::INFO
        ));
        assert!(logged(
            "rskafka::client::partition",
            Level::ERROR,
            Level::DEBUG
        ));
        assert!(logged("rskafka::backoff", Level::WARN, Level::DEBUG));
        assert!(logged("rskafka::backoff", Level::INFO, Level::TRACE));
    }

    #[test]
    fn a_forged_line_stays_one_line() {
        let fields = Fields {
            message: "peer said\nERROR fake".into(),
            rest: vec![("text", "a \"b\"\n".into())],
        };
        let line = fields.text(Duration::ZERO, Level::INFO);
        assert!(!line.contains('\n'), "{line}");
        let json = fields.json(Duration::ZERO, Level::INFO);
        let value: serde_json::Value = serde_json::from_str(&json).expect("valid JSON");
        assert_eq!(value["text"], "a \"b\"\n");
    }

    #[test]
    fn the_ring_keeps_the_latest() {
        let ring = LogRing {
            lines: Mutex::default(),
            grown: Condvar::new(),
        };
        for i in 0..RING_LINES + 5 {
            ring.push(Arc::new(Record {
                unix_us: i as u64,
                level: Level::INFO,
                target: "test",
                peer: None,
                message: String::new(),
            }));
        }
        let (lines, next) = ring.read(OLDEST, Duration::ZERO);
        assert_eq!((lines.len(), lines[0].unix_us), (RING_LINES, 5));
        assert_eq!(ring.read(next, Duration::ZERO).0.len(), 0);
    }
}
