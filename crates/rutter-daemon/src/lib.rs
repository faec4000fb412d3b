//! Sockets, threads and timers of BGP sessions, around the crates without I/O.
//!
//! ```text
//! Listeners ─► Acceptor ─► Mailbox (commands, wake-ups)
//!                             ▼
//!                          Reactor (event loop, one per I/O thread)
//!                             ├─► Receiver ─────────┐  bytes to UPDATEs and messages
//!                             ├─► CommandRunner ────┤
//!                             ├─► Transmitter ──────┤  session messages and streams to bytes
//!                             │                     ▼
//!                             └──────────► SessionDriver ─► Session, Rib, Connection
//! control socket, metrics ─► Management ─► snapshots and published states; MRT ◄─ change feed
//! ```
//! I/O threads never wait for other threads. Other threads read published state, or post commands to a mailbox.
//! The driver owns the neighbors (`ThreadPeers`), their timers (`Deadlines`), the read and the write queue, and the sockets
//! that are about to close (`LingeringSockets`).

mod allocator;
mod ao_changes;
mod apply;
mod audit;
mod bmp_report;
mod commands;
mod congestion;
mod connection;
mod control_clients;
mod control_socket;
mod daemon;
mod deadlines;
mod dynamic_counts;
mod dynamic_members;
mod handover;
mod irr_settings;
mod key_changes;
mod lingering;
mod listener;
mod logging;
mod lost_marks;
mod mailbox;
mod management;
mod memory;
mod memory_limits;
mod missing_routes;
mod mrt;
mod neighbor_settings;
mod offline_table;
mod outbound_limits;
mod outside_sources;
mod peer;
mod peer_log_limits;
mod peer_table;
mod peeringdb_limits;
mod privileges;
mod reactor;
mod read_share;
mod received_limits;
mod receiver;
mod reload;
mod restart;
mod restart_record;
mod service_manager;
mod session_driver;
mod session_facts;
mod shared;
mod signals;
mod sockopt;
mod source_slot;
mod status;
mod stderr;
mod thread_peers;
mod transmitter;
mod transport;
mod turn_clock;
mod wake_flag;
mod web;
mod write_queue;

pub use allocator::trim as release_free_memory;
pub use daemon::{Daemon, Handle, Prepared, StartError};
pub use handover::{GivenService, HeldServices, MovableServices, NotHeld, Program, TakenService};
pub use offline_table::{OfflineNeighbor, OfflineTable};
pub use privileges::yield_to_routing;
pub use shared::StopOrder;
pub use signals::{Hangup, Signals};
pub use stderr::eprint_line;
pub use transport::{TCP_AO_HINT, check_tcp_ao};
