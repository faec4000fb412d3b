//! The parts that long-running services share: context, shutdown, status, limits on connections and log lines.
//!
//! The collector gives a [`Context`] to each [`Service`] that it starts. A service runs on its own threads and never
//! makes a BGP thread wait.

mod connection_limits;
mod context;
mod log_rate_limit;
mod shutdown_signal;
mod status_registry;

pub use connection_limits::{ConnectionLimits, ConnectionSlot, LimitReached, network};
pub use context::{Context, Service};
pub use log_rate_limit::LogRateLimit;
pub use shutdown_signal::ShutdownSignal;
pub use status_registry::StatusRegistry;
