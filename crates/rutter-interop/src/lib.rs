//! Real BGP daemons on loopback, driven and read by tests, route by route.
//!
//! ```text
//! Lab (folder, addresses, port) ─► bird | frr | gobgp | openbgpd | exabgp | rutter ::start
//!                                        └─► impl Speaker: announce, withdraw, received, refresh
//! ```
//!
//! A test opens a [`Lab`], starts daemons in it, announces [`Route`]s and waits with [`eventually`] until
//! [`Speaker::received`] has the expected value. Every daemon runs in the foreground, with its own folder, address and
//! port, and is stopped by its process id when it goes out of scope. If the test panics, its log is printed. A daemon
//! that is not installed fails the test: nothing is skipped.

pub mod bird;
pub mod certificates;
mod draws;
pub mod exabgp;
mod expect;
pub mod frr;
pub mod gobgp;
pub mod irrd;
pub mod kafka;
mod lab;
pub mod mariadb;
pub mod openbgpd;
pub mod pmacct;
pub mod postgres;
mod process;
mod route;
pub mod rutter;
mod samples;
mod speaker;
pub mod stayrtr;

pub use draws::Draws;
pub use expect::{client, holds, keeps_holding, rutter_holds, up};
pub use lab::{Lab, eventually, eventually_within};
pub use process::{Process, child_of, kill_process, output_of, process_runs, program};
pub use route::{Origin, Route, routes_without_path_ids};
pub use samples::{EndOfSampling, Samples};
pub use speaker::{Peer, Setup, Speaker, announced_by};
