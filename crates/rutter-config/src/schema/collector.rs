//! What only a collector has.

use super::{Key, key};

/// `[collector]`
pub const COLLECTOR: &[Key] = &[key(
    "name",
    "text",
    "`router-id`",
    "What this collector calls itself in every row, message and file.",
)];
