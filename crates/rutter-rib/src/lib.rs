//! The one table: every received route, the decision process and the outbound streams.
//!
//! ```text
//! UPDATE body ─► Batch::push ─► Rib::commit (shards) ─► Rib::flush (groups) ─► ClientStream ─► bytes
//!                                        └─► Rib::snapshot, Rib::feed (readers)
//! ```
//! No sockets, no clock, no configuration files: everything comes in as arguments, so the simulator runs this
//! very code.

mod peer;
mod skeleton;

pub use peer::{FamilyInfo, Neighbor, PeerId, PeerKind, RibConfig, RouteCounts, SessionInfo};
pub use skeleton::*;
