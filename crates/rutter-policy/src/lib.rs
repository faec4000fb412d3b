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
mod export_policy;
mod family_checks;
mod findings;
mod import_policy;
mod import_settings;
mod next_hop;
mod notation;
mod only_to_customer;
mod path_checks;
mod prefix_match;
mod prefix_tables;
mod reject_reason;

pub use audience::AudienceSpec;
pub use export_policy::{Action, ActionCommunity, ExportPolicy, ExportSettings, WellKnown};
pub use findings::Finding;
pub use import_policy::{AttrVerdict, ImportPolicy};
pub use import_settings::{
    FilterData, ImportRule, ImportSettings, LengthRange, RouteChecks, TRANSIT_FREE,
};
pub use next_hop::{NextHop, NextHopRule};
pub use notation::{Field, Notation, ParseNotationError};
pub use only_to_customer::{OtcEgress, OtcIngress, Role, otc_on_receive, otc_on_send};
pub use prefix_match::{BOGONS_V4, BOGONS_V6, PrefixMatch};
pub use reject_reason::RejectReason;
