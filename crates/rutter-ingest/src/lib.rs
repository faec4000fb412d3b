//! The inputs and streams of a collector: BMP station and target, MRT loader, RIS stream, replay.
//!
//! ```text
//! BGP sessions (rutter-daemon) ─┐                 ┌─► Rib::subscribe, Rib::snapshot ─► services
//! BMP station, MRT loader ──────┴─► Batch ─► Rib ─┘   (SQL, history, sinks, streams)
//! ```
//! Every service receives a [`Context`](rutter_service::Context), owns its threads, and never makes a BGP thread wait.

pub mod bmp;
mod clock;
mod io_timeout;
mod keepalive;
mod listen;
mod mrt_loader;
pub mod replay;
pub mod stream;
mod writer;

pub use mrt_loader::{LoadCounts, MrtLoader};
