//! The threads that compute answers, and whose turn is next.

use std::net::IpAddr;
use std::time::Duration;

use hyper::StatusCode;
use rutter_api::Request;
use rutter_limits::FairQueue;

use crate::problem::Problem;

/// Computes answers on threads that may wait. Each kind of work has threads of its own, and networks take turns on them.
pub(crate) struct AnswerThreads {
    walks: FairQueue,
    short: FairQueue,
}

/// The kinds of work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Work {
    /// A walk over the table. One page of it takes up to a quarter of a second.
    Walk,
    /// Everything else.
    Short,
}

/// The answers of each kind that are computed at a time, in all and for one network.
const WALKS: (usize, usize) = (4, 2);
const SHORT: (usize, usize) = (4, 2);

/// The largest number of threads.
pub(crate) const THREADS: usize = WALKS.0 + SHORT.0;

/// The longest time until an answer is ready, the time for its turn included.
const ANSWER_TIME: Duration = Duration::from_secs(30);

impl Work {
    /// Returns the kind of work of a request.
    pub(crate) fn of(request: &Request) -> Self {
        match request {
            Request::Routes(_)
            | Request::Rejected(_)
            | Request::Advertised(_)
            | Request::Attributes { .. }
            | Request::Table(_) => Work::Walk,
            _ => Work::Short,
        }
    }
}

impl AnswerThreads {
    pub(crate) fn new() -> Self {
        AnswerThreads {
            walks: FairQueue::new(WALKS.0, WALKS.1),
            short: FairQueue::new(SHORT.0, SHORT.1),
        }
    }

    /// Computes an answer for a client at this address. An answer that has not begun is dropped with its client. One that
    /// has begun keeps its place until it ends.
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        kind: Work,
        client: IpAddr,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let queue = match kind {
            Work::Walk => &self.walks,
            Work::Short => &self.short,
        };
        let answer = async {
            let place = queue.acquire(client).await;
            let answer = tokio::task::spawn_blocking(move || {
                let _place = place;
                work()
            });
            answer.await
        };
        match tokio::time::timeout(ANSWER_TIME, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(Problem::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the answer failed: the log has the reason",
            )),
            Err(_) => Err(Problem::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "the daemon is busy: try again in a few seconds",
            )),
        }
    }
}
