//! A whole exchange on a virtual clock and virtual wires, drawn from a seed.
//!
//! The real session and table code runs here unchanged; only delivery differs: bytes travel over [`Pipe`]s that
//! segment, delay, stall and reset as a seed tells. Each run has two phases: faults, with invariants checked after
//! each step; then quiet, in which every session must come up and every client must hold exactly what it is
//! owed. The same seed gives the same bytes.
//!
//! ```text
//! Client (Session + wishes) ─► Pipe ─► Server (Sessions + Rib) ─► Pipe ─► Client (what it holds)
//! ```

mod client;
mod endpoint;
mod pipe;
mod random;
mod server;
mod world;

pub use client::{Client, Wish};
pub use pipe::Pipe;
pub use random::Random;
pub use world::{Outcome, World, run};
