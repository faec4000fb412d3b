//! Replays MRT files as BGP speakers, at the recorded, a scaled, or full speed.
//!
//! ```text
//! Stream ─► Record ─► Converter ─► UPDATE ─► Speaker (a session for all peers of the files, or one for each)
//! ```

mod converter;
mod player;
mod speaker;

pub use player::{Player, ReplayCounts, ReplayError, ReplaySettings, Speed};
pub use speaker::Speaker;
