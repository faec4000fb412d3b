//! The open connections: one that only waits gives way to a new one.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rutter_server::{LimitReached, network};
use tokio::sync::Notify;

/// A connection that has waited for a request for this time gives way.
const PATIENCE: Duration = Duration::from_secs(1);
/// A connection gives way whose client has had room for no part of an answer for this time. The stream of changes has a part
/// every few seconds.
const PATIENCE_OF_ANSWER: Duration = Duration::from_secs(10);

/// The open connections of a server.
#[derive(Default)]
pub(crate) struct OpenConnections(Mutex<Vec<Arc<OpenConnection>>>);

/// One connection.
pub(crate) struct OpenConnection {
    network: IpAddr,
    /// The requests that are being answered: 0 or 1.
    requests: AtomicUsize,
    /// The answers that are being sent in parts: 0 or 1.
    sending: AtomicUsize,
    /// The time at which it was opened, or its last answer or part of an answer was ready.
    waits_since: Mutex<Instant>,
    /// The parts of answers that it had room for: it shows whether a client reads an answer that is made while it is sent.
    parts: AtomicU64,
    gives_way: Notify,
    /// It must give way.
    is_leaving: AtomicBool,
}

/// No thread panics while it holds one of these locks.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl OpenConnections {
    fn all(&self) -> MutexGuard<'_, Vec<Arc<OpenConnection>>> {
        locked(&self.0)
    }

    /// Adds a connection that was accepted now.
    pub(crate) fn add(&self, from: IpAddr) -> Arc<OpenConnection> {
        let connection = Arc::new(OpenConnection {
            network: network(from),
            requests: AtomicUsize::new(0),
            sending: AtomicUsize::new(0),
            waits_since: Mutex::new(Instant::now()),
            parts: AtomicU64::new(0),
            gives_way: Notify::new(),
            is_leaving: AtomicBool::new(false),
        });
        self.all().push(Arc::clone(&connection));
        connection
    }

    /// Removes a connection that has ended.
    pub(crate) fn remove(&self, ended: &Arc<OpenConnection>) {
        self.all().retain(|one| !Arc::ptr_eq(one, ended));
    }

    /// Lets the connection that has waited the longest give way to one from `from`. Returns `false` if none has waited
    /// long. For the limit of a network, it is one of this network.
    pub(crate) fn make_room(&self, from: IpAddr, reached: LimitReached) -> bool {
        let all = self.all();
        let from = network(from);
        let may_go = |one: &&Arc<OpenConnection>| {
            (reached == LimitReached::Total || one.network == from)
                && one.requests.load(Ordering::Relaxed) == 0
                && !one.is_leaving.load(Ordering::Relaxed)
                && one.waits_since().elapsed() >= one.patience()
        };
        let longest = all.iter().filter(may_go);
        let longest = longest.min_by_key(|one| one.waits_since());
        if let Some(one) = longest {
            one.is_leaving.store(true, Ordering::Relaxed);
            one.gives_way.notify_one();
        }
        longest.is_some()
    }
}

impl OpenConnection {
    fn waits_since(&self) -> Instant {
        *locked(&self.waits_since)
    }

    /// A request has arrived.
    pub(crate) fn begin_answer(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// The answer is ready.
    pub(crate) fn end_answer(&self) {
        *locked(&self.waits_since) = Instant::now();
        self.requests.fetch_sub(1, Ordering::Relaxed);
    }

    fn patience(&self) -> Duration {
        match self.sending.load(Ordering::Relaxed) {
            0 => PATIENCE,
            _ => PATIENCE_OF_ANSWER,
        }
    }

    /// An answer in parts begins.
    pub(crate) fn begin_parts(&self) {
        self.sending.fetch_add(1, Ordering::Relaxed);
    }

    /// An answer in parts has ended.
    pub(crate) fn end_parts(&self) {
        self.sending.fetch_sub(1, Ordering::Relaxed);
    }

    /// The connection has room for a part of an answer.
    pub(crate) fn note(&self) {
        *locked(&self.waits_since) = Instant::now();
        self.parts.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of parts so far.
    pub(crate) fn parts(&self) -> u64 {
        self.parts.load(Ordering::Relaxed)
    }

    /// Waits until it must give way.
    pub(crate) async fn must_give_way(&self) {
        self.gives_way.notified().await;
    }
}
