//! The published state of one station.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rutter_api::{StationRow, StationState};

/// Counters without a lock, the other fields behind one that is held briefly.
pub(crate) struct StationStatus {
    name: String,
    address: SocketAddr,
    pub(super) messages: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) connects: AtomicU64,
    /// The times that the table was sent again, because the station was too slow or the table too busy.
    pub(super) resyncs: AtomicU64,
    /// The changed routes that the station has not been sent yet.
    pub(super) waiting: AtomicU64,
    pub(super) unsent_bytes: AtomicU64,
    pub(super) sessions: AtomicU64,
    /// The bytes of the present connection that are in `bytes`.
    counted: AtomicU64,
    phase: Mutex<Phase>,
}

struct Phase {
    state: StationState,
    since_ms: u64,
    /// The text of the last error and its time.
    last_error: Option<(String, u64)>,
}

impl StationStatus {
    pub(super) fn new(name: String, address: SocketAddr, now_ms: u64) -> Self {
        StationStatus {
            name,
            address,
            messages: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            connects: AtomicU64::new(0),
            resyncs: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            unsent_bytes: AtomicU64::new(0),
            sessions: AtomicU64::new(0),
            counted: AtomicU64::new(0),
            phase: Mutex::new(Phase {
                state: StationState::Connecting,
                since_ms: now_ms,
                last_error: None,
            }),
        }
    }

    /// Publishes the state.
    pub(super) fn set(&self, state: StationState, now_ms: u64) {
        let mut phase = self.phase.lock();
        if phase.state != state {
            phase.state = state;
            phase.since_ms = now_ms;
        }
    }

    /// Publishes the bytes that the station has taken over the present connection.
    pub(super) fn count_taken(&self, taken: u64) {
        let before = self.counted.swap(taken, Ordering::Relaxed);
        self.bytes.fetch_add(taken - before, Ordering::Relaxed);
    }

    /// Publishes the end of the connection.
    pub(super) fn disconnected(&self) {
        for gauge in [
            &self.counted,
            &self.waiting,
            &self.unsent_bytes,
            &self.sessions,
        ] {
            gauge.store(0, Ordering::Relaxed);
        }
    }

    /// Publishes an error.
    pub(super) fn failed(&self, error: &str, now_ms: u64) {
        self.phase.lock().last_error = Some((error.to_owned(), now_ms));
    }

    /// The row of `rutter show stations`.
    pub(super) fn row(&self, now_ms: u64) -> StationRow {
        let phase = self.phase.lock();
        let ago_s = |ms: u64| now_ms.saturating_sub(ms) / 1_000;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let error = phase.last_error.as_ref();
        StationRow {
            name: self.name.clone(),
            address: self.address,
            state: phase.state,
            state_for_s: ago_s(phase.since_ms),
            sessions: count(&self.sessions),
            messages: count(&self.messages),
            bytes: count(&self.bytes),
            waiting_routes: count(&self.waiting),
            unsent_bytes: count(&self.unsent_bytes),
            connects: count(&self.connects),
            resyncs: count(&self.resyncs),
            last_error: error.map(|(text, _)| text.clone()),
            last_error_ago_s: error.map(|(_, at)| ago_s(*at)),
        }
    }
}
