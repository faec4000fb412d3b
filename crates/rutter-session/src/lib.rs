//! The RFC 4271 state machine of one peer without I/O.
//!
//! [`Session`] is the main type. The caller passes each [`Input`] with the time, takes the [`Output`]s, and passes
//! [`Input::Tick`] at [`Session::next_deadline`]. Same seed and same inputs give the same outputs.

mod collision;
mod config;
mod connect;
mod connection;
mod dispatch;
mod established;
mod event;
mod graceful_restart;
mod handover;
mod input;
mod invariants;
mod jitter;
mod negotiated;
mod negotiation;
mod open;
mod output;
mod selection_deferral;
mod session;
mod state;
mod stats;
mod timers;

pub use config::{Config, FamilyConfig, GracefulRestartConfig, IdleHold, RemoteAs};
pub use event::{SessionEvent, Severity};
pub use input::{ConnectionId, Input, ResetReason, StopReason};
pub use negotiated::{FamilyNegotiated, Feature, Negotiated, OneSidedOffer, OpenMessages};
pub use output::{DownReason, Output};
pub use selection_deferral::{DeferralEnd, SETTLE_MS, SelectionDeferral};
pub use session::Session;
pub use state::State;
pub use stats::Stats;
pub use timers::Timer;
