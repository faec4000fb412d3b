//! One end of a neighborship: a session and the bytes of its connections.

use rutter_session::{Connection, Input, Output, Session};
use rutter_wire::frame::{MessageType, next_frame};
use rutter_wire::notification::Notification;

/// What an end asks of those around it.
#[derive(Debug)]
pub(crate) enum Wanted {
    /// A connection to the other end.
    Connect(Connection),
    /// The connection closes after what was sent.
    Close(Connection),
    /// Something for the owner of the routes.
    Routes(Output),
}

/// What the owner of the routes says of an UPDATE.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    pub end_of_rib: Option<rutter_net::Family>,
    pub reset: Option<Notification>,
}

/// A session with the octets that came and those to be sent, by connection.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub session: Session,
    unread: [Vec<u8>; 2],
    pub unsent: [Vec<u8>; 2],
    /// Connections that stand; an attempt under way is none yet.
    pub open: [bool; 2],
}

impl Endpoint {
    pub fn new(session: Session) -> Self {
        Endpoint {
            session,
            unread: Default::default(),
            unsent: Default::default(),
            open: [false; 2],
        }
    }

    /// Gives the session one input and collects what it wants.
    pub fn handle(&mut self, now_ms: u64, input: Input<'_>, wanted: &mut Vec<Wanted>) {
        self.session.handle(now_ms, input);
        self.collect(wanted);
    }

    fn collect(&mut self, wanted: &mut Vec<Wanted>) {
        while let Some(output) = self.session.poll_output() {
            match output {
                Output::Connect { connection } => wanted.push(Wanted::Connect(connection)),
                Output::Send {
                    connection,
                    message,
                } => self.unsent[connection.index()].extend(message),
                Output::Close { connection } => {
                    self.open[connection.index()] = false;
                    self.unread[connection.index()].clear();
                    wanted.push(Wanted::Close(connection));
                }
                Output::Note(_) => {}
                output => wanted.push(Wanted::Routes(output)),
            }
        }
        self.session.check_invariants();
    }

    pub fn connected(&mut self, now_ms: u64, on: Connection, outgoing: bool, w: &mut Vec<Wanted>) {
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

    pub fn disconnected(&mut self, now_ms: u64, connection: Connection, w: &mut Vec<Wanted>) {
        if std::mem::take(&mut self.open[connection.index()]) {
            self.unread[connection.index()].clear();
            self.unsent[connection.index()].clear();
            self.handle(now_ms, Input::Disconnected { connection }, w);
        }
    }

    /// Takes octets that arrived; whole messages go to the session, UPDATEs of the established one to `routes`.
    pub fn receive(
        &mut self,
        now_ms: u64,
        connection: Connection,
        bytes: &[u8],
        wanted: &mut Vec<Wanted>,
        mut routes: impl FnMut(&[u8]) -> Judged,
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
                    if frame.kind != MessageType::Update || !established {
                        self.handle(now_ms, Input::Message { connection, frame }, wanted);
                        continue;
                    }
                    self.session.update_received(now_ms);
                    self.collect(wanted);
                    let judged = routes(frame.body);
                    if let Some(family) = judged.end_of_rib {
                        self.handle(now_ms, Input::EndOfRib { family }, wanted);
                    }
                    if let Some(notification) = judged.reset {
                        self.handle(now_ms, Input::UpdateError { notification }, wanted);
                    }
                }
                Ok(None) => break,
                Err(notification) => {
                    let input = Input::FramingError {
                        connection,
                        notification,
                    };
                    self.handle(now_ms, input, wanted);
                    break;
                }
            }
        }
        if self.open[connection.index()] {
            unread.drain(..start);
            self.unread[connection.index()] = unread;
        }
    }

    pub fn tick(&mut self, now_ms: u64, wanted: &mut Vec<Wanted>) {
        if self.session.next_deadline().is_some_and(|at| at <= now_ms) {
            self.handle(now_ms, Input::Tick, wanted);
        }
    }
}
