//! Dynamic neighbors whose AS no section names: their IRR data are requested while they are connected.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rutter_config::Config;
use rutter_net::Asn;

use crate::outside_sources::OutsideSources;
use crate::privileges;
use crate::reload;
use crate::shared::Shared;

/// The time between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The least time between two changes. Each change builds the IRR data again, and strangers decide when they connect.
const CHANGE_EVERY: Duration = Duration::from_secs(30);
/// How long the data of a neighbor stay that has left. A session that flaps requests nothing.
const KEEP: Duration = Duration::from_secs(600);
/// The most neighbors that have data, those included that have left. The routes of further ones are rejected.
pub(crate) const MAX_MEMBERS: usize = 1_000;

type Member = (IpAddr, Asn);

/// Keeps [`Config::dynamic_members`] up to date. Ends when the sender of `end` is dropped.
pub(crate) fn watch(shared: &Arc<Shared>, end: &Receiver<()>) {
    privileges::yield_to_routing();
    let mut members = Members::default();
    let mut changed_at = None;
    while end.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        let (config, now) = (Arc::clone(&shared.config.read()), Instant::now());
        let is_unused = !config.admits_unknown_members() && config.dynamic_members.is_empty();
        if is_unused || shared.upgrades.is_preparing() || !may_change(changed_at, now) {
            continue;
        }
        let wanted = members.wanted(&config.dynamic_members, connected(shared, &config), now);
        if wanted != config.dynamic_members {
            change(shared, wanted);
            changed_at = Some(now);
        }
    }
}

fn may_change(changed_at: Option<Instant>, now: Instant) -> bool {
    changed_at.is_none_or(|at| now.saturating_duration_since(at) >= CHANGE_EVERY)
}

/// The dynamic neighbors whose AS is known from their OPENs, and not from the configuration.
fn connected(shared: &Shared, config: &Config) -> BTreeMap<IpAddr, Asn> {
    let all = shared.peers.all();
    let dynamic = all.iter().filter_map(|status| {
        status.with(|details| {
            let neighbor = &details.config;
            let is_known = details.dynamic && neighbor.asn != Asn(0);
            is_known.then_some((neighbor.address, neighbor.asn))
        })
    });
    dynamic
        .filter(|(address, _)| config.admits_unknown_member(*address))
        .collect()
}

/// Gives numbers to new members, and requests their data. The routes of a neighbor whose number changes are evaluated
/// again.
fn change(shared: &Arc<Shared>, members: BTreeSet<Member>) {
    let _one_at_a_time = shared.reloading.lock();
    let old = Arc::clone(&shared.config.read());
    let new = Arc::new(old.with_dynamic_members(members));
    *shared.config.write() = Arc::clone(&new);
    reload::renumber_dynamic(shared, &old, &new);
    OutsideSources::change_members(shared, &old, &new);
    shared.flush();
}

/// The members that are not connected, or have no data.
#[derive(Default)]
struct Members {
    /// The last AS of each address that has left, with the time.
    left: HashMap<IpAddr, (Asn, Instant)>,
    /// The connected neighbors for which there was no room.
    without_room: usize,
}

impl Members {
    /// The members whose data are wanted: first the connected ones that are `known`, then other connected ones, then
    /// members of `known` that left not long ago, the latest first. Together at most [`MAX_MEMBERS`].
    fn wanted(
        &mut self,
        known: &BTreeSet<Member>,
        connected: BTreeMap<IpAddr, Asn>,
        now: Instant,
    ) -> BTreeSet<Member> {
        for (address, asn) in known {
            if !connected.contains_key(address) {
                self.left.entry(*address).or_insert((*asn, now));
            }
        }
        self.left.retain(|address, (_, left)| {
            !connected.contains_key(address) && now.saturating_duration_since(*left) < KEEP
        });
        let (mut members, new): (Vec<Member>, Vec<Member>) = connected
            .into_iter()
            .partition(|member| known.contains(member));
        members.extend(new);
        self.report_without_room(members.len().saturating_sub(MAX_MEMBERS));
        members.truncate(MAX_MEMBERS);
        let left = self.left.iter();
        let mut left: Vec<(Instant, Member)> = left
            .map(|(address, (asn, at))| (*at, (*address, *asn)))
            .collect();
        left.sort_unstable_by(|one, other| other.cmp(one));
        for (_, (address, _)) in left.drain(left.len().min(MAX_MEMBERS - members.len())..) {
            self.left.remove(&address);
        }
        members.extend(left.into_iter().map(|(_, member)| member));
        members.into_iter().collect()
    }

