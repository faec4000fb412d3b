//! What a sink is doing, for people and for metrics.

use std::fmt::Write as _;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::spool::Position;

/// A sink's own figures, shared between its threads and whoever asks.
#[derive(Clone, Default)]
pub struct Status(Arc<Mutex<StatusView>>);

/// The figures at one moment. Counters count from the start of the process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatusView {
    /// The sink's name.
    pub name: String,
    /// Whether it is connected.
    pub connected: bool,
    /// Whether the whole table or a peer's is being loaded.
    pub loading: bool,
    /// Rows that were committed as events.
    pub events: u64,
    /// Routes that were committed by loads.
    pub loaded: u64,
    /// Batches committed.
    pub batches: u64,
    /// Loads finished.
    pub loads: u64,
    /// Gaps told.
    pub gaps: u64,
    /// Rows and messages that gaps hid.
    pub lost: u64,
    /// Failures of the store.
    pub failures: u64,
    /// The last one, in words.
    pub trouble: Option<String>,
    /// Why rows are being dropped, while they are.
    pub dropping: Option<String>,
    /// Octets in the spool.
    pub spool_bytes: u64,
    /// Behind the last committed row.
    pub position: Option<Position>,
    /// Wall time of the last committed row, microseconds since 1970.
    pub last_time_us: u64,
    /// Rows that were taken from the feed.
    pub taken: u64,
    /// Those of them that wait.
    pub waiting: u64,
}

impl Status {
    /// Of a sink of this name.
    pub fn new(name: &str) -> Self {
        let status = Self::default();
        status.update(|view| view.name = name.to_owned());
        status
    }

    /// The figures now.
    pub fn view(&self) -> StatusView {
        self.0.lock().clone()
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut StatusView)) {
        change(&mut self.0.lock());
    }
}

/// Name, type, help and value of a metric.
type Metric = (
    &'static str,
    &'static str,
    &'static str,
    fn(&StatusView) -> u64,
);

const METRICS: &[Metric] = &[
    (
        "rutter_sink_connected",
        "gauge",
        "Whether the sink is connected.",
        |v| v.connected.into(),
    ),
    (
        "rutter_sink_loading",
        "gauge",
        "Whether whole tables are being loaded.",
        |v| v.loading.into(),
    ),
    (
        "rutter_sink_events_total",
        "counter",
        "Events committed.",
        |v| v.events,
    ),
    (
        "rutter_sink_loaded_routes_total",
        "counter",
        "Routes committed by loads.",
        |v| v.loaded,
    ),
    (
        "rutter_sink_batches_total",
        "counter",
        "Batches committed.",
        |v| v.batches,
    ),
    ("rutter_sink_gaps_total", "counter", "Gaps told.", |v| {
        v.gaps
    }),
    (
        "rutter_sink_lost_total",
        "counter",
        "Rows and messages hidden by gaps.",
        |v| v.lost,
    ),
    (
        "rutter_sink_failures_total",
        "counter",
        "Failures of the store.",
        |v| v.failures,
    ),
    (
        "rutter_sink_spool_bytes",
        "gauge",
        "Octets waiting on disk.",
        |v| v.spool_bytes,
    ),
    (
        "rutter_sink_waiting_rows",
        "gauge",
        "Rows waiting: how far the sink is behind.",
        |v| v.waiting,
    ),
    (
        "rutter_sink_last_committed_seconds",
        "gauge",
        "Wall time of the last committed row, since 1970.",
        |v| v.last_time_us / 1_000_000,
    ),
];

impl StatusView {
    /// One line for people.
    pub fn line(&self) -> String {
        let state = match (&self.trouble, self.connected, self.loading) {
            (Some(trouble), false, _) => format!("away: {trouble}"),
            (_, false, _) => "connecting".to_owned(),
            (_, true, true) => "loading".to_owned(),
            (_, true, false) => "live".to_owned(),
        };
        format!(
            "{}: {state}; {} events, {} routes loaded, {} rows wait ({} octets), {} gaps",
            self.name, self.events, self.loaded, self.waiting, self.spool_bytes, self.gaps
        )
    }
}

/// The figures of all sinks in Prometheus' text form.
pub fn metrics(sinks: &[StatusView]) -> String {
    let mut out = String::new();
    for (name, kind, help, value) in METRICS {
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for sink in sinks {
            let _ = writeln!(out, "{name}{{sink=\"{}\"}} {}", sink.name, value(sink));
        }
    }
    out
}
