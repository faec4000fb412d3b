//! Outside data as live sources: age, last good copy and a guard against shrinking.

pub mod irr;
pub mod rpki;
pub mod rtr;

mod file_stamp;
mod last_good;
mod line_limit;
mod shrink_guard;
mod source;
mod source_thread;
mod status;

pub use last_good::{LastGood, LastGoodCopy, LastGoodError};
pub use line_limit::LineLimit;
pub use shrink_guard::{Shrink, ShrinkGuard};
pub use source::Source;
pub use source_thread::{SourceSignals, SourceThread, SourceWake};
pub use status::{SourceState, SourceStatus, unix_seconds};
