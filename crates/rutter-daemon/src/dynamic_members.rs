//! Dynamic neighbors whose AS no section names: their IRR data are requested while they are connected.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rutter_config::Config;
use rutter_net::Asn;

use crate::filter_sources::FilterSources;
use crate::privileges;
use crate::reload;
use crate::shared::Shared;

/// The time between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long the data of a neighbor stay that has left. A session that flaps requests nothing.
const KEEP: Duration = Duration::from_secs(600);
/// The most neighbors that have left and whose data stay.
const MAX_LEFT: usize = 256;

type Member = (IpAddr, Asn);

/// Keeps [`Config::dynamic_members`] up to date. Ends when the sender of `end` is dropped.
pub(crate) fn watch(shared: &Arc<Shared>, end: &Receiver<()>) {
    privileges::yield_to_routing();
    let mut left = LeftMembers::default();
    while end.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        let config = Arc::clone(&shared.config.read());
        if !config.admits_unknown_members() && config.dynamic_members.is_empty() {
            continue;
        }
        let connected = connected(shared, &config);
        let wanted = left.wanted(&config.dynamic_members, connected, Instant::now());
        if wanted != config.dynamic_members {
            change(shared, wanted);
        }
    }
}

/// The dynamic neighbors whose AS is known from their OPENs, and not from the configuration.
fn connected(shared: &Shared, config: &Config) -> BTreeSet<Member> {
    let all = shared.peers.all();
    let dynamic = all.iter().filter_map(|status| {
        status.with(|details| {
            let neighbor = &details.config;
            let is_known = details.dynamic && neighbor.asn != Asn(0);
            is_known.then_some((neighbor.address, neighbor.asn))
        })
    });
    let is_unnamed = |member: &Member| {
        let mut sections = config.dynamic_neighbors.iter();
        let section = sections.find(|section| section.admits(member.0));
        section.is_some_and(|section| section.asns.is_empty())
    };
    dynamic.filter(is_unnamed).collect()
}

/// Gives numbers to new members, and requests their data. The routes of a neighbor whose number changes are evaluated again.
fn change(shared: &Arc<Shared>, members: BTreeSet<Member>) {
    let _one_at_a_time = shared.reloading.lock();
    let old = Arc::clone(&shared.config.read());
    let new = Arc::new(old.with_dynamic_members(members));
    *shared.config.write() = Arc::clone(&new);
    reload::renumber_dynamic(shared, &old, &new);
    FilterSources::change_members(shared, &old, &new);
    shared.flush();
}

/// The members that have left, with the times.
#[derive(Default)]
struct LeftMembers(HashMap<Member, Instant>);

impl LeftMembers {
    /// The members whose data are wanted: the connected ones, and members of `known` that left not long ago.
    fn wanted(
        &mut self,
        known: &BTreeSet<Member>,
        connected: BTreeSet<Member>,
        now: Instant,
    ) -> BTreeSet<Member> {
        for member in known.difference(&connected) {
            self.0.entry(*member).or_insert(now);
        }
        self.0.retain(|member, left| {
            !connected.contains(member) && now.saturating_duration_since(*left) < KEEP
        });
        let mut latest: Vec<(Instant, Member)> = self.0.iter().map(|(m, at)| (*at, *m)).collect();
        latest.sort_unstable_by(|one, other| other.cmp(one));
        for (_, member) in latest.drain(latest.len().min(MAX_LEFT)..) {
            self.0.remove(&member);
        }
        let left = latest.into_iter().map(|(_, member)| member);
        connected.into_iter().chain(left).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(last: u32) -> Member {
        let address = IpAddr::from((0x7f00_0000 | last).to_be_bytes());
        (address, Asn(64_500 + last))
    }

    #[test]
    fn data_stay_for_a_while_after_a_member_has_left() {
        let mut left = LeftMembers::default();
        let start = Instant::now();
        let both: BTreeSet<Member> = [member(1), member(2)].into();
        let one: BTreeSet<Member> = [member(1)].into();
        let wanted = left.wanted(&BTreeSet::new(), both.clone(), start);
        assert_eq!(wanted, both);
        assert_eq!(left.wanted(&both, one.clone(), start), both);
        let late = start + KEEP;
        assert_eq!(left.wanted(&both, one.clone(), late), one);
        assert_eq!(left.wanted(&one, one.clone(), late), one);
        assert!(left.0.is_empty());
    }

    #[test]
    fn a_member_that_returns_begins_again() {
        let mut left = LeftMembers::default();
        let start = Instant::now();
        let one: BTreeSet<Member> = [member(1)].into();
        assert_eq!(left.wanted(&one, BTreeSet::new(), start), one);
        assert_eq!(left.wanted(&one, one.clone(), start + KEEP / 2), one);
        let wanted = left.wanted(&one, BTreeSet::new(), start + KEEP);
        assert_eq!(wanted, one, "it left just now");
    }

    #[test]
    fn many_members_that_have_left_are_limited_to_the_latest() {
        let mut left = LeftMembers::default();
        let start = Instant::now();
        let mut known = BTreeSet::new();
        for at in 0..2 * MAX_LEFT as u32 {
            known.insert(member(at));
            known = left.wanted(
                &known,
                BTreeSet::new(),
                start + Duration::from_millis(at.into()),
            );
        }
        assert_eq!(known.len(), MAX_LEFT);
        assert!(known.contains(&member(2 * MAX_LEFT as u32 - 1)));
        assert_eq!(left.0.len(), MAX_LEFT);
    }
}
