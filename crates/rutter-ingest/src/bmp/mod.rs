//! The BMP station (RFC 7854): routers connect, and the sessions that they monitor become peers of the table.
//!
//! ```text
//! TCP ─► Connection (a thread a router) ─► Router (no I/O) ─► Writer ─► Rib
//! ```
//! A router that sends faster than the table takes is slowed by TCP; nothing is queued.

mod changes;
mod connection;
mod monitored;
mod names;
mod reading;
mod router;
mod station;
mod status;
mod target;

pub use station::{Station, StationError};
pub use status::{Counter, PeerStatus, RouterStatus};
pub use target::Target;
