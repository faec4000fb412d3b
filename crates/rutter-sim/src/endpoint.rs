//! One end of a session: the state machine and the bytes of its connections.

use rutter_session::{ConnectionId, Input, Output, Session};
use rutter_wire::frame::{MessageType, next_frame};
use rutter_wire::notification::Notification;

/// A request of an end to its owner.
#[derive(Debug)]
pub(crate) enum Request {
    /// Connect to the other end.
    Connect(ConnectionId),
    /// Close the connection after the bytes sent so far.
    Close(ConnectionId),
    /// An output for the owner of the routes.
    Routes(Output),
}

/// The consequences of an UPDATE for the session.
#[derive(Debug, Default)]
pub(crate) struct UpdateOutcome {
    pub end_of_rib: Option<rutter_net::Family>,
    pub reset: Option<Notification>,
}

/// A session with its received and unsent bytes, by connection.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub session: Session,
    unread: [Vec<u8>; 2],
    pub unsent: [Vec<u8>; 2],
    /// The open connections; an attempt to connect does not count.
    pub open: [bool; 2],
    /// The number of ROUTE-REFRESH messages received on established sessions (RFC 2918, RFC 7313).
    pub route_refreshes: u64,
}

impl Endpoint {
    pub fn new(session: Session) -> Self {
        Endpoint {
            session,
            unread: Default::default(),
            unsent: Default::default(),
            open: [false; 2],
            route_refreshes: 0,
        }
    }

    /// The end of another process, with the bytes of the established connection. All other connections are lost.
    pub fn continued(session: Session, before: &Endpoint) -> Self {
        let mut end = Endpoint::new(session);
        if let Some(connection) = end.session.established() {
            let at = connection.index();
            end.open[at] = true;
            end.unread[at].clone_from(&before.unread[at]);
            end.unsent[at].clone_from(&before.unsent[at]);
        }
        end
    }

    /// Passes one input to the session and collects its requests.
    pub fn handle(&mut self, now_ms: u64, input: Input<'_>, requests: &mut Vec<Request>) {
        self.session.handle(now_ms, input);
        self.collect(requests);
    }

    fn collect(&mut self, requests: &mut Vec<Request>) {
        while let Some(output) = self.session.poll_output() {
            match output {
                Output::Connect { connection } => requests.push(Request::Connect(connection)),
                Output::Send {
                    connection,
                    message,
                } => self.unsent[connection.index()].extend(message),
                Output::Close { connection } => {
                    self.open[connection.index()] = false;
                    self.unread[connection.index()].clear();
                    requests.push(Request::Close(connection));
                }
                Output::Event(_) => {}
                output => requests.push(Request::Routes(output)),
            }
        }
        self.session.check_invariants();
    }

    pub fn connected(
        &mut self,
        now_ms: u64,
        on: ConnectionId,
        outgoing: bool,
        w: &mut Vec<Request>,
    ) {
        self.open[on.index()] = true;
        self.unread[on.index()].clear();
        self.unsent[on.index()].clear();
        let connection = on;
        self.handle(
            now_ms,
            Input::Connected {
                connection,
                outgoing,
            },
            w,
        );
    }

    pub fn disconnected(&mut self, now_ms: u64, connection: ConnectionId, w: &mut Vec<Request>) {
        if std::mem::take(&mut self.open[connection.index()]) {
            self.unread[connection.index()].clear();
            self.unsent[connection.index()].clear();
            self.handle(now_ms, Input::Disconnected { connection }, w);
        }
    }

    /// Receives bytes: whole messages go to the session, UPDATEs of the established connection to `routes`.
    pub fn receive(
        &mut self,
        now_ms: u64,
        connection: ConnectionId,
        bytes: &[u8],
        requests: &mut Vec<Request>,
        mut routes: impl FnMut(&[u8]) -> UpdateOutcome,
    ) {
        let mut unread = std::mem::take(&mut self.unread[connection.index()]);
        unread.extend(bytes);
        let mut start = 0;
        while self.open[connection.index()] {
            let most = self.session.max_receive_len(connection);
            match next_frame(&unread[start..], most) {
                Ok(Some(frame)) => {
                    start += frame.wire.len();
                    let established = self.session.established() == Some(connection);
                    if frame.kind == MessageType::RouteRefresh && established {
                        self.route_refreshes += 1;
                    }
                    if frame.kind != MessageType::Update || !established {
                        self.handle(now_ms, Input::Message { connection, frame }, requests);
                        continue;
                    }
                    self.session.update_received(now_ms);
                    self.collect(requests);
                    let outcome = routes(frame.body);
                    if let Some(family) = outcome.end_of_rib {
                        self.handle(now_ms, Input::EndOfRib { family }, requests);
                    }
                    if let Some(notification) = outcome.reset {
                        self.handle(now_ms, Input::UpdateError { notification }, requests);
                    }
                }
                Ok(None) => break,
                Err(notification) => {
                    let input = Input::FramingError {
                        connection,
                        notification,
                    };
                    self.handle(now_ms, input, requests);
                    break;
                }
            }
        }
        if self.open[connection.index()] {
            unread.drain(..start);
            self.unread[connection.index()] = unread;
        }
    }

    pub fn tick(&mut self, now_ms: u64, requests: &mut Vec<Request>) {
        if self.session.next_deadline().is_some_and(|at| at <= now_ms) {
            self.handle(now_ms, Input::Tick, requests);
        }
    }
}
