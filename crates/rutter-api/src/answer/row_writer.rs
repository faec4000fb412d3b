//! Passes the rows of an answer to the transport.

use std::io;
use std::time::Duration;

use crate::{ErrorReason, Line};

/// The reason why an answer ends early.
#[derive(Debug)]
pub enum Failure {
    /// The request is refused, with a message for the user.
    Refused(String),
    /// The request names something that does not exist, with a message for the user.
    NotFound(String),
    /// No neighbor has this name, address or AS number. Each transport says where its users find them.
    NoNeighbor(String),
    /// The client may only read, with a message for the user.
    ReadOnly(String),
    /// Changes that the client wants are not kept any more, with a message for the user.
    ChangesLost(String),
    /// The client has disconnected or is too slow.
    Disconnected(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Disconnected(error)
    }
}

impl Failure {
    /// The message that no neighbor is called `wanted`, and where the user finds all of them.
    pub fn no_neighbor(wanted: &str, list: &str) -> String {
        format!("no neighbor has the name, address or AS number `{wanted}`: `{list}` lists them")
    }

    /// Refuses the request with a message.
    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Failure::Refused(text.into())
    }

    /// Returns the reason and the message for the client, or the error of a client that has disconnected.
    pub(crate) fn into_parts(self) -> Result<(ErrorReason, String), io::Error> {
        match self {
            Failure::Refused(message) => Ok((ErrorReason::Refused, message)),
            Failure::NotFound(message) => Ok((ErrorReason::NotFound, message)),
            Failure::NoNeighbor(wanted) => Ok((
                ErrorReason::NotFound,
                Failure::no_neighbor(&wanted, "rutter show peers"),
            )),
            Failure::ReadOnly(message) => Ok((ErrorReason::ReadOnly, message)),
            Failure::ChangesLost(message) => Ok((ErrorReason::ChangesLost, message)),
            Failure::Disconnected(error) => Err(error),
        }
    }
}

/// The transport of an answer.
pub trait RowSink {
    /// Takes a row. An error ends the answer.
    fn write_row(&mut self, line: &Line) -> io::Result<()>;
    /// Passes all rows on to the client.
    fn flush(&mut self) -> io::Result<()>;
    /// Returns whether the client has disconnected. May wait for a moment.
    fn client_has_disconnected(&self) -> bool;
    /// The longest time of a page, so that other clients of the transport have their turn soon. The backend has a limit of
    /// its own.
    fn longest_page(&self) -> Duration {
        Duration::MAX
    }
}

/// Counts the rows of an answer.
pub(crate) struct RowWriter<'a> {
    sink: &'a mut dyn RowSink,
    count: u64,
}

impl<'a> RowWriter<'a> {
    /// Creates a writer for this transport.
    pub(crate) fn new(sink: &'a mut dyn RowSink) -> Self {
        RowWriter { sink, count: 0 }
    }

    /// Writes a row.
    pub(crate) fn send(&mut self, line: &Line) -> Result<(), Failure> {
        self.count += 1;
        self.sink.write_row(line).map_err(Failure::Disconnected)
    }

    /// Passes all rows on to the client.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.sink.flush().map_err(Failure::Disconnected)
    }

    /// Returns the number of rows written.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the longest time of a page.
    pub(crate) fn longest_page(&self) -> Duration {
        self.sink.longest_page()
    }

    /// Returns whether the client has disconnected.
    pub(crate) fn client_has_disconnected(&self) -> bool {
        self.sink.client_has_disconnected()
    }
}
