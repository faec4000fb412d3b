//! Counters of a session.

use rutter_wire::frame::MessageType;

use crate::DownReason;

/// What happened so far.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Messages received, by [`MessageType`] number less one.
    pub received: [u64; 5],
    /// Messages that the session sent (UPDATEs are not its own), by [`MessageType`] number less one.
    pub sent: [u64; 5],
    /// Times that the session was Established.
    pub established: u64,
    /// Times that we tried to connect.
    pub connects: u64,
    /// ConnectRetryCounter (RFC 4271 §8): faults since the last stable session.
    pub faults_in_a_row: u32,
    /// When the state changed last, milliseconds.
    pub state_since_ms: u64,
    /// Why a connection ended last, and when.
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
