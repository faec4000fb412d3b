//! A fleet of minimal BGP speakers on one or two threads, which cost the machine very little.

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
