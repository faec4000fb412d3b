//! The choice of the data in force.

use std::collections::BTreeMap;
use std::time::Instant;

use super::candidate::Candidate;
use super::live_data::{LiveRpkiData, Sizes};
use super::origin::Origin;
use crate::shrink_guard::ShrinkGuard;

/// The data in force, and the guards of the origins.
///
/// Data that a guard refuses are passed over: the next candidate counts. If all candidates are refused or there is none,
/// the data in force stay. They end when they expire. While an origin offers data that are refused, they do not expire:
/// an operator must decide first.
#[derive(Debug, Default)]
pub(super) struct Selection {
    in_force: Option<InForce>,
    guards: BTreeMap<Origin, SetGuard>,
    limit_percent: Option<u8>,
    /// ASPAs are wanted: data without any have lost them.
    wants_aspas: bool,
    refusals: Vec<(Origin, String)>,
    /// The most preferred candidate that was refused.
    refused: Option<Candidate>,
}

/// The data in force.
#[derive(Debug)]
pub(super) struct InForce {
    /// Where they come from.
    pub from: Candidate,
    /// The set.
    pub data: LiveRpkiData,
}

/// The result of a choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Choice {
    /// The data in force are the same as before.
    Same,
    /// Other data are in force.
    Changed,
    /// The data in force expired, and there are no others.
    Expired,
}

impl Selection {
    pub fn new(limit_percent: Option<u8>, wants_aspas: bool) -> Self {
        Selection {
            limit_percent,
            wants_aspas,
            ..Selection::default()
        }
    }

    /// Changes the limit of the guards, and whether ASPAs are wanted.
    pub fn set_limit(&mut self, limit_percent: Option<u8>, wants_aspas: bool) {
        self.limit_percent = limit_percent;
        self.wants_aspas = wants_aspas;
        for guard in self.guards.values_mut() {
            guard.vrps.set_limit(limit_percent);
            guard.aspas.set_limit(limit_percent);
        }
    }

    /// The data in force.
    pub fn in_force(&self) -> Option<&InForce> {
        self.in_force.as_ref()
    }

    /// The refused data of the last choice, with their numbers.
    pub fn refusals(&self) -> &[(Origin, String)] {
        &self.refusals
    }

    /// The data that [`Self::accept`] accepts.
    pub fn refused(&self) -> Option<&Candidate> {
        self.refused.as_ref()
    }

    /// Accepts the refused data of the most preferred origin. Returns whether there were any.
    pub fn accept(&mut self) -> bool {
        let first = self.refusals.first();
        let guard = first.and_then(|(origin, _)| self.guards.get_mut(origin));
        guard.is_some_and(SetGuard::accept)
    }

    /// Chooses among the candidates, which are in order of preference.
    pub fn choose(&mut self, candidates: &[Candidate], now: Instant) -> Choice {
        self.refusals.clear();
        self.refused = None;
        for candidate in candidates
            .iter()
            .filter(|candidate| !candidate.is_expired(now))
        {
            if let Err(why) = self.check(candidate) {
                self.refusals.push((candidate.origin.clone(), why));
                self.refused.get_or_insert_with(|| candidate.clone());
                continue;
            }
            return self.adopt(candidate);
        }
        let is_expired = self
            .in_force
            .as_ref()
            .is_some_and(|data| data.from.is_expired(now));
        if is_expired && self.refusals.is_empty() {
            self.in_force = None;
            return Choice::Expired;
        }
        Choice::Same
    }

    fn check(&mut self, candidate: &Candidate) -> Result<(), String> {
        let Some(in_force) = &self.in_force else {
            return Ok(());
        };
        let limit = self.limit_percent;
        let guard = self.guards.entry(candidate.origin.clone());
        let guard = guard.or_insert_with(|| SetGuard::new(limit));
        let old = in_force.data.sizes();
        let old = Sizes {
            aspas: old.aspas.filter(|_| self.wants_aspas),
            ..old
        };
        guard.check(old, candidate.content.sizes())
    }

