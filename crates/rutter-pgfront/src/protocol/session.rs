//! The timeouts of a connection: for its login, between queries, and for an answer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pgwire::error::{ErrorInfo, PgWireError, PgWireResult};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::Bounds;
use super::connection_limits::Door;

/// The timers of a connection.
#[derive(Clone)]
pub struct Session {
    state: Arc<Mutex<State>>,
    places: Arc<Semaphore>,
    bounds: Bounds,
}

struct State {
    place: Place,
    logged_in: bool,
    /// The number of running queries.
    busy: usize,
    /// The time of the last activity.
    last: Instant,
    /// The client's own timeout of a query.
    patience: Option<Duration>,
}

/// The place that a connection occupies.
enum Place {
    /// None: the connection is rejected.
    Nothing,
    /// A place before the login.
    Door { _door: Door },
    /// A place after the login.
    Seat { _seat: OwnedSemaphorePermit },
}

/// Marks a query as running.
pub struct Busy(Session);

impl Session {
    /// A connection that has not logged in. `places` are the places of connections that have.
    pub fn new(door: Option<Door>, places: Arc<Semaphore>, bounds: Bounds) -> Self {
        let state = State {
            place: door.map_or(Place::Nothing, |door| Place::Door { _door: door }),
            logged_in: false,
            busy: 0,
            last: Instant::now(),
            patience: None,
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            places,
            bounds,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the connection is rejected.
    pub fn is_refused(&self) -> bool {
        matches!(self.state().place, Place::Nothing)
    }

    /// Takes a place after the login.
    pub fn admit(&self) -> PgWireResult<()> {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            return Err(fatal(
                "53300",
                format!(
                    "{} connections are open already (sql.max-connections): try again later",
                    self.bounds.connections
                ),
            ));
        };
        let mut state = self.state();
        state.place = Place::Seat { _seat: place };
        state.logged_in = true;
        state.last = Instant::now();
        Ok(())
    }

    /// Records activity.
    pub fn touch(&self) {
        self.state().last = Instant::now();
    }

    /// Sets the client's own timeout of queries; `None`: the server's.
    pub fn set_patience(&self, time: Option<Duration>) {
        self.state().patience = time;
    }

    /// The timeout of a query.
    pub fn patience(&self) -> Duration {
        let all = self.bounds.query;
        self.state().patience.map_or(all, |own| own.min(all))
    }

    /// Marks the begin of a query.
    pub fn busy(&self) -> Busy {
        let mut state = self.state();
        state.busy += 1;
        state.last = Instant::now();
        Busy(self.clone())
    }

    /// Waits until the connection times out. Returns the reason.
    pub async fn over(&self) -> &'static str {
        loop {
            let (until, why) = {
                let state = self.state();
                let (time, why) = match (state.logged_in, state.busy) {
                    _ if matches!(state.place, Place::Nothing) => (REFUSAL, "it was one too many"),
                    (false, _) => (self.bounds.login, "it did not log in"),
                    (true, 0) => (self.bounds.idle, "it was idle"),
                    // The query itself ends after this time. Its answer may be read for as long again.
                    (true, _) => (self.bounds.query + SLACK, "it did not read its answer"),
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

impl Busy {
    /// Records that the client has read a part of the answer.
    pub fn touch(&self) {
        self.0.touch();
    }
}

impl Drop for Busy {
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
const SLACK: Duration = Duration::from_secs(30);
