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
mod endpoint;
mod pipe;
mod random;
mod server;
mod world;

pub use client::{Client, PathLen};
pub use pipe::Pipe;
pub use random::Random;
pub use world::{Outcome, World, run};
