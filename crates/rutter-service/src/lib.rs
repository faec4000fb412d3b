//! The parts that long-running services share: context, shutdown and status.
//!
//! The collector gives a [`Context`] to each [`Service`] that it starts. A service runs on its own threads and never
//! makes a BGP thread wait.

mod context;
mod feed_pause;
mod shutdown_signal;
mod status_registry;

pub use context::{Context, Service};
pub use feed_pause::{FEED_PATIENCE, FeedPause, FeedPosition, Paused};
pub use shutdown_signal::ShutdownSignal;
pub use status_registry::StatusRegistry;
