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
mod control;
mod daemon;
mod drive;
mod input;
mod listener;
mod logging;
mod management;
mod memory;
mod mrt;
mod neighbor;
mod output;
mod peer;
mod privileges;
mod rate;
mod reactor;
mod reload;
mod rpki;
mod say;
mod shared;
mod signals;
mod sockopt;
mod status;
mod timers;
mod transport;

pub use allocator::trim as give_back_memory;
pub use daemon::{Daemon, Handle, Prepared, StartError};
pub use privileges::yield_to_routing;
pub use say::say;
pub use signals::{Hangup, Signals};
