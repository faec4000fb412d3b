//! Connections that are one too many, as long as they have not been told.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::AbortHandle;

/// Those of a server. A client that speaks is told at once; of those that say nothing only the last few are waited for.
#[derive(Clone, Default)]
pub struct Refused(Arc<Mutex<VecDeque<AbortHandle>>>);

impl Refused {
    /// One more. The one that has been silent for longest goes, where there are too many.
    pub fn add(&self, connection: AbortHandle) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|connection| !connection.is_finished());
        if waiting.len() >= MOST
            && let Some(longest) = waiting.pop_front()
        {
            longest.abort();
        }
        waiting.push_back(connection);
    }
}

/// Connections that are waited for at once.
const MOST: usize = 64;
