//! An import policy under one set of outside data, prepared for many routes.

use rutter_irr::{MemberChecks, OriginState};
use rutter_lpm::Place;
use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};
use rutter_rpki::Vrps;

use crate::data_checks::{DataChecks, DataPlaces};
use crate::{AttrVerdict, ImportPolicy, OutsideData, RejectReason, RouteVerdict};

/// The number of routes that one call evaluates side by side.
pub const LANES: usize = 32;

/// An import policy under one set of outside data, prepared for many routes. Their look-ups advance side by side, so that
/// their cache misses overlap.
#[derive(Clone, Copy, Debug)]
pub struct Evaluation<'a> {
    policy: &'a ImportPolicy,
    data: &'a OutsideData,
    checks: DataChecks<'a>,
    /// The checks decide alone: the operator has no filters.
    has_no_filters: bool,
}

/// The places of up to [`LANES`] prefixes in outside data.
pub struct LanePlaces {
    vrps: [Place; LANES],
    irr: [Place; LANES],
}

impl LanePlaces {
    /// The places of the prefix with this number below [`LANES`].
    #[inline]
    pub fn of(&self, lane: usize) -> DataPlaces {
        DataPlaces {
            vrps: self.vrps[lane % LANES],
            irr: self.irr[lane % LANES],
        }
    }
}

/// A prefix type that outside data can be searched for.
pub trait DataPrefix: Copy + Into<Prefix> {
    /// The places of prefixes among the VRPs.
    fn locate_in_vrps(vrps: &Vrps, prefixes: &[Self], places: &mut [Place]);
    /// The places of prefixes among the registrations.
    fn locate_in_irr(irr: &MemberChecks<'_>, prefixes: &[Self], places: &mut [Place]);
}

impl DataPrefix for Ipv4Prefix {
    fn locate_in_vrps(vrps: &Vrps, prefixes: &[Self], places: &mut [Place]) {
        vrps.locate_all_ipv4(prefixes, places);
    }
    fn locate_in_irr(irr: &MemberChecks<'_>, prefixes: &[Self], places: &mut [Place]) {
        irr.locate_all_ipv4(prefixes, places);
    }
}

impl DataPrefix for Ipv6Prefix {
    fn locate_in_vrps(vrps: &Vrps, prefixes: &[Self], places: &mut [Place]) {
        vrps.locate_all_ipv6(prefixes, places);
    }
    fn locate_in_irr(irr: &MemberChecks<'_>, prefixes: &[Self], places: &mut [Place]) {
        irr.locate_all_ipv6(prefixes, places);
    }
}

impl<'a> Evaluation<'a> {
    pub(crate) fn new(policy: &'a ImportPolicy, data: &'a OutsideData) -> Self {
        let settings = policy.settings();
        Evaluation {
            policy,
            data,
            checks: DataChecks::new(settings, data),
            has_no_filters: settings.filters.is_empty(),
        }
    }

    /// Adds the states of the origins in the IRR data to verdicts on attributes, so that routes need not search for them.
    pub fn find_origins(&self, verdicts: &mut [AttrVerdict]) {
        let Some(irr) = self.checks.irr() else {
            return;
        };
        for verdicts in verdicts.chunks_mut(LANES) {
            let mut origins = [0; LANES];
            let mut states = [OriginState::Unchecked; LANES];
            for (origin, verdict) in origins.iter_mut().zip(&*verdicts) {
                *origin = verdict.origin.map_or(0, |asn| asn.0);
            }
            let count = verdicts.len();
            irr.origin_states(&origins[..count], &mut states[..count]);
            for (verdict, state) in verdicts.iter_mut().zip(states) {
                verdict.irr_origin = Some(state);
            }
        }
    }

    /// Finds the places of up to [`LANES`] prefixes in outside data, in the order of the prefixes.
    pub fn locate_all<K: DataPrefix>(&self, prefixes: &[K]) -> LanePlaces {
        let mut places = LanePlaces {
            vrps: [Place::default(); LANES],
            irr: [Place::default(); LANES],
        };
        if let Some(data) = self.checks.vrps() {
            K::locate_in_vrps(data, prefixes, &mut places.vrps);
        }
        if let Some(data) = self.checks.irr() {
            K::locate_in_irr(data, prefixes, &mut places.irr);
        }
        places
    }

    /// Concludes the evaluation of a route whose places are known, and for which the checks of attributes and prefix have the
    /// result `reject`. `None` if that result stays: the route is accepted without any difference for clients. Otherwise the
    /// verdict is that of [`ImportPolicy::conclude`].
    #[inline]
    pub fn conclude(
        &self,
        prefix: Prefix,
        places: DataPlaces,
        attributes: &AttrVerdict,
        reject: Option<RejectReason>,
    ) -> Option<RouteVerdict> {
        let is_plain = reject.is_none()
            && self.has_no_filters
            && self.checks.passes(prefix, places, attributes);
        (!is_plain).then(|| self.conclude_in_full(prefix, places, attributes, reject))
    }

    /// [`Self::conclude`] for the routes that the shortest way does not accept.
    #[inline(never)]
    fn conclude_in_full(
        &self,
        prefix: Prefix,
        places: DataPlaces,
        attributes: &AttrVerdict,
        reject: Option<RejectReason>,
    ) -> RouteVerdict {
        let checks = &self.checks;
        let check = || match self.has_no_filters {
            true => checks.conclude_in_full(prefix, places, attributes, reject),
            false => checks.conclude(prefix, places, attributes, reject),
        };
        let (policy, data) = (self.policy, self.data);
        policy.conclude_by(data, prefix, attributes, reject, check)
    }
}
