//! The table of path attributes: one row per type code that is understood.

/// How many type codes are understood.
pub(crate) const SLOTS: usize = 19;
