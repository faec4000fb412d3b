//! The BMP station (RFC 7854). Routers connect, and their monitored sessions become peers of the table.
//!
//! ```text
//! TCP ─► Connection (a thread a router) ─► Router (no I/O) ─► Writer ─► Rib
//! ```
//! TCP slows down a router that sends faster than the table can accept. Nothing is queued.

mod changes;
mod connection;
mod monitored;
mod names;
mod oddities;
mod other_families;
mod peer_shares;
mod reading;
mod router;
mod station;
mod status;
mod target;

pub use other_families::FamilyCount;
pub use station::{HeldStation, Station, StationError, StationHandle, TakenStation};
pub use status::{Counter, PeerStatus, RouterStatus};
pub use target::Target;

#[cfg(test)]
mod agreement_tests;
#[cfg(test)]
mod warnings;
