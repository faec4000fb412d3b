//! Wall-clock time.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the microseconds since 1970.
pub(crate) fn unix_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as u64)
}
