//! A fleet of minimal BGP speakers on one or two threads, built to cost the machine next to nothing.

mod client;
mod command;
#[cfg(test)]
mod crash;
mod fleet;
pub mod message;
mod progress;
mod worker;

pub use command::ClientReport;
pub use fleet::{Fleet, FleetError, FleetSettings};
pub use message::Offer;
pub use progress::{Counters, Progress};
