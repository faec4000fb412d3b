//! The rights of a socket's clients, and the record of their actions.

use crate::answer::{Failure, RowSink, answer};
use crate::{Backend, ClearHow, Done, Request, SourceAction};

/// The rights of a socket's clients.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Everything.
    Control,
    /// Read: nothing that changes the daemon, and no files.
    ReadOnly,
}

/// The client of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Caller {
    /// Its rights.
    pub access: Access,
    /// Its name in the audit log: `alice (uid 1000, pid 4711)`.
    pub who: String,
}

impl Caller {
    /// Returns this client as one that asks for another user.
    pub(crate) fn on_behalf_of(&self, user: Option<&str>) -> Caller {
        let mut caller = self.clone();
        if let Some(user) = user {
            // One line of the log, whatever the program wrote.
            let user = user.chars().filter(|one| !one.is_control());
            caller.who.push_str(" for ");
            caller.who.extend(user.take(LONGEST_USER));
        }
        caller
    }
}

/// The longest name of a user in the audit log, characters.
const LONGEST_USER: usize = 100;

/// A request to change the daemon, with its outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AuditEntry<'a> {
    /// Who asked.
    pub who: &'a str,
    /// The action: `clear hard AS64511`.
    pub action: &'a str,
    /// The result, or the error, for people.
    pub outcome: Result<&'a str, &'a str>,
}

/// Answers a request if the caller may make it. Requests to change the daemon are audited. A
/// refused one is not: everybody may make it, and would fill the audit log.
pub(crate) fn answer_to(
    caller: &Caller,
    request: &Request,
    backend: &dyn Backend,
    sink: &mut dyn RowSink,
) -> Result<Done, Failure> {
    let action = request.action();
    let is_refused = match (caller.access, request) {
        (Access::Control, _) => false,
        // The errors in a file show parts of it.
        (Access::ReadOnly, Request::Diff { file: Some(_), .. } | Request::DiffText(_)) => true,
        (Access::ReadOnly, _) => action.is_some(),
    };
    let audit = |outcome| {
        if let Some(action) = &action {
            let who = &caller.who;
            backend.audit(AuditEntry {
                who,
                action,
                outcome,
            });
        }
    };
    if is_refused {
        let text = "this socket only reads: ask on the control socket";
        return Err(Failure::ReadOnly(text.to_owned()));
    }
    if matches!(request, Request::Shutdown { .. }) {
        // Afterwards there may be no time left.
        audit(Ok("shutting down"));
        return answer(request, backend, sink);
    }
    let result = answer(request, backend, sink);
    match &result {
        Ok(done) => audit(Ok(done.message.as_deref().unwrap_or("done"))),
        Err(
            Failure::Refused(text)
            | Failure::NotFound(text)
            | Failure::ReadOnly(text)
            | Failure::ChangesLost(text),
        ) => audit(Err(text)),
        Err(Failure::NoNeighbor(wanted)) => {
            audit(Err(&format!("no neighbor is called `{wanted}`")))
        }
        Err(Failure::Disconnected(_)) => audit(Ok("done; the client did not wait for the answer")),
    }
    result
}

impl Request {
    /// Returns what this request changes, in words, or `None` if it only reads.
    fn action(&self) -> Option<String> {
        Some(match self {
            Request::Clear { peer, how } => {
                let how = match how {
                    ClearHow::Hard => "hard",
                    ClearHow::SoftIn => "soft-in",
                    ClearHow::SoftOut => "soft-out",
                };
                format!("clear {how} {peer}")
            }
            Request::Source { name, action } => {
                let action = match action {
                    SourceAction::Refresh => "refresh",
                    SourceAction::Accept => "accept",
                };
                format!("source {action} {name}")
            }
            Request::Reload => "reload".to_owned(),
            Request::Shutdown { text } => match text {
                Some(text) => format!("shutdown with the text {text:?}"),
                None => "shutdown".to_owned(),
            },
            Request::Apply(order) => format!("apply {}", order.file.display()),
            Request::Confirm => "confirm".to_owned(),
            Request::Rollback { number } => match number {
                Some(number) => format!("rollback {number}"),
                None => "rollback".to_owned(),
            },
            Request::Upgrade => "upgrade".to_owned(),
            Request::Status
            | Request::History
            | Request::Peers
            | Request::Peer { .. }
            | Request::Routes(_)
            | Request::Route { .. }
            | Request::Lookup(_)
            | Request::Table(_)
            | Request::Rejected(_)
            | Request::Advertised(_)
            | Request::Attributes { .. }
            | Request::Memory
            | Request::Sinks
            | Request::Routers
            | Request::Sources
            | Request::Stations
            | Request::Explain { .. }
            | Request::Log { .. }
            | Request::Changes(_)
            | Request::Diff { .. }
            | Request::DiffText(_)
            | Request::DiffSources { .. } => return None,
        })
    }
}
