//! Sockets, threads and timers around the pure rooms: the only crate that does I/O for routing.
//!
//! ```text
//! Listeners ─► Acceptor ─► Reactor (one per I/O thread) ─► Connection ─► Session, Rib ─► Connection
//!                             ▲ Mailbox (commands, wake-ups)
//! control socket, metrics ─► Management ─► snapshots and published states; MRT ◄─ change feed
//! ```
//! I/O threads never wait for anybody; everything else reads what they publish or leaves them a letter.

mod allocator;
mod commands;
mod connection;
mod daemon;
mod input;
mod listener;
mod log_rate_limit;
mod logging;
mod mailbox;
mod management;
mod memory;
mod mrt;
mod neighbor;
mod output;
mod peer;
mod privileges;
mod reactor;
mod reload;
mod rpki;
mod session_driver;
mod shared;
mod signals;
mod sockopt;
mod status;
mod stderr;
mod timers;
mod transport;

pub use allocator::trim as release_free_memory;
pub use daemon::{Daemon, Handle, Prepared, StartError};
pub use privileges::yield_to_routing;
pub use signals::{Hangup, Signals};
pub use stderr::eprint_line;
