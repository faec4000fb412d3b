//! The checks of outside data: IRR and RPKI. They come after all other checks.

use rutter_irr::{IrrVerdict, OriginState};
use rutter_net::{Asn, Prefix};
use rutter_rpki::{PathState, Rov};

use crate::class::IrrPrefix;
use crate::{
    AttrVerdict, CheckAction, Class, FilterData, ImportSettings, RejectReason, RouteVerdict,
};

/// Returns the verdict on a route for which the other checks have the result `reject`.
///
/// The order of reasons is: origin not in AS-SET, prefix not in AS-SET, RPKI invalid, ASPA invalid.
pub(crate) fn conclude(
    settings: &ImportSettings,
    data: &FilterData,
    prefix: Prefix,
    attributes: &AttrVerdict,
    reject: Option<RejectReason>,
) -> RouteVerdict {
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
        origin: attributes.origin,
        received_state: attributes.origin_state,
        is_blackhole: attributes.blackhole,
    };
    let state = subject.origin_state(settings, data);
    match subject.irr_verdict(settings, data, state) {
        Some(found) => verdict.add_irr(settings, found),
        None if is_left_out(settings, data) => verdict.fail_without_irr(settings),
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

/// Returns whether there are IRR data, but none for the neighbor. Before the first data nothing is known of anybody, and
/// no route is checked: those that were accepted without the check stay.
pub(crate) fn is_left_out(settings: &ImportSettings, data: &FilterData) -> bool {
    let rules = |member| data.irr.as_ref().map(|irr| irr.rules(member).is_some());
    settings.irr_member().and_then(rules) == Some(false)
}

/// The parts of a route that outside data speak about.
pub(crate) struct Subject {
    pub(crate) prefix: Prefix,
    pub(crate) origin: Option<Asn>,
    /// The state that the neighbor sends and the policy uses; else ours counts (RFC 8097).
    pub(crate) received_state: Option<Rov>,
    /// A route with BLACKHOLE may be longer than its registrations allow (RFC 7999).
    pub(crate) is_blackhole: bool,
}

impl Subject {
    /// The validation state of the origin, where a check needs it.
    pub(crate) fn origin_state(&self, settings: &ImportSettings, data: &FilterData) -> Option<Rov> {
        let irr = || {
            let rules = data.irr.as_ref()?.rules(settings.irr_member()?)?;
            rules.roas.then_some(())
        };
        if settings.validates_origin() || irr().is_some() {
            self.received_state
                .or_else(|| data.validate_origin(self.prefix, self.origin, self.is_blackhole))
        } else {
            None
        }
    }

    /// The judgement by IRR data, where the neighbor is compared with them and they have it. `state` is that of the
    /// origin.
    pub(crate) fn irr_verdict(
        &self,
        settings: &ImportSettings,
        data: &FilterData,
        state: Option<Rov>,
    ) -> Option<IrrVerdict> {
        let (member, irr) = (settings.irr_member()?, data.irr.as_ref()?);
        let origin = self.origin.map(|asn| asn.0);
        let is_valid = state == Some(Rov::Valid);
        let check = |prefix| irr.check_with(member, prefix, origin, is_valid);
        irr.rules(member)?;
        let found = check(self.prefix);
        if !self.is_blackhole || !found.prefix_fault() {
            return Some(found);
        }
        let lengths = (0..self.prefix.len()).rev();
        let shorter = lengths.filter_map(|len| Prefix::from_addr(self.prefix.addr(), len));
        let sound = shorter.map(check).find(|found| !found.prefix_fault());
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
