//! The one table: every received route, the decision process and the outbound streams.
//!
//! ```text
//! UPDATE body ─► Batch::push ─► Rib::commit (shards) ─► Rib::flush (groups) ─► ClientStream ─► bytes
//!                                        └─► Rib::snapshot, Rib::feed (readers)
//! ```
//! No sockets, no clock, no configuration files: everything comes in as arguments, so the simulator runs this
//! very code.

mod anew;
mod attrs;
mod audience;
mod batch;
mod bitset;
mod catch_up;
mod change;
mod clients;
mod contest;
mod decision;
mod edit;
mod encode;
mod explain;
mod extent;
mod feed;
mod group;
mod lengths;
mod lifecycle;
mod log;
mod lookup;
mod memory;
mod monitored;
mod news;
mod peer;
mod plain;
mod rejudge;
mod retell;
mod rib;
mod route;
mod routes;
mod shard;
mod snapshot;
mod stream;
mod sweep;
mod table;
mod together;
mod told;
mod topology;
mod unread;
mod walk;

pub use attrs::AttrSet;
pub use batch::{Batch, Pushed};
#[doc(hidden)]
pub use contest::Contest;
pub use decision::Step;
pub use explain::{Candidate, ClientVerdict, Explanation, Withheld};
pub use extent::NewFile;
pub use feed::{FeedEvent, FeedReader};
pub use lifecycle::Retain;
pub use lookup::{Lookup, RoutesOf};
pub use memory::MemoryRow;
pub use monitored::{Monitored, Source, View};
pub use peer::{
    FamilyInfo, Neighbor, PeerId, PeerKind, RibConfig, RouteCounts, SessionInfo, TooManyNeighbors,
};
pub use rib::Rib;
pub use snapshot::{DestinationView, PeerSummary, RouteView, Snapshot};
pub use stream::{ClientStream, FileRange};
pub use sweep::Sweeper;
pub use told::Body;
