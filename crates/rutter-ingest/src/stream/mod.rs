//! A stream of what happens, as RIPE's RIS Live has it: JSON messages over WebSocket, filtered for each client.
//!
//! ```text
//! Rib::subscribe ─► Publisher (a thread) ─► queue of each client whose filters match ─► its thread ─► WebSocket
//! ```
//! A client that does not keep up loses messages, not others: its queue is bounded, and it is told how many it lost.

mod admission;
mod client;
mod connection;
mod filter;
mod message;
mod origin;
mod publisher;
mod service;

pub use filter::{Filter, FilterError};
pub use message::Update;
pub use service::{StreamError, StreamServer};
