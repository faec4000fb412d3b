//! The hand-over to a new version: another process takes the sockets, the sessions and the table, and goes on in the
//! middle of the stream. No session ends, and no UPDATE is sent that is not a change.
//!
//! ```text
//! old process                                   new process
//!   starts it ───────────────────────────────►  reads and checks the configuration
//!   clock, listening sockets ────────────────►  starts the sources of outside data
//!   ◄────────────────────────────── Hello ────
//!   the table, then its changes, in stages ──►  builds the same again
//!   ◄───────────────────────────── Staged ────
//!   holds its I/O threads and the table
//!   neighbors, their sockets, last changes ──►
//!   a collector's services, their sockets ───►
//!   ◄────────────────────────────── Ready ────
//!   Go, and ends ────────────────────────────►  reads and writes the sockets
//! ```
//!
//! Until the old process holds still, it serves as usual. So the length of the pause depends on the number of neighbors and
//! on what changed last, not on the size of the table.
//!
//! Invariant: until it sends Go, the old process can go on as if nothing had been. It ends the new process before it
//! does. A process without Go never reads or writes a neighbor's socket, and ends as soon as the old one ends.

mod channel;
mod end_watch;
mod give;
mod peer_record;
mod program;
mod services;
mod take;

use rutter_policy::OutsideData;

pub(crate) use give::{UpgradeDesk, serve};
pub use program::Program;
pub use services::{GivenService, HeldServices, MovableServices, NotHeld, TakenService};

/// The kinds of outside data, each with whether there are any.
fn kinds_of_data(data: &OutsideData) -> [(&'static str, bool); 3] {
    [
        ("VRPs", data.vrps.is_some()),
        ("ASPAs", data.aspas.is_some()),
        ("IRR data", data.irr.is_some()),
    ]
}
pub(crate) use take::{Predecessor, TakeServices};
