//! The counters of a session.

use rutter_wire::frame::MessageType;

use crate::DownReason;

/// The counters of a session.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Received messages, by [`MessageType`] number less one.
    pub received: [u64; 5],
    /// Messages that the session sent, by [`MessageType`] number less one. The caller sends the UPDATEs.
    pub sent: [u64; 5],
    /// The number of times that the session was Established.
    pub established: u64,
    /// The number of attempts to connect.
    pub connects: u64,
    /// ConnectRetryCounter (RFC 4271 §8): faults since the last stable session.
    pub faults_in_a_row: u32,
    /// The time of the last change of state, milliseconds.
    pub state_since_ms: u64,
    /// The time, in milliseconds, and the reason of the last end of a connection.
    pub last_end: Option<(u64, DownReason)>,
}

impl Stats {
    pub(crate) fn count_received(&mut self, kind: MessageType, count: u64) {
        self.received[kind as usize - 1] += count;
    }

    pub(crate) fn count_sent(&mut self, kind: MessageType) {
        self.sent[kind as usize - 1] += 1;
    }
}
