//! What a collector adds to the daemon: feeds in, services out, all around the one table.
//!
//! ```text
//! BGP sessions (rutter-daemon) ─┐                 ┌─► Rib::subscribe, Rib::snapshot ─► services
//! BMP station, MRT files ───────┴─► Batch ─► Rib ─┘   (SQL, history, sinks, streams)
//! ```
//! Every service is started with a [`Context`], owns its threads, and never makes BGP wait.

pub mod bmp;
mod board;
mod clock;
mod context;
mod keepalive;
mod listen;
pub mod mrt;
mod pause;
pub mod replay;
mod seldom;
mod stop;
pub mod stream;
mod writer;

pub use board::Board;
pub use context::{Context, Service};
pub use stop::Stop;
