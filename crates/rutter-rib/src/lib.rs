//! The one table: every received route, the decision process and the outbound streams.
//!
//! ```text
//! UPDATE body ─► Batch::push ─► Rib::commit (shards) ─► Rib::flush (groups) ─► ClientStream ─► bytes
//!                                        └─► Rib::snapshot, Rib::feed (readers)
//! ```
//! It uses no sockets, no clock and no configuration files. Everything comes in as arguments, so the simulator runs
//! this very code.
//!
//! `rib` is the table as its threads see it. `neighbor`, `topology` and `lifecycle` hold the neighbors and their
//! sessions. The folders follow a route's way: `adj_rib_in`, `decision`, `advertise`. `reevaluate` applies changed
//! policies to held routes; `read` serves readers; `handover` passes the table to another process.

mod adj_rib_in;
mod advertise;
mod allocation;
mod bench_support;
mod client_options;
mod decision;
mod handover;
mod lifecycle;
mod monitored;
mod neighbor;
mod peer_set;
mod read;
mod reevaluate;
mod rib;
mod topology;

pub use adj_rib_in::attr_set::AttrSet;
pub use adj_rib_in::batch::{Batch, Pushed};
pub use adj_rib_in::sweeper::Sweeper;
pub use advertise::client_stream::{ClientStream, FileRange};
pub use advertise::export_view::Withheld;
pub use advertise::memfd_segment::NewFile;
#[doc(hidden)]
pub use bench_support::RoutePair;
pub use client_options::ClientOptions;
pub use decision::{FileAttributes, FileRoute, Step, best_file_route};
pub use handover::{HeldTable, ImportedSets, ImportedTable, TableExport, TableImport, TableTotals};
pub use lifecycle::Retain;
pub use monitored::{Monitored, Source, View};
pub use neighbor::{
    BlockAbove, FamilyInfo, Intake, IntakeLimits, Neighbor, NotKept, PeerId, PeerKind,
    RESERVED_IDS, RouteCounts, SessionInfo, TooManyNeighbors,
};
pub use read::change_log::{
    ChangeLog, ChangedPeer, ChangedRoute, ChangesLost, LoggedChange, RouteOutcome, TableChange,
};
pub use read::explain::{Candidate, ClientVerdict, Explanation};
pub use read::export_counts::{ExportCount, ExportCounts, RouteCondition};
pub use read::exports::{ExportedDestination, ExportedRoute, SentRoute};
pub use read::feed::{FeedEvent, FeedReader};
pub use read::feed_batch::Body;
pub use read::lookup::{Lookup, RouteFilter};
pub use read::memory::{MemoryRow, PeerMemory, RoutesState};
pub use read::preview::{PreviewedPolicy, PreviewedRoute};
pub use read::snapshot::{
    DestinationPlace, DestinationView, PeerSummary, RouteView, Snapshot, UnreadDestination,
};
pub use read::station_view::{ReportedDestination, ReportedRoute, StationView, advertised_path_id};
pub use rib::{Rib, RibConfig};
