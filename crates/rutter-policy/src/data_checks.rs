//! The checks of outside data: IRR and RPKI. They come after all other checks.

use rutter_irr::{IrrVerdict, MemberChecks, OriginState};
use rutter_lpm::Place;
use rutter_net::{Asn, Prefix};
use rutter_rpki::{PathState, Rov, Vrps};

use crate::class::IrrPrefix;
use crate::{
    AttrVerdict, CheckAction, Class, ImportSettings, OutsideData, RejectReason, RouteVerdict,
};

/// The checks of outside data for the routes of one neighbor, prepared for many of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataChecks<'a> {
    settings: &'a ImportSettings,
    data: &'a OutsideData,
    /// The checks by IRR data, where the neighbor is compared with them and they have it.
    irr: Option<MemberChecks<'a>>,
    /// There are IRR data, but none for the neighbor. Before the first data nothing is known of anybody, and no route is
    /// checked: those that were accepted without the check stay. [`ImportSettings::irr_required`] is the exception.
    pub(crate) is_left_out: bool,
    /// A check needs the validation state of the origin.
    needs_origin_state: bool,
    /// A route that passes all checks gets no mark, and none fails for want of data.
    has_short_way: bool,
}

/// The places of a prefix in outside data. All routes of the prefix share them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DataPlaces {
    /// Its place among the VRPs.
    pub(crate) vrps: Place,
    /// Its place among the registrations.
    pub(crate) irr: Place,
}

/// The parts of a route that outside data speak about.
pub(crate) struct Subject {
    pub(crate) prefix: Prefix,
    pub(crate) places: DataPlaces,
    pub(crate) origin: Option<Asn>,
    /// [`MemberChecks::origin_state`] of the origin, if it is known already.
    pub(crate) irr_origin: Option<OriginState>,
    /// The state that the neighbor sends and the policy uses; else ours counts (RFC 8097).
    pub(crate) received_state: Option<Rov>,
    /// A route with BLACKHOLE may be longer than its registrations allow (RFC 7999).
    pub(crate) is_blackhole: bool,
}

impl<'a> DataChecks<'a> {
    pub(crate) fn new(settings: &'a ImportSettings, data: &'a OutsideData) -> Self {
        let compared = settings.irr_member();
        let known = compared.zip(data.irr.as_deref());
        let irr = known.and_then(|(member, irr)| irr.of_member(member, settings.peer_asn.0));
        let must_have_data = data.irr.is_some() || settings.irr_required;
        let is_left_out = compared.is_some() && irr.is_none() && must_have_data;
        DataChecks {
            settings,
            data,
            irr,
            is_left_out,
            needs_origin_state: settings.validates_origin()
                || irr.is_some_and(|irr| irr.rules().roas),
            has_short_way: !settings.marks_accepted() && !is_left_out,
        }
    }

    /// The VRPs, where a check needs them.
    pub(crate) fn vrps(&self) -> Option<&'a Vrps> {
        let vrps = self.data.vrps.as_deref();
        vrps.filter(|_| self.needs_origin_state)
    }

    /// The checks by IRR data.
    pub(crate) fn irr(&self) -> Option<&MemberChecks<'a>> {
        self.irr.as_ref()
    }

    /// The places of a prefix in the data that the checks need.
    pub(crate) fn locate(&self, prefix: Prefix) -> DataPlaces {
        DataPlaces {
            vrps: self
                .vrps()
                .map_or_else(Place::default, |vrps| vrps.locate(prefix)),
            irr: self
                .irr
                .map_or_else(Place::default, |irr| irr.locate(prefix)),
        }
    }

    /// Returns the verdict on a route for which the other checks have the result `reject`.
    ///
    /// The order of reasons is: origin not in AS-SET, prefix not in AS-SET, RPKI invalid, ASPA invalid.
    #[inline]
    pub(crate) fn conclude(
        &self,
        prefix: Prefix,
        places: DataPlaces,
        attributes: &AttrVerdict,
        reject: Option<RejectReason>,
    ) -> RouteVerdict {
        if reject.is_none() && self.passes(prefix, places, attributes) {
            return RouteVerdict::PLAIN;
        }
        self.conclude_in_full(prefix, places, attributes, reject)
    }

    /// Returns whether a route passes all checks and gets no mark, in the shortest way. `false` only means that this way does
    /// not lead to a verdict.
    #[inline(never)]
    pub(crate) fn passes(
        &self,
        prefix: Prefix,
        places: DataPlaces,
        attributes: &AttrVerdict,
    ) -> bool {
        let is_usual = self.has_short_way
            && !attributes.changes_class()
            && attributes.origin_state.is_none()
            && attributes.path != Some(PathState::Invalid);
        if !is_usual {
            return false;
        }
        let origin = attributes.origin.map(|asn| asn.0);
        if let Some(irr) = &self.irr {
            let state = attributes.irr_origin.unwrap_or(OriginState::NotInSet);
            if !irr.is_registered(places.irr, prefix, (origin, state)) {
                return false;
            }
        }
        let is_invalid =
            |vrps: &Vrps| vrps.validate_at(places.vrps, prefix, origin) == Rov::Invalid;
        !self.vrps().is_some_and(is_invalid)
    }

    /// [`Self::conclude`], with all facts.
    pub(crate) fn conclude_in_full(
        &self,
        prefix: Prefix,
        places: DataPlaces,
        attributes: &AttrVerdict,
        reject: Option<RejectReason>,
    ) -> RouteVerdict {
        let settings = self.settings;
        let mut verdict = Draft {
            class: Class {
                blackhole: attributes.blackhole,
                add_otc: attributes.add_otc,
                custom: settings
                    .custom_marks
                    .or(settings.marked_prefixes.marks_of(prefix)),
                ..Class::PLAIN
            },
            least_preferred: false,
            reject,
        };
        let subject = Subject {
            prefix,
            places,
            origin: attributes.origin,
            irr_origin: attributes.irr_origin,
            received_state: attributes.origin_state,
            is_blackhole: attributes.blackhole,
        };
        let state = self.origin_state(&subject);
        match self.irr_verdict(&subject, state) {
            Some(found) => verdict.add_irr(settings, found),
            None if self.is_left_out => verdict.fail_without_irr(settings),
            None => {}
        }
        if let Some(state) = state
            && settings.validates_origin()
        {
            verdict.add_origin_state(settings, state);
        }
        if let Some(state) = attributes.path {
            verdict.add_path_state(settings, state);
        }
        verdict.finish(settings)
    }

    /// The validation state of the origin, where a check needs it.
    #[inline]
    pub(crate) fn origin_state(&self, subject: &Subject) -> Option<Rov> {
        if !self.needs_origin_state || subject.received_state.is_some() {
            return subject.received_state.filter(|_| self.needs_origin_state);
        }
        let (prefix, origin) = (subject.prefix, subject.origin);
        match subject.is_blackhole {
            true => self.data.validate_origin(prefix, origin, true),
            false => {
                let origin = origin.map(|asn| asn.0);
                let vrps = self.data.vrps.as_ref()?;
                Some(vrps.validate_at(subject.places.vrps, prefix, origin))
            }
        }
    }

    /// The judgement by IRR data, where the neighbor is compared with them and they have it. `state` is that of the
    /// origin.
    #[inline]
    pub(crate) fn irr_verdict(&self, subject: &Subject, state: Option<Rov>) -> Option<IrrVerdict> {
        let irr = self.irr.as_ref()?;
        let origin = subject.origin.map(|asn| asn.0);
        let irr_origin = subject
            .irr_origin
            .unwrap_or_else(|| irr.origin_state(origin));
        let is_valid = state == Some(Rov::Valid);
        let check = |place, prefix| irr.check(place, prefix, (origin, irr_origin), is_valid);
        let found = check(subject.places.irr, subject.prefix);
        if !subject.is_blackhole || !found.prefix_fault() {
            return Some(found);
        }
        let prefix = subject.prefix;
        let lengths = (0..prefix.len()).rev();
        let shorter = lengths.filter_map(|len| Prefix::from_addr(prefix.addr(), len));
        let mut found_shorter = shorter.map(|prefix| check(irr.locate(prefix), prefix));
        let sound = found_shorter.find(|found| !found.prefix_fault());
        Some(sound.unwrap_or(found))
    }
}

