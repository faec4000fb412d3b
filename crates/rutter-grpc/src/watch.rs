//! The stream of changes for one client.
//!
//! A client that reads slowly costs this thread, the messages in its queue and a place in the daemon's log. While it reads
//! nothing, the daemon closes the connection after a minute. Then the thread continues after the last change that the
//! client was sent, so nothing is lost while the daemon's log has it. Otherwise the stream ends with OUT_OF_RANGE.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;

use rutter_api::{ChangesQuery, Line, Request};
use rutter_server::ConnectionSlot;
use tokio::sync::mpsc::{Receiver, Sender};
use tokio_stream::Stream;
use tonic::{Code, Status};

use crate::daemon::{Daemon, failure};
use crate::v1::WatchChangesResponse;

type Message = Result<WatchChangesResponse, Status>;
type Messages = Sender<Message>;

/// The messages for a client, until it loses its role.
pub(crate) struct PermittedChanges {
    messages: Receiver<Message>,
    /// Ends with the reason. `None` after the last message.
    refusal: Option<Pin<Box<dyn Future<Output = Status> + Send>>>,
}

impl PermittedChanges {
    pub(crate) fn new(
        messages: Receiver<Message>,
        refusal: impl Future<Output = Status> + Send + 'static,
    ) -> Self {
        PermittedChanges {
            messages,
            refusal: Some(Box::pin(refusal)),
        }
    }
}

impl Stream for PermittedChanges {
    type Item = Message;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Message>> {
        let Some(refusal) = &mut self.refusal else {
            return Poll::Ready(None);
        };
        if let Poll::Ready(why) = refusal.as_mut().poll(cx) {
            self.refusal = None;
            // The thread ends when it sends its next message.
            self.messages.close();
            return Poll::Ready(Some(Err(why)));
        }
        self.messages.poll_recv(cx)
    }
}

/// Starts to send changes. The thread ends with the client.
pub(crate) fn start(
    daemon: Arc<Daemon>,
    query: ChangesQuery,
    messages: Messages,
    place: ConnectionSlot,
) -> Result<(), Status> {
    let watch = move || {
        let _place = place;
        if let Err(End::Failed(status)) = send(&daemon, query, &messages) {
            let _ = messages.blocking_send(Err(status));
        }
    };
    let thread = thread::Builder::new().name("watch".into()).spawn(watch);
    thread
        .map(drop)
        .map_err(|why| Status::resource_exhausted(format!("no thread for this client: {why}")))
}

/// The reason why a stream ends.
enum End {
    /// The client has gone.
    Gone,
    /// The client is sent this.
    Failed(Status),
}

/// Sends changes until the stream ends. It connects to the daemon again where the connection ends and had been of use.
fn send(daemon: &Daemon, mut query: ChangesQuery, messages: &Messages) -> Result<(), End> {
    loop {
        let request = Request::Changes(query.clone());
        let mut was_of_use = false;
        for line in daemon.follow(request).map_err(End::Failed)? {
            let message = match line {
                Ok(Line::Change { change }) => WatchChangesResponse {
                    number: change.number,
                    change: Some((*change).into()),
                },
                Ok(Line::ChangesRead { number }) => WatchChangesResponse {
                    number,
                    change: None,
                },
                Ok(Line::Error { message, reason }) => {
                    let status = failure(&message, reason, Code::InvalidArgument, &[]);
                    return Err(End::Failed(status));
                }
                Err(why) => match daemon.hangs(&why) {
                    Some(status) => return Err(End::Failed(status)),
                    None => break,
                },
                Ok(_) => break,
            };
            query.after = Some(message.number);
            was_of_use = true;
            messages.blocking_send(Ok(message)).map_err(|_| End::Gone)?;
        }
        if !was_of_use {
            let after = query.after.unwrap_or_default();
            return Err(End::Failed(Status::unavailable(format!(
                "the daemon closed the connection: connect again, and continue after {after}"
            ))));
        }
    }
}
