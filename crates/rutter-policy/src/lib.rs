//! Verdicts on routes: import checks and the audiences that action communities name.
//!
//! ```text
//! ImportSettings ─► ImportPolicy::check_attributes   once per attribute set
//!                   ImportPolicy::check_prefix       once per route, no allocation
//!                   ImportPolicy::all_reasons        when a person asks why
//! ExportSettings ─► ExportPolicy::audience           once per attribute set
//! ```
//! Policies are compiled from plain settings, never change afterwards and are shared between threads. Nothing
//! here does I/O, reads a clock or knows the table.

mod action_table;
mod audience;
mod export;
mod family_checks;
mod findings;
mod import;
mod lookup;
mod next_hop;
mod notation;
mod path_checks;
mod prefix_match;
mod reason;
mod role;
mod settings;

pub use audience::AudienceSpec;
pub use export::{Action, ActionCommunity, ExportPolicy, ExportSettings, WellKnown};
pub use findings::Finding;
pub use import::{AttrVerdict, ImportPolicy};
pub use next_hop::{NextHop, NextHopRule};
pub use notation::{Field, Notation, ParseNotationError};
pub use prefix_match::{BOGONS_V4, BOGONS_V6, PrefixMatch};
pub use reason::RejectReason;
pub use role::{OtcEgress, OtcIngress, Role, otc_on_receive, otc_on_send};
pub use settings::{
    ImportRule, ImportSettings, LengthRange, OutsideData, RouteChecks, TRANSIT_FREE,
};
