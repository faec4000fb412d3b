//! The RFC 4271 state machine of one peer without I/O.
//!
//! [`Session`] is the one type to know: [`Input`] goes in with the time, [`Output`] comes out, and
//! [`Session::next_deadline`] says when to come back. Same seed and same inputs give the same outputs.

mod agreement;
mod collision;
mod config;
mod connect;
mod dispatch;
mod established;
mod input;
mod invariants;
mod jitter;
mod link;
mod negotiated;
mod note;
mod open;
mod output;
mod restart;
mod session;
mod state;
mod stats;
mod timers;

pub use config::{Config, FamilyConfig, GracefulRestartConfig, IdleHold, RemoteAs};
pub use input::{Connection, Input, ResetReason, StopReason};
pub use negotiated::{FamilyNegotiated, Feature, Negotiated, Unagreed};
pub use note::{Note, Severity};
pub use output::{DownReason, Output};
pub use session::Session;
pub use state::State;
pub use stats::Stats;
pub use timers::Timer;
