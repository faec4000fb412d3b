//! Limits on load that a remote side can cause: connections and log lines.
//!
//! [`ConnectionLimits`] counts connections, in all and for each source. [`LogRateLimit`] suppresses log lines beyond a
//! number in each period. Every server of the workspace uses these two.

mod connection_limits;
mod log_rate_limit;

pub use connection_limits::{ConnectionLimits, ConnectionSlot, LimitReached, network};
pub use log_rate_limit::LogRateLimit;
