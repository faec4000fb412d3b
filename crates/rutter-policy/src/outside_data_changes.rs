//! The difference between two sets of outside data, as far as routes need another evaluation.

use std::sync::Arc;

use rutter_irr::Changed;
use rutter_net::{Asn, Prefix};
use rutter_rpki::{Aspas, Vrps};
use rutter_wire::attr::AsPath;

use crate::prefix_tables::PrefixCover;
use crate::{ImportPolicy, OutsideData};

/// The routes that must be evaluated again after outside data changed: those that a changed entry concerns. All other
/// routes keep their verdict.
#[derive(Debug)]
pub struct OutsideDataChanges {
    /// All routes, because data came or went as a whole.
    all: bool,
    /// The prefixes of changed VRPs.
    vrps: PrefixCover,
    has_vrps: bool,
    /// The customers of changed ASPAs, in ascending order.
    customers: Vec<Asn>,
    irr: Changed,
}

impl OutsideDataChanges {
    /// Compares two sets of data. O(entries).
    pub fn between(old: &OutsideData, new: &OutsideData) -> Self {
        let vrps = replaced(&old.vrps, &new.vrps);
        let aspas = replaced(&old.aspas, &new.aspas);
        let irr = replaced(&old.irr, &new.irr);
        let prefixes = match vrps {
            Replaced::By(old, new) => Vrps::changed_prefixes(old, new),
            Replaced::No | Replaced::CameOrWent => Vec::new(),
        };
        OutsideDataChanges {
            all: vrps.is_whole() || aspas.is_whole() || irr.is_whole(),
            has_vrps: !prefixes.is_empty(),
            vrps: PrefixCover::new(&prefixes),
            customers: match aspas {
                Replaced::By(old, new) => Aspas::changed_customers(old, new),
                Replaced::No | Replaced::CameOrWent => Vec::new(),
            },
            irr: match irr {
                Replaced::By(old, new) => Changed::between(old, new),
                Replaced::No | Replaced::CameOrWent => Changed::default(),
            },
        }
    }

    /// Returns whether no route needs another evaluation.
    pub fn is_empty(&self) -> bool {
        !self.all && !self.has_vrps && self.customers.is_empty() && self.irr.is_empty()
    }

    /// Returns whether all routes of a destination need another evaluation. O(log entries).
    #[inline]
    pub fn concern_prefix(&self, prefix: Prefix) -> bool {
        self.all || self.has_vrps && self.vrps.covers(prefix) || self.irr.concerns_prefix(prefix)
    }

    /// Returns whether no route needs another evaluation for its origin or path, whoever sent it.
    #[inline]
    pub fn concern_no_paths(&self) -> bool {
        self.customers.is_empty() && self.irr.members.is_empty()
    }

    /// Returns whether a route that a neighbor with this policy sent needs another evaluation for its origin. Its prefix
    /// and its path may be other reasons: see [`Self::concern_prefix`] and [`Self::concern_paths_of`]. `origin` is called
    /// only if the answer depends on it. O(log entries).
    #[inline]
    pub fn concern_member(
        &self,
        policy: &ImportPolicy,
        origin: impl FnOnce() -> Option<Asn>,
    ) -> bool {
        if self.irr.members.is_empty() {
            return false;
        }
        let member = policy.settings().irr_member();
        member.is_some_and(|member| {
            let origin = origin().map(|asn| asn.0);
            self.irr.concerns_origin(member, origin)
        })
    }

    /// The origins of which a route needs another evaluation, in order, whatever its prefix and path and whoever sent it.
    /// `None` if routes of any origin may need one.
    pub fn concerned_origins(&self) -> Option<Vec<u32>> {
        self.irr.origins().filter(|_| !self.all)
    }

    /// Returns whether any path may need another verification.
    pub fn concern_some_path(&self) -> bool {
        !self.customers.is_empty()
    }

    /// Returns whether paths from a neighbor with this policy may need another verification. Then
    /// [`Self::concern_path`] answers for each path.
    #[inline]
    pub fn concern_paths_of(&self, policy: &ImportPolicy) -> bool {
        !self.customers.is_empty() && policy.settings().path_relation().is_some()
    }

    /// Returns whether the path contains a customer whose ASPA changed. All routes with the same attributes share the
    /// answer. O(path * log entries).
    pub fn concern_path(&self, path: AsPath<'_>) -> bool {
        let is_changed = |asn: Asn| self.customers.binary_search(&asn).is_ok();
        path.asns().any(is_changed)
    }
}

/// A part of the data beside the part that replaces it.
enum Replaced<'a, T> {
    No,
    By(&'a T, &'a T),
    CameOrWent,
}

impl<T> Replaced<'_, T> {
    fn is_whole(&self) -> bool {
        matches!(self, Replaced::CameOrWent)
    }
}

fn replaced<'a, T>(old: &'a Option<Arc<T>>, new: &'a Option<Arc<T>>) -> Replaced<'a, T> {
    match (old, new) {
        (None, None) => Replaced::No,
        (Some(old), Some(new)) if Arc::ptr_eq(old, new) => Replaced::No,
        (Some(old), Some(new)) => Replaced::By(old, new),
        (None, Some(_)) | (Some(_), None) => Replaced::CameOrWent,
    }
}
