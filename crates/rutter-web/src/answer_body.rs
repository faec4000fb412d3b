//! Bodies that are made while they are sent.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame};

use crate::byte_budget::CountedBody;
use crate::open_connections::OpenConnection;

/// A body of any kind. An error ends the connection, so that the client does not take a part for the whole.
pub(crate) type AnswerBody = Pin<Box<dyn Body<Data = Bytes, Error = io::Error> + Send>>;

/// Wraps a body of known length.
pub(crate) fn whole(body: CountedBody) -> AnswerBody {
    Box::pin(body)
}

/// Makes the parts of a body one after another, each when the client has room for it.
pub(crate) trait PartSource: Send + 'static {
    /// Returns the next part, or `None` after the last.
    fn next_part(&mut self) -> impl Future<Output = io::Result<Option<Bytes>>> + Send;
}

/// Sends the parts of a source.
pub(crate) fn parts<S: PartSource>(source: S, progress: Arc<OpenConnection>) -> AnswerBody {
    progress.begin_parts();
    Box::pin(PartBody {
        next: next_of(source),
        progress,
    })
}

/// The next part, with its source for the one after it.
type Next<S> = Pin<Box<dyn Future<Output = (S, io::Result<Option<Bytes>>)> + Send>>;

fn next_of<S: PartSource>(mut source: S) -> Next<S> {
    Box::pin(async move {
        let part = source.next_part().await;
        (source, part)
    })
}

struct PartBody<S> {
    next: Next<S>,
    progress: Arc<OpenConnection>,
}

impl<S> Drop for PartBody<S> {
    fn drop(&mut self) {
        self.progress.end_parts();
    }
}

impl<S: PartSource> Body for PartBody<S> {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let (source, part) = std::task::ready!(self.next.as_mut().poll(context));
        self.progress.note();
        self.next = next_of(source);
        Poll::Ready(part.map(|part| part.map(Frame::data)).transpose())
    }
}
