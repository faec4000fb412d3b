//! The timeouts of a connection: for its login, between queries, and for an answer.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pgwire::error::{ErrorInfo, PgWireError, PgWireResult};
use rutter_server::{ConnectionLimits, ConnectionSlot};
use tokio::time::Instant;

use super::ConnectionBounds;

/// The timers of a connection.
#[derive(Clone)]
pub struct Session {
    state: Arc<Mutex<State>>,
    peer: IpAddr,
    /// Counts the connections that have logged in.
    clients: ConnectionLimits,
    bounds: ConnectionBounds,
}

struct State {
    /// The slot among the logins, and after the login among the clients. `None`: the connection is rejected.
    slot: Option<ConnectionSlot>,
    logged_in: bool,
    /// The number of running queries.
    busy: usize,
    /// The time of the last activity.
    last: Instant,
    /// The client's own timeout of a query.
    query_timeout: Option<Duration>,
}

/// Marks a query as running.
pub struct RunningQuery(Session);

impl Session {
    /// A connection that has not logged in. `clients` counts the connections that have.
    pub fn new(
        peer: IpAddr,
        slot: Option<ConnectionSlot>,
        clients: ConnectionLimits,
        bounds: ConnectionBounds,
    ) -> Self {
        let state = State {
            slot,
            logged_in: false,
            busy: 0,
            last: Instant::now(),
            query_timeout: None,
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            peer,
            clients,
            bounds,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the connection is rejected.
    pub fn is_refused(&self) -> bool {
        self.state().slot.is_none()
    }

    /// Takes a place after the login.
    pub fn admit(&self) -> PgWireResult<()> {
        let Ok(slot) = self.clients.acquire(self.peer) else {
            return Err(fatal(
                "53300",
                format!(
                    "{} connections are open already (sql.max-connections): try again later",
                    self.bounds.connections
                ),
            ));
        };
        let mut state = self.state();
        state.slot = Some(slot);
        state.logged_in = true;
        state.last = Instant::now();
        Ok(())
    }

    /// Records activity.
    pub fn record_activity(&self) {
        self.state().last = Instant::now();
    }

    /// Sets the client's own timeout of queries; `None`: the server's.
    pub fn set_query_timeout(&self, time: Option<Duration>) {
        self.state().query_timeout = time;
    }

    /// The timeout of a query.
    pub fn query_timeout(&self) -> Duration {
        let all = self.bounds.query;
        self.state().query_timeout.map_or(all, |own| own.min(all))
    }

    /// Marks the begin of a query.
    pub fn busy(&self) -> RunningQuery {
        let mut state = self.state();
        state.busy += 1;
        state.last = Instant::now();
        RunningQuery(self.clone())
    }

    /// Waits until the connection times out. Returns the reason.
    pub async fn timed_out(&self) -> &'static str {
        loop {
            let (until, why) = {
                let state = self.state();
                let (time, why) = match (state.logged_in, state.busy) {
                    _ if state.slot.is_none() => (REFUSAL, "it was one too many"),
                    (false, _) => (self.bounds.login, "it did not log in"),
                    (true, 0) => (self.bounds.idle, "it was idle"),
                    // The query itself ends after this time. Its answer may be read for as long again.
                    (true, _) => (
                        self.bounds.query + ANSWER_TIMEOUT,
                        "it did not read its answer",
                    ),
                };
                (state.last + time, why)
            };
            if Instant::now() >= until {
                return why;
            }
            tokio::time::sleep_until(until).await;
        }
    }
}

impl RunningQuery {
    /// Records that the client has read a part of the answer.
    pub fn record_activity(&self) {
        self.0.record_activity();
    }
}

impl Drop for RunningQuery {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.busy = state.busy.saturating_sub(1);
        state.last = Instant::now();
    }
}

/// An error that ends the connection.
pub fn fatal(state: &str, text: String) -> PgWireError {
    PgWireError::UserError(Box::new(ErrorInfo::new("FATAL".into(), state.into(), text)))
}

/// How long a rejected client may take to receive its error.
const REFUSAL: Duration = Duration::from_secs(2);
/// The extra time for a query that reports its own timeout.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