    fn adopt(&mut self, candidate: &Candidate) -> Choice {
        let old = self.in_force.take();
        let (data, choice) = match old {
            Some(old) if old.from.content.is_same(&candidate.content) => (old.data, Choice::Same),
            Some(old) => {
                let data = candidate.content.build();
                if data == old.data {
                    (old.data, Choice::Same)
                } else {
                    (data, Choice::Changed)
                }
            }
            None => (candidate.content.build(), Choice::Changed),
        };
        let from = candidate.clone();
        self.in_force = Some(InForce { from, data });
        choice
    }
}

/// The guards of one origin.
#[derive(Debug)]
struct SetGuard {
    vrps: ShrinkGuard,
    aspas: ShrinkGuard,
}

impl SetGuard {
    fn new(limit_percent: Option<u8>) -> Self {
        SetGuard {
            vrps: ShrinkGuard::new(limit_percent),
            aspas: ShrinkGuard::new(limit_percent),
        }
    }

    /// A cache that falls back to a version without ASPAs has lost all of them.
    fn check(&mut self, old: Sizes, new: Sizes) -> Result<(), String> {
        let vrps = self
            .vrps
            .check(old.vrps.unwrap_or(0), new.vrps.unwrap_or(0));
        let aspas = match (old.aspas, new.aspas) {
            (Some(old), new) => self.aspas.check(old, new.unwrap_or(0)),
            (None, _) => Ok(()),
        };
        vrps.map_err(|shrink| format!("VRPs: {shrink}"))?;
        aspas.map_err(|shrink| format!("ASPAs: {shrink}"))
    }

