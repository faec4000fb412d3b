//! One connection: how long it may take to log in, to be idle, and to read an answer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pgwire::error::{ErrorInfo, PgWireError, PgWireResult};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::Bounds;

/// A connection, as far as its time is counted.
#[derive(Clone)]
pub struct Session {
    state: Arc<Mutex<State>>,
    places: Arc<Semaphore>,
    bounds: Bounds,
}

struct State {
    /// Before the login: a place among those that log in. After it: one among those that ask.
    place: Option<OwnedSemaphorePermit>,
    logged_in: bool,
    /// Queries that are answered.
    busy: usize,
    /// When something happened last.
    last: Instant,
}

/// Marks a query of a connection as long as it is answered.
pub struct Busy(Session);

impl Session {
    /// A connection that has not logged in; `places` are for those that have.
    pub fn new(door: OwnedSemaphorePermit, places: Arc<Semaphore>, bounds: Bounds) -> Self {
        let state = State {
            place: Some(door),
            logged_in: false,
            busy: 0,
            last: Instant::now(),
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
        state.place = Some(place);
        state.logged_in = true;
        state.last = Instant::now();
        Ok(())
    }

    /// Something happens.
    pub fn touch(&self) {
        self.state().last = Instant::now();
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

/// A query that has taken all its time says so itself.
const SLACK: Duration = Duration::from_secs(30);
