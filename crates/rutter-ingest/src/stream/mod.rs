//! A live stream like RIPE's RIS Live: JSON messages over WebSocket, filtered for each client.
//!
//! ```text
//! Rib::subscribe ─► Publisher (a thread) ─► queue of each client whose filters match ─► its thread ─► WebSocket
//! ```
//! A slow client loses messages without an effect on others. Its queue is bounded, and it receives the number of lost
//! messages.

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
