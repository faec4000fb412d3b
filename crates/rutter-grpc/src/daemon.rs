//! Requests to the daemon, over its socket.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rutter_api::{Client, Done, ErrorReason, Line, Request};
use rutter_server::FairQueue;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tonic::{Code, Status};

use crate::admission::Caller;

/// The pages of lists that are read from the daemon at a time, in all and for the clients of one network. It has 28 places for
/// clients of other users.
const LISTS: (usize, usize) = (8, 4);
/// The other answers that are read at a time.
const SHORT: (usize, usize) = (4, 2);
/// The largest number of answers that are read at a time.
pub(crate) const ANSWERS: usize = LISTS.0 + SHORT.0;
/// The rows of the largest answer. A page ends with a whole destination, which has at most 1,024 paths of a neighbor.
const MOST_ROWS: usize = 20_000;
/// A daemon that has not answered by then hangs. The server itself ends a call later, and says less.
pub(crate) const PATIENCE: Duration = Duration::from_secs(25);
/// A daemon that sends changes sends a sign of life every five seconds.
const QUIET: Duration = Duration::from_secs(15);
/// The longest message of an error, bytes: gRPC sends it in a header.
const LONGEST_MESSAGE: usize = 2_000;

/// A daemon, and the places of requests to it.
pub(crate) struct Daemon {
    socket: PathBuf,
    lists: FairQueue,
    short: FairQueue,
    /// The longest time until an answer is complete.
    patience: Duration,
    /// The code of a request that the daemon refuses.
    refused: Code,
}

/// An answer of the daemon.
pub(crate) struct Answer {
    pub(crate) lines: Vec<Line>,
    pub(crate) done: Done,
}

impl Daemon {
    /// A daemon whose answers are read. If it refuses a request, the request is wrong.
    pub(crate) fn for_reading(socket: PathBuf) -> Self {
        Daemon::new(socket, Code::InvalidArgument)
    }

    /// A daemon that is asked whether it still answers. Clients do not take this place.
    pub(crate) fn for_health(socket: PathBuf, patience: Duration) -> Self {
        Daemon {
            short: FairQueue::new(1, 1),
            patience,
            ..Daemon::for_reading(socket)
        }
    }

    /// A daemon that is changed. If it refuses a request, it cannot carry it out as it is.
    pub(crate) fn for_control(socket: PathBuf) -> Self {
        Daemon::new(socket, Code::FailedPrecondition)
    }

    fn new(socket: PathBuf, refused: Code) -> Self {
        Daemon {
            socket,
            lists: FairQueue::new(LISTS.0, LISTS.1),
            short: FairQueue::new(SHORT.0, SHORT.1),
            patience: PATIENCE,
            refused,
        }
    }

    /// Reads the answer to a request of this server itself.
    pub(crate) async fn ask(&self, request: Request) -> Result<Answer, Status> {
        let own = Ipv4Addr::LOCALHOST.into();
        self.answer(request, own, None).await
    }

    /// Reads the answer to a request of a client at this address.
    pub(crate) async fn ask_from(
        &self,
        client: IpAddr,
        request: Request,
    ) -> Result<Answer, Status> {
        self.answer(request, client, None).await
    }

    /// As [`Daemon::ask_from`], for a user that the audit log of the daemon names.
    pub(crate) async fn ask_for(
        &self,
        caller: &Caller,
        request: Request,
    ) -> Result<Answer, Status> {
        let user = Some(caller.name.clone());
        self.answer(request, caller.address, user).await
    }

    async fn answer(
        &self,
        request: Request,
        client: IpAddr,
        user: Option<String>,
    ) -> Result<Answer, Status> {
        let answer = timeout(self.patience, self.answer_at_last(request, client, user));
        let late = |_| Status::deadline_exceeded(silence(&self.socket, self.patience));
        answer.await.map_err(late)?
    }

    /// Waits for a place, and for the answer.
    async fn answer_at_last(
        &self,
        request: Request,
        client: IpAddr,
        user: Option<String>,
    ) -> Result<Answer, Status> {
        let queue = match request {
            Request::Routes(_) | Request::Rejected(_) | Request::Advertised(_) => &self.lists,
            _ => &self.short,
        };
        let place = queue.acquire(client).await;
        let (socket, patience, refused) = (self.socket.clone(), self.patience, self.refused);
        let reading = spawn_blocking(move || {
            // A client that cancels its call keeps the place until the daemon has answered.
            let _place = place;
            let client = connect(&socket, patience)?;
            let answer = match user {
                Some(user) => client.call_for(&user, request),
                None => client.call(request),
            };
            let failed = |why: io::Error| unreachable(&socket, patience, &why);
            collect(answer.map_err(failed)?, refused, failed)
        });
        reading
            .await
            .map_err(|why| Status::internal(why.to_string()))?
    }

    /// Connects for an answer without an end. Without a sign of life its next line is an error: see [`Daemon::hangs`].
    pub(crate) fn follow(&self, request: Request) -> Result<rutter_api::Answer, Status> {
        let answer = connect(&self.socket, QUIET)?.call(request);
        answer.map_err(|why| unreachable(&self.socket, QUIET, &why))
    }

