//! A whole exchange on a virtual clock and virtual wires, drawn from a seed.
//!
//! The real session and table code runs here unchanged. Only the transport differs: bytes travel over [`Pipe`]s that
//! segment, delay, stall and reset, as the seed determines. Each run has two phases. In the first faults occur, and
//! invariants are checked after each step. In the second, quiet one, every session must be established and every
//! client must receive exactly the routes of the reference model. The same seed gives the same bytes.
//!
//! ```text
//! Client (Session + announced) ─► Pipe ─► Server (Sessions + Rib) ─► Pipe ─► Client (received routes)
//! ```

mod client;
mod configuration;
mod crash_run;
mod data_model;
mod data_run;
mod endpoint;
mod handover;
mod held_route;
mod held_routes;
mod pipe;
mod random;
mod random_data;
mod restart_run;
mod round_check;
mod server;
mod setup;
mod world;

pub use client::{Client, PathLen};
pub use crash_run::{CrashOutcome, run_with_crashes};
pub use data_run::{DataOutcome, run_with_changing_data};
pub use held_route::HeldRoute;
pub use held_routes::HeldRoutes;
pub use pipe::Pipe;
pub use random::Random;
pub use restart_run::{RestartOutcome, run_with_restarts};
pub use world::{Outcome, World, run};
