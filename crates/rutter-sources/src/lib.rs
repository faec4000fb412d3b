//! Outside data as live sources: age, last good copy and a guard against shrinking.

pub mod irr;
pub mod rtr;