    /// Logs that neighbors have no data, when the first one has none.
    fn report_without_room(&mut self, count: usize) {
        if count > 0 && self.without_room == 0 {
            tracing::warn!(
                neighbors = count,
                limit = MAX_MEMBERS,
                "too many dynamic neighbors whose AS no section names are connected: the routes of the last ones are \
                 rejected, because Rutter requests no IRR data for them"
            );
        }
        self.without_room = count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(last: u32) -> Member {
        let address = IpAddr::from((0x7f00_0000 | last).to_be_bytes());
        (address, Asn(64_500 + last))
    }

    fn connected(numbers: impl IntoIterator<Item = u32>) -> BTreeMap<IpAddr, Asn> {
        numbers.into_iter().map(member).collect()
    }

    fn set(numbers: impl IntoIterator<Item = u32>) -> BTreeSet<Member> {
        numbers.into_iter().map(member).collect()
    }

    #[test]
    fn data_stay_for_a_while_after_a_member_has_left() {
        let (mut members, start) = (Members::default(), Instant::now());
        let wanted = members.wanted(&BTreeSet::new(), connected([1, 2]), start);
        assert_eq!(wanted, set([1, 2]));
        assert_eq!(
            members.wanted(&set([1, 2]), connected([1]), start),
            set([1, 2])
        );
        let late = start + KEEP;
        assert_eq!(members.wanted(&set([1, 2]), connected([1]), late), set([1]));
        assert_eq!(members.wanted(&set([1]), connected([1]), late), set([1]));
        assert!(members.left.is_empty());
    }

    #[test]
    fn a_member_that_returns_begins_again() {
        let (mut members, start) = (Members::default(), Instant::now());
        let one = set([1]);
        assert_eq!(members.wanted(&one, BTreeMap::new(), start), one);
        assert_eq!(members.wanted(&one, connected([1]), start + KEEP / 2), one);
        let wanted = members.wanted(&one, BTreeMap::new(), start + KEEP);
        assert_eq!(wanted, one, "it left just now");
    }

    #[test]
    fn an_address_has_the_data_of_one_as_at_a_time() {
        let (mut members, start) = (Members::default(), Instant::now());
        let (address, _) = member(1);
        let mut known = set([1]);
        for asn in 1..20 {
            let asn = Asn(asn);
            let now = start + CHANGE_EVERY * asn.0;
            let while_connected = BTreeMap::from([(address, asn)]);
            known = members.wanted(&known, while_connected, now);
            assert_eq!(known, BTreeSet::from([(address, asn)]));
            known = members.wanted(&known, BTreeMap::new(), now);
            assert_eq!(known, BTreeSet::from([(address, asn)]), "it left just now");
        }
    }

    #[test]
    fn members_are_limited_and_connected_ones_come_first() {
        let (mut members, start) = (Members::default(), Instant::now());
        let most = MAX_MEMBERS as u32;
        let known = members.wanted(&BTreeSet::new(), connected(10..10 + most), start);
        assert_eq!(known, set(10..10 + most));
        // One that has data keeps them.
        let full = members.wanted(&known, connected(0..10 + most), start);
        assert_eq!((full, members.without_room), (known.clone(), 10));
        // Members that have left give way, the earliest first.
        let less = members.wanted(&known, connected(11..10 + most), start);
        assert_eq!(less, known, "there is room for one that has left");
        let now = start + Duration::from_secs(1);
        let less = members.wanted(&known, connected(12..11 + most), now);
        let expected = set(11..11 + most);
        assert_eq!((less, members.left.len()), (expected, 1));
    }

    #[test]
    fn changes_have_a_distance() {
        let start = Instant::now();
        assert!(may_change(None, start));
        let almost = CHANGE_EVERY - Duration::from_millis(1);
        assert!(!may_change(Some(start), start + almost));
        assert!(may_change(Some(start), start + CHANGE_EVERY));
    }
}