    /// Returns the status of a stream after this error if the daemon hangs. Otherwise it has closed the connection.
    pub(crate) fn hangs(&self, why: &io::Error) -> Option<Status> {
        is_late(why).then(|| Status::unavailable(silence(&self.socket, QUIET)))
    }
}

fn is_late(why: &io::Error) -> bool {
    matches!(
        why.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

fn silence(socket: &Path, patience: Duration) -> String {
    format!(
        "the daemon at {} has sent nothing for {patience:?}: it hangs, or is stopped, or has too much to do; \
         it may still carry out the request when it continues",
        socket.display()
    )
}

fn connect(socket: &Path, patience: Duration) -> Result<Client, Status> {
    let client = Client::connect(socket).and_then(|client| {
        client.set_patience(patience)?;
        Ok(client)
    });
    client.map_err(|why| unreachable(socket, patience, &why))
}

/// Reads all lines of an answer. `failed` makes the status of a failed read.
fn collect(
    answer: rutter_api::Answer,
    refused: Code,
    failed: impl Fn(io::Error) -> Status,
) -> Result<Answer, Status> {
    let mut lines = Vec::new();
    for line in answer {
        match line.map_err(&failed)? {
            Line::Done(done) => return Ok(Answer { lines, done }),
            Line::Error { message, reason } => {
                return Err(failure(&message, reason, refused, &lines));
            }
            line if lines.len() < MOST_ROWS => lines.push(line),
            _ => {
                return Err(Status::resource_exhausted(format!(
                    "the answer has more than {MOST_ROWS} rows: ask for fewer"
                )));
            }
        }
    }
    Err(Status::unavailable("the daemon sent no end of its answer"))
}

/// The failure of a request. Errors in a configuration come before it, as rows.
pub(crate) fn failure(message: &str, reason: ErrorReason, refused: Code, rows: &[Line]) -> Status {
    let code = match reason {
        ErrorReason::Refused => refused,
        ErrorReason::NotFound => Code::NotFound,
        ErrorReason::ReadOnly => Code::PermissionDenied,
        ErrorReason::ChangesLost => Code::OutOfRange,
    };
    let mut text = message.to_owned();
    for row in rows {
        if let Line::ConfigError(row) = row {
            text.push('\n');
            text.push_str(&row.text);
        }
    }
    if text.len() > LONGEST_MESSAGE {
        let end = (0..=LONGEST_MESSAGE)
            .rev()
            .find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or_default());
        text.push('…');
    }
    Status::new(code, text)
}

/// The status after a failed connection or read. A read and its call have the same limit. The client receives the same
/// status whichever of them ends first.
fn unreachable(socket: &Path, patience: Duration, why: &io::Error) -> Status {
    if is_late(why) {
        return Status::deadline_exceeded(silence(socket, patience));
    }
    Status::unavailable(format!("no daemon answers at {}: {why}", socket.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_the_code_of_its_reason_and_the_text_of_the_daemon() {
        let code = |reason| failure("why", reason, Code::InvalidArgument, &[]).code();
        assert_eq!(code(ErrorReason::Refused), Code::InvalidArgument);
        assert_eq!(code(ErrorReason::NotFound), Code::NotFound);
        assert_eq!(code(ErrorReason::ReadOnly), Code::PermissionDenied);
        assert_eq!(code(ErrorReason::ChangesLost), Code::OutOfRange);
        let long = "ö".repeat(LONGEST_MESSAGE);
        let status = failure(&long, ErrorReason::Refused, Code::Internal, &[]);
        assert!(status.message().len() <= LONGEST_MESSAGE + '…'.len_utf8());
        assert!(status.message().ends_with("ö…"));
    }

    #[tokio::test]
    async fn a_daemon_that_hangs_ends_a_call_with_a_reason() {
        let name = format!("rutter-grpc-hangs-{}", std::process::id());
        let socket = std::env::temp_dir().join(name);
        let _ = std::fs::remove_file(&socket);
        let _accepts_nothing = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let daemon = Daemon::for_health(socket.clone(), Duration::from_millis(100));
        // The second one waits for the place of the first.
        for _ in 0..2 {
            let Err(status) = daemon.ask(Request::Status).await else {
                panic!("an answer");
            };
            assert_eq!(status.code(), Code::DeadlineExceeded);
            let text = status.message();
            assert!(text.contains("nothing for 100ms: it hangs"), "{text}");
        }
        std::fs::remove_file(&socket).unwrap();
    }

    #[test]
    fn a_late_read_has_the_status_of_a_late_call() {
        let late = io::Error::from(io::ErrorKind::WouldBlock);
        let status = unreachable(Path::new("/s"), PATIENCE, &late);
        assert_eq!(status.code(), Code::DeadlineExceeded);
        assert_eq!(status.message(), silence(Path::new("/s"), PATIENCE));
    }

    #[tokio::test]
    async fn a_daemon_that_is_not_there_is_unavailable() {
        let daemon = Daemon::for_reading("/nowhere/s".into());
        let Err(status) = daemon.ask(Request::Status).await else {
            panic!("an answer");
        };
        assert_eq!(status.code(), Code::Unavailable);
        assert!(status.message().contains("/nowhere/s"));
    }
}
