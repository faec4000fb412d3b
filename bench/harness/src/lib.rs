//! Alternating measurements of several implementations of one task, as a table and as JSON.
//!
//! The implementations of a row take turns, round by round, so that other load on the machine affects all of them. A
//! figure is the median of its rounds.

mod measure;
mod report;

pub use measure::{Contestant, Figure, Row, contestant, prepared};
pub use report::Report;
