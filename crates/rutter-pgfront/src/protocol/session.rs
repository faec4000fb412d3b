//! One connection: how long it may take to log in, to be idle, and to read an answer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pgwire::error::{ErrorInfo, PgWireError, PgWireResult};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::Bounds;
use super::connection_limits::Door;

/// A connection, as far as its time is counted.
#[derive(Clone)]
pub struct Session {
    state: Arc<Mutex<State>>,
    places: Arc<Semaphore>,
    bounds: Bounds,
}

struct State {
    place: Place,
    logged_in: bool,
    /// Queries that are answered.
    busy: usize,
    /// When something happened last.
    last: Instant,
    /// The time of a query, as far as the client wants it shorter.
    patience: Option<Duration>,
}

/// What a connection takes from others.
enum Place {
    /// None: it was one too many, and is told so.
    Nothing,
    /// Before the login.
    Door { _door: Door },
    /// After it.
    Seat { _seat: OwnedSemaphorePermit },
}

/// Marks a query of a connection as long as it is answered.
pub struct Busy(Session);

impl Session {
    /// A connection that has not logged in; `places` are for those that have.
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

    /// Whether it was one too many.
    pub fn is_refused(&self) -> bool {
        matches!(self.state().place, Place::Nothing)
    }

    /// The client has shown who it is.
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

    /// Something happens.
    pub fn touch(&self) {
        self.state().last = Instant::now();
    }

    /// Queries may take so long from now on, or as long as any.
    pub fn set_patience(&self, time: Option<Duration>) {
        self.state().patience = time;
    }

    /// How long a query may take.
    pub fn patience(&self) -> Duration {
        let all = self.bounds.query;
        self.state().patience.map_or(all, |own| own.min(all))
    }

    /// A query begins.
    pub fn busy(&self) -> Busy {
        let mut state = self.state();
        state.busy += 1;
        state.last = Instant::now();
        Busy(self.clone())
    }

    /// Waits until the connection has had its time. Why it ends.
    pub async fn over(&self) -> &'static str {
        loop {
            let (until, why) = {
                let state = self.state();
                let (time, why) = match (state.logged_in, state.busy) {
                    _ if matches!(state.place, Place::Nothing) => (REFUSAL, "it was one too many"),
                    (false, _) => (self.bounds.login, "it did not log in"),
                    (true, 0) => (self.bounds.idle, "it was idle"),
                    // The query itself ends after this time; its answer may be read for as long again.
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
    /// A part of the answer has been taken.
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

/// To tell a client that it is one too many, and why.
const REFUSAL: Duration = Duration::from_secs(2);
/// A query that has taken all its time says so itself.
const SLACK: Duration = Duration::from_secs(30);
