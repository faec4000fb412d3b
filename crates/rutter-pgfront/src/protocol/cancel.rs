//! Cancelling a query from another connection, as the protocol requires.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use pgwire::api::ClientInfo;
use pgwire::api::cancel::CancelHandler;
use pgwire::messages::cancel::CancelRequest;
use tokio::sync::watch;

use super::session::RunningQuery;

/// Identifies a connection: process id and secret.
type Key = (i32, Vec<u8>);

/// The query that runs on each connection.
#[derive(Clone, Default)]
pub struct Running(Arc<Mutex<HashMap<Key, watch::Sender<bool>>>>);

/// A query while it runs.
pub struct Query {
    running: Running,
    key: Key,
    cancelled: watch::Receiver<bool>,
    busy: RunningQuery,
}

impl Running {
    /// Registers a query of this client.
    pub fn begin(&self, client: &impl ClientInfo, busy: RunningQuery) -> Query {
        let (pid, secret) = client.pid_and_secret_key();
        let key = (pid, secret.to_bytes().to_vec());
        let (sender, cancelled) = watch::channel(false);
        let mut queries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        queries.insert(key.clone(), sender);
        Query {
            running: self.clone(),
            key,
            cancelled,
            busy,
        }
    }
}

impl Query {
    /// Records that the client has read a part of the answer.
    pub fn record_activity(&self) {
        self.busy.record_activity();
    }

    /// Waits until the query is cancelled.
    pub async fn cancelled(&mut self) {
        if self
            .cancelled
            .wait_for(|cancelled| *cancelled)
            .await
            .is_err()
        {
            // Another query of the same connection replaced this one: it can no longer be cancelled.
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Query {
    fn drop(&mut self) {
        let mut queries = self
            .running
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let own = |sender: &watch::Sender<bool>| self.cancelled.same_channel(&sender.subscribe());
        if queries.get(&self.key).is_some_and(own) {
            queries.remove(&self.key);
        }
    }
}

#[async_trait]
impl CancelHandler for Running {
    async fn on_cancel_request(&self, request: CancelRequest) {
        let key = (request.pid, request.secret_key.to_bytes().to_vec());
        let queries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(query) = queries.get(&key) {
            let _ = query.send(true);
        }
    }
}
