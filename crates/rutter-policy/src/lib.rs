//! Routing policy: import checks, and the audiences that action communities select.
//!
//! ```text
//! ImportSettings ─► ImportPolicy::check_attributes   once per attribute set
//!                   ImportPolicy::judge              once per route, no allocation
//!                   Evaluation::conclude             the same for many routes side by side
//!                   ImportPolicy::all_reasons        for `rutter explain` and looking glasses
//! ExportSettings ─► ExportPolicy::audience           once per attribute set
//! ```
//! A policy is compiled from its settings. It is immutable and shared between threads. This crate does no I/O,
//! reads no clock and does not know the table.

mod action_table;
mod audience;
mod class;
mod class_tags;
mod custom_marks;
mod data_checks;
mod evaluation;
mod export_policy;
mod family_checks;
mod filter;
mod findings;
mod import_policy;
mod import_settings;
mod marked_prefixes;
mod next_hop;
mod notation;
mod only_to_customer;
mod origin_state_community;
mod outside_data;
mod outside_data_changes;
mod path_checks;
mod path_verification;
mod prefix_match;
mod prefix_tables;
mod recipient;
mod reject_reason;
mod rtt;
mod rtt_prepends;
mod rtt_thresholds;
mod verdict;

pub use audience::AudienceSpec;
pub use class::{Class, IrrPrefix};
pub use class_tags::{ClassTag, TagState, Tags};
pub use custom_marks::CustomMarks;
pub use data_checks::DataPlaces;
pub use evaluation::{DataPrefix, Evaluation, LANES, LanePlaces};
pub use export_policy::{Action, ActionCommunity, ExportPolicy, ExportSettings, WellKnown};
pub use filter::{
    AddedCommunity, AsPathList, AsPathPatternError, COMBINATIONS, ChangesId, Combinations,
    CommunityList, CommunityPattern, Conditions, Filter, FilterAction, FilterChain, FilterDecision,
    FilterDefault, FilterRule, MAX_PREPEND, MedChange, ParsePatternError, PathLength, PrefixList,
    RemovedCommunities, RouteChanges, RuleSet, Trial, TrialRoute,
};
pub use findings::Finding;
pub use import_policy::{AttrVerdict, ImportPolicy};
pub use import_settings::{ImportRule, ImportSettings, LengthRange, TRANSIT_FREE};
pub use marked_prefixes::MarkedPrefixes;
pub use next_hop::{NextHop, NextHopRule};
pub use notation::{ExtendedKind, Field, Notation, ParseNotationError};
pub use only_to_customer::{OtcIngress, Role, adds_otc, otc_on_receive, withholds_otc};
pub use outside_data::OutsideData;
pub use outside_data_changes::OutsideDataChanges;
pub use prefix_match::{BOGONS_V4, BOGONS_V6, PrefixMatch};
pub use recipient::Recipient;
pub use reject_reason::RejectReason;
pub use rtt::{ParseRttError, Rtt};
pub use rtt_prepends::RttPrepends;
pub use rtt_thresholds::{RttClass, RttClasses, RttThresholds};
pub use verdict::{CheckAction, RouteVerdict};
