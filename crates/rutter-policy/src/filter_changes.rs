//! The difference between two sets of outside data, as far as routes need another evaluation.

use std::sync::Arc;

use rutter_net::Prefix;

use crate::FilterData;
use crate::prefix_tables::PrefixCover;

/// The routes that must be evaluated again after outside data changed: those that a changed entry covers. All other
/// routes keep their verdict.
#[derive(Debug)]
pub struct FilterChanges {
    /// All routes, because data came or went as a whole.
    all: bool,
    prefixes: PrefixCover,
    count: usize,
}

impl FilterChanges {
    /// Compares two sets of data. O(entries).
    pub fn between(old: &FilterData, new: &FilterData) -> Self {
        let mut all = false;
        let mut prefixes = Vec::new();
        match (&old.vrps, &new.vrps) {
            (Some(old), Some(new)) if !Arc::ptr_eq(old, new) => {
                prefixes.extend(rutter_rpki::Vrps::changed_prefixes(old, new));
            }
            (Some(_), Some(_)) | (None, None) => {}
            (None, Some(_)) | (Some(_), None) => all = true,
        }
        match (&old.irr, &new.irr) {
            (Some(old), Some(new)) if Arc::ptr_eq(old, new) => {}
            (None, None) => {}
            _ => all = true,
        }
        FilterChanges {
            all,
            count: prefixes.len(),
            prefixes: PrefixCover::new(&prefixes),
        }
    }

    /// Returns whether no route needs another evaluation.
    pub fn is_empty(&self) -> bool {
        !self.all && self.count == 0
    }

    /// Returns whether the routes of a prefix need another evaluation. O(log entries).
    #[inline]
    pub fn concern(&self, prefix: Prefix) -> bool {
        self.all || self.prefixes.covers(prefix)
    }
}
