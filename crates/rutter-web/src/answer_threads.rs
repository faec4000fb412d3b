//! The threads that compute answers, and whose turn is next.

use std::net::IpAddr;
use std::time::Duration;

use hyper::StatusCode;
use rutter_api::Request;
use rutter_server::{FairQueue, WorkPlace};
use tokio::task::JoinHandle;

use crate::problem::Problem;

/// Computes answers on threads that may wait. Each kind of work has threads of its own, and networks take turns on them.
pub(crate) struct AnswerThreads {
    walks: FairQueue,
    counts: FairQueue,
    short: FairQueue,
}

/// The kinds of work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Work {
    /// A walk over the table, page by page.
    Walk,
    /// A walk over the whole table in one go.
    Count,
    /// Everything else.
    Short,
}

/// The answers of each kind that are computed at a time, in all and for one network.
const WALKS: (usize, usize) = (4, 2);
const COUNTS: (usize, usize) = (1, 1);
const SHORT: (usize, usize) = (4, 2);

/// The largest number of threads.
pub(crate) const THREADS: usize = WALKS.0 + COUNTS.0 + SHORT.0;

/// The longest time until an answer is ready, the time for its turn included.
pub(crate) const ANSWER_TIME: Duration = Duration::from_secs(30);

/// The time in which all networks that wait have a page of their walks: half of a second, so that no answer takes longer
/// than one.
const ROUND: Duration = Duration::from_millis(500);
/// Shorter pages would take snapshots rather than walk.
const SHORTEST_PAGE: Duration = Duration::from_millis(5);

impl Work {
    /// Returns the kind of work of a request.
    pub(crate) fn of(request: &Request) -> Self {
        match request {
            Request::Routes(_) | Request::Rejected(_) | Request::Advertised(_) => Work::Walk,
            Request::Attributes { .. } | Request::Table(_) => Work::Count,
            _ => Work::Short,
        }
    }
}

/// The turn of a client.
pub(crate) struct Turn {
    place: WorkPlace,
    page_time: Duration,
    others_wait: bool,
}

impl Turn {
    /// Returns whether other networks wait for their walks.
    pub(crate) fn others_wait(&self) -> bool {
        self.others_wait
    }

    /// Computes on a thread of its own, with the longest time of a page. The work keeps its place until it ends.
    pub(crate) fn spawn<T: Send + 'static>(
        self,
        work: impl FnOnce(Duration) -> T + Send + 'static,
    ) -> JoinHandle<T> {
        tokio::task::spawn_blocking(move || {
            let _place = self.place;
            work(self.page_time)
        })
    }
}

impl AnswerThreads {
    pub(crate) fn new() -> Self {
        let queue = |(total, of_network)| FairQueue::new(total, of_network);
        AnswerThreads {
            walks: queue(WALKS),
            counts: queue(COUNTS),
            short: queue(SHORT),
        }
    }

    /// Waits for the turn of a client at this address. A client that leaves waits no longer.
    pub(crate) async fn turn(&self, kind: Work, client: IpAddr) -> Turn {
        let queue = match kind {
            Work::Walk => &self.walks,
            Work::Count => &self.counts,
            Work::Short => &self.short,
        };
        let place = queue.acquire(client).await;
        let waiting = self.walks.waiting_networks();
        Turn {
            place,
            page_time: page_time(waiting),
            others_wait: waiting > 0,
        }
    }

    /// Computes an answer for a client at this address, with the longest time of a page. An answer that has not begun is
    /// dropped with its client. One that has begun keeps its place until it ends.
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        kind: Work,
        client: IpAddr,
        work: impl FnOnce(Duration) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let answer = async { self.turn(kind, client).await.spawn(work).await };
        match tokio::time::timeout(ANSWER_TIME, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(panicked()),
            Err(_) => Err(busy()),
        }
    }
}

/// The answer's thread panicked.
pub(crate) fn panicked() -> Problem {
    Problem::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "the answer failed: the log has the reason",
    )
}

/// The time for an answer is over.
pub(crate) fn busy() -> Problem {
    Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "the daemon is busy: try again in a few seconds",
    )
}

/// The longest time of a page while so many networks wait for theirs. The backend has a limit of its own.
fn page_time(waiting_networks: usize) -> Duration {
    let networks = u32::try_from(waiting_networks + 1).unwrap_or(u32::MAX);
    (ROUND * WALKS.0 as u32 / networks).max(SHORTEST_PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_short_while_many_networks_wait() {
        let ms = |waiting| page_time(waiting).as_millis();
        assert_eq!((ms(0), ms(7), ms(15)), (2_000, 250, 125));
        assert_eq!((ms(199), ms(9_999)), (10, 5));
    }

    #[test]
    fn all_connections_have_their_turn_within_a_round() {
        let networks = crate::server::CONNECTIONS.0;
        let round = page_time(networks) * networks as u32 / WALKS.0 as u32;
        assert!(round <= ROUND * 3 / 2, "{round:?}");
    }
}
