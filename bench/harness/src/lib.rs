//! Alternating measurements of several contestants on one task, as a table and as JSON.
//!
//! The contestants of a row take turns, round by round, so that whatever else the machine does hits all of them alike;
//! a figure is the median of its rounds.

mod measure;
mod report;

pub use measure::{Contestant, Figure, Row, contestant, prepared};
pub use report::Report;