    fn accept(&mut self) -> bool {
        let (vrps, aspas) = (self.vrps.accept(), self.aspas.accept());
        vrps || aspas
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use rutter_rpki::{Vrp, Vrps};

    use super::*;
    use crate::rpki::candidate::Content;

    const EXPIRE: Duration = Duration::from_secs(7_200);

    /// Data of a cache with a number of VRPs, confirmed at a time.
    fn candidate(name: &str, vrps: u32, confirmed_at: Instant) -> Candidate {
        let vrp = |n: u32| Vrp {
            prefix: format!("10.{n}.0.0/16").parse().unwrap(),
            max_len: 16,
            asn: n,
        };
        let vrps = Vrps::from_vrps((0..vrps).map(vrp)).unwrap();
        Candidate {
            origin: Origin::Cache(name.to_owned()),
            content: Content::Set(LiveRpkiData {
                vrps: Some(Arc::new(vrps)),
                aspas: None,
            }),
            confirmed_at,
            time: 0,
            expire: EXPIRE,
            is_copy: false,
        }
    }

    fn in_force(selection: &Selection) -> Option<(String, u64)> {
        let in_force = selection.in_force()?;
        Some((
            in_force.from.origin.to_string(),
            in_force.data.sizes().total(),
        ))
    }

    fn of(name: &str, vrps: u64) -> Option<(String, u64)> {
        Some((format!("cache {name}"), vrps))
    }

    #[test]
    fn data_stay_until_they_expire_and_then_the_next_count() {
        let (start, mut selection) = (Instant::now(), Selection::new(Some(20), true));
        assert_eq!(selection.choose(&[], start), Choice::Same);
        let (one, two) = (
            candidate("one", 10, start),
            candidate("two", 9, start + EXPIRE / 2),
        );
        let both = [one, two];
        assert_eq!(selection.choose(&both, start), Choice::Changed);
        assert_eq!(in_force(&selection), of("one", 10));
        let almost = start + EXPIRE - Duration::from_secs(1);
        assert_eq!(selection.choose(&both, almost), Choice::Same);
        assert_eq!(selection.choose(&both, start + EXPIRE), Choice::Changed);
        assert_eq!(in_force(&selection), of("two", 9));
        let later = start + EXPIRE * 3 / 2;
        assert_eq!(selection.choose(&both, later), Choice::Expired);
        assert_eq!(selection.choose(&both, later), Choice::Same);
        assert_eq!(in_force(&selection), None);
        let back = candidate("one", 1, later);
        assert_eq!(selection.choose(&[back], later), Choice::Changed);
    }

    #[test]
    fn equal_data_of_another_origin_are_no_change() {
        let (start, mut selection) = (Instant::now(), Selection::new(None, true));
        let two = candidate("two", 9, start);
        assert_eq!(
            selection.choose(std::slice::from_ref(&two), start),
            Choice::Changed
        );
        let both = [candidate("one", 9, start), two];
        assert_eq!(selection.choose(&both, start), Choice::Same);
        assert_eq!(in_force(&selection), of("one", 9));
    }

    #[test]
    fn refused_data_are_passed_over_and_stop_the_expiry() {
        let (start, mut selection) = (Instant::now(), Selection::new(Some(20), true));
        selection.choose(&[candidate("one", 10, start)], start);
        let later = start + EXPIRE * 2;
        let small = candidate("one", 7, later);
        assert_eq!(
            selection.choose(std::slice::from_ref(&small), later),
            Choice::Same
        );
        assert_eq!(
            (in_force(&selection), selection.refusals().len()),
            (of("one", 10), 1)
        );
        let both = [small, candidate("two", 8, later)];
        assert_eq!(selection.choose(&both, later), Choice::Changed);
        assert_eq!(
            (in_force(&selection), selection.refusals().len()),
            (of("two", 8), 1)
        );
        let back = candidate("one", 9, later);
        assert_eq!(selection.choose(&[back], later), Choice::Changed);
        assert!(selection.refusals().is_empty() && !selection.accept());
    }

    #[test]
    fn a_cache_that_loses_all_aspas_is_refused_where_they_are_wanted() {
        let (now, mut selection) = (Instant::now(), Selection::new(Some(20), true));
        let mut full = candidate("one", 10, now);
        let mut aspas = rutter_rpki::AspasBuilder::new();
        let asn = rutter_net::Asn;
        aspas.add(asn(1), [asn(2)]).unwrap();
        let Content::Set(data) = &mut full.content else {
            unreachable!();
        };
        data.aspas = Some(Arc::new(aspas.build()));
        selection.choose(&[full], now);
        // The cache answers in version 1, which has no ASPAs.
        let fallen = [candidate("one", 10, now)];
        assert_eq!(selection.choose(&fallen, now), Choice::Same);
        let (_, why) = &selection.refusals()[0];
        assert!(why.starts_with("ASPAs: "), "{why}");
        selection.set_limit(Some(20), false);
        assert_eq!(selection.choose(&fallen, now), Choice::Changed);
        assert!(selection.refusals().is_empty());
    }

    #[test]
    fn accepted_data_pass_once() {
        let (now, mut selection) = (Instant::now(), Selection::new(Some(20), true));
        selection.choose(&[candidate("one", 100, now)], now);
        let small = [candidate("one", 10, now), candidate("two", 20, now)];
        assert_eq!(selection.choose(&small, now), Choice::Same);
        assert_eq!(selection.refusals().len(), 2);
        let offered = selection
            .refused()
            .map(|candidate| candidate.content.sizes());
        assert_eq!(offered.map(Sizes::total), Some(10));
        assert!(selection.accept());
        assert_eq!(selection.choose(&small, now), Choice::Changed);
        assert!(selection.refused().is_none());
        assert_eq!(
            (in_force(&selection), selection.refusals().len()),
            (of("one", 10), 0)
        );
        selection.choose(&[candidate("one", 100, now)], now);
        assert_eq!(selection.choose(&small, now), Choice::Same);
    }
}
