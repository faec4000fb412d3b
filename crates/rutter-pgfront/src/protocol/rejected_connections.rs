//! Connections beyond the limit, until they have received their error.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::AbortHandle;

/// The rejected connections of a server. A client that sends a message receives the error. Only a few silent ones stay.
#[derive(Clone, Default)]
pub struct Refused(Arc<Mutex<VecDeque<AbortHandle>>>);

impl Refused {
    /// Adds a connection. Beyond the limit, the oldest one is closed.
    pub fn add(&self, connection: AbortHandle) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|connection| !connection.is_finished());
        if waiting.len() >= MAX_CONNECTIONS
            && let Some(longest) = waiting.pop_front()
        {
            longest.abort();
        }
        waiting.push_back(connection);
    }
}

/// The most silent connections that are kept.
const MAX_CONNECTIONS: usize = 64;
