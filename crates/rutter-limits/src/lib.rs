//! Limits on load that a remote side can cause: connections, requests and log lines.
//!
//! [`ConnectionLimits`] counts connections, in all and for each source. [`RequestRate`] counts the requests of each source.
//! [`LogRateLimit`] suppresses log lines beyond a number in each period. [`FairQueue`] lets the work of each network begin
//! in turns.

mod connection_limits;
mod fair_queue;
mod log_rate_limit;
mod request_rate;

pub use connection_limits::{ConnectionLimits, ConnectionSlot, LimitReached, network};
pub use fair_queue::{FairQueue, WorkPlace};
pub use log_rate_limit::LogRateLimit;
pub use request_rate::RequestRate;