/// A verdict while the checks are evaluated.
struct Draft {
    class: Class,
    least_preferred: bool,
    reject: Option<RejectReason>,
}

impl Draft {
    fn add_irr(&mut self, settings: &ImportSettings, found: IrrVerdict) {
        if settings.mark_irr_state || settings.irr_invalid == CheckAction::Tag {
            self.class.irr_origin = match found.origin {
                OriginState::Unchecked => None,
                state => Some(state != OriginState::NotInSet),
            };
            self.class.irr_prefix = IrrPrefix::of(found.prefix, found.rules.bound);
        }
        if found.origin_fault() {
            self.fail(settings.irr_invalid, RejectReason::OriginNotInAsSet);
        }
        if found.prefix_fault() {
            self.fail(settings.irr_invalid, RejectReason::PrefixNotInAsSet);
        }
    }

    /// If only this neighbor has no data, nothing is registered for it. A new member must not be able to announce
    /// everything until its data arrive.
    fn fail_without_irr(&mut self, settings: &ImportSettings) {
        if settings.irr_invalid == CheckAction::Reject {
            self.fail(CheckAction::Reject, RejectReason::PrefixNotInAsSet);
        }
    }

    fn add_origin_state(&mut self, settings: &ImportSettings, state: Rov) {
        let is_invalid = state == Rov::Invalid;
        let is_tagged = is_invalid && settings.rpki_invalid == CheckAction::Tag;
        if is_tagged || settings.marked_origins.contains(&state) {
            self.class.origin = Some(state);
        }
        if is_invalid {
            self.fail(settings.rpki_invalid, RejectReason::RpkiInvalid);
        }
    }

    fn add_path_state(&mut self, settings: &ImportSettings, state: PathState) {
        let is_invalid = state == PathState::Invalid;
        let is_tagged = is_invalid && settings.aspa_invalid == CheckAction::Tag;
        if is_tagged || settings.marked_paths.contains(&state) {
            self.class.path = Some(state);
        }
        if is_invalid {
            self.fail(settings.aspa_invalid, RejectReason::AspaInvalid);
        }
    }

    fn fail(&mut self, action: CheckAction, reason: RejectReason) {
        match action {
            CheckAction::Off | CheckAction::Tag => {}
            CheckAction::LeastPreferred => self.least_preferred = true,
            CheckAction::Reject => {
                self.reject.get_or_insert(reason);
            }
        }
    }

    fn finish(self, settings: &ImportSettings) -> RouteVerdict {
        match self.reject {
            Some(reason) if settings.tag_rejected && reason.is_policy() => RouteVerdict::Accepted {
                class: Class {
                    failed: Some(reason),
                    ..self.class
                },
                least_preferred: true,
            },
            Some(reason) => RouteVerdict::Rejected(reason),
            None => RouteVerdict::Accepted {
                class: self.class,
                least_preferred: self.least_preferred,
            },
        }
    }
}
