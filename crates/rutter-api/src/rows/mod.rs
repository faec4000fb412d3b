//! The rows of answers. Their JSON has the same fields.

mod advertised;
mod change;
mod collector;
mod config;
mod explain;
mod lookup;
mod peer;
mod process;
mod route;
mod sample;
mod schemas;
mod source;
mod station;

pub use advertised::{
    AdvertisedCountRow, AdvertisedRow, WithheldCountRow, WithheldReasonRow, WithheldRouteRow,
};
pub use change::{Change, ChangeRow, ChangedRoute, VerdictRow};
pub use collector::{OtherFamilyRow, RouterRow, SinkRow};
pub use config::{
    ChangedRow, ConfigErrorRow, DiffRow, HistoryRow, LimitChangeRow, ResetByRow, RouteChangeRow,
    RouteChangesRow,
};
pub use explain::{CandidateRow, ClientRow, ExplainRow, WithheldRow};
pub use lookup::{LookupRow, PrefixText, TableRoutesRow, TableSetRow};
pub use peer::{
    Direction, FamilyRow, MessageCounts, NegotiatedRow, PeerRow, PrefixLimitRow, SessionRow,
    SessionState, TimerRow,
};
pub use process::{AwaitedNeighbor, LogRow, MemoryRow, SelectionDeferralRow, StatusRow};
pub use route::{
    AttributeSetRow, AttributesRow, FindingRow, RejectRow, RejectedRow, RouteRow, RouteSource,
    UnknownAttributeRow,
};
pub use sample::{HistorySample, NeighborSampleRow, SampleRow};
pub use schemas::ROW_SCHEMAS;
pub use source::{SourceAction, SourceRow};
pub use station::{StationRow, StationState};
