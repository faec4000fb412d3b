//! Limits on a connection to an IRRd server.

use std::time::Duration;

/// The limits on one connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IrrdLimits {
    /// The time to connect to one address.
    pub connect_timeout: Duration,
    /// The time without any byte from the server, while it owes a reply.
    pub idle_timeout: Duration,
    /// The time for the whole connection.
    pub total_timeout: Duration,
    /// The longest reply in bytes.
    pub max_reply: usize,
    /// The most queries without a reply. Their lines must fit into the socket's buffers.
    pub pipeline: usize,
}

impl Default for IrrdLimits {
    /// 10 s, 60 s, 30 min, 16 MiB, 128 queries.
    fn default() -> Self {
        IrrdLimits {
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(60),
            total_timeout: Duration::from_secs(1800),
            max_reply: 16 << 20,
            pipeline: 128,
        }
    }
}
