//! Samples of the last day in bounded memory.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use rutter_api::{FamilyRow, NeighborSampleRow, PeerRow, SampleRow, SessionState};

/// So many samples of all neighbors are kept: a day with one each minute.
const SAMPLES: usize = 1_440;
/// So many samples of one neighbor are kept: a day with one in five minutes. Each takes 16 bytes.
const NEIGHBOR_SAMPLES: usize = 288;
/// Each neighbor is part of one in so many samples.
const NEIGHBOR_EVERY: u64 = 5;
/// So many neighbors have samples of their own: about 20 MB in all.
pub(crate) const NEIGHBORS: usize = 4_096;
/// Samples are kept for so long, seconds.
const KEPT_S: u64 = 24 * 3_600;

/// The samples of the last day, with ascending times. Where the daemon did not answer, there are none.
#[derive(Default)]
pub(crate) struct SampleRings {
    samples: VecDeque<SampleRow>,
    neighbors: HashMap<IpAddr, Neighbor>,
    taken: u64,
    /// When the last sample was taken, and the last one of neighbors.
    last: Option<Duration>,
    last_of_neighbors: Option<Duration>,
    /// The neighbors without samples of their own, because others have all places.
    left_out: usize,
}

/// The state of the daemon at one time.
pub(crate) struct Observation<'a> {
    /// The time since some fixed moment, of a clock that is never set.
    pub(crate) at: Duration,
    /// Wall time.
    pub(crate) unix_s: u64,
    /// Prefixes in the table.
    pub(crate) prefixes: u64,
    pub(crate) peers: &'a [PeerRow],
}

/// A neighbor: its counters at the last sample of all, and its samples.
#[derive(Default)]
struct Neighbor {
    updates: u64,
    bytes_sent: u64,
    /// UPDATEs received since its last sample.
    new_updates: u64,
    /// `None` if others have all places.
    ring: Option<VecDeque<NeighborSample>>,
}

/// A sample of a neighbor in 16 bytes. Its numbers fit: a table has fewer than 2³² routes, and times end in 2106.
struct NeighborSample {
    unix_s: u32,
    accepted: u32,
    rejected: u32,
    /// Not a number in the first sample after the start.
    updates_per_s: f32,
}

impl SampleRings {
    /// Adds a sample. Neighbors that are no longer there leave with their samples. Returns the number of neighbors that
    /// have no samples of their own if it has grown.
    pub(crate) fn record(&mut self, seen: &Observation<'_>) -> Option<usize> {
        self.forget(seen.unix_s);
        let elapsed = self.last.map(|last| seen.at.saturating_sub(last));
        let (updates, bytes) = self.count(seen.peers, elapsed.is_none());
        let families = || seen.peers.iter().flat_map(|peer| &peer.families);
        let is_up = |peer: &&PeerRow| peer.session.state == SessionState::Established;
        push(
            &mut self.samples,
            SAMPLES,
            SampleRow {
                unix_s: seen.unix_s,
                accepted: families().map(|family| family.accepted).sum(),
                rejected: families().map(|family| family.rejected).sum(),
                prefixes: seen.prefixes,
                established: seen.peers.iter().filter(is_up).count() as u64,
                updates_received_per_s: elapsed.map(|time| rate(updates, time)),
                bytes_sent_per_s: elapsed.map(|time| rate(bytes, time)),
            },
        );
        self.last = Some(seen.at);
        if self.taken.is_multiple_of(NEIGHBOR_EVERY) {
            self.record_neighbors(seen);
        }
        self.taken += 1;
        let left_out = self.neighbors.values().filter(|one| one.ring.is_none());
        let before = std::mem::replace(&mut self.left_out, left_out.count());
        (self.left_out > before).then_some(self.left_out)
    }

    /// The samples of all neighbors, the oldest first.
    pub(crate) fn samples(&self) -> impl Iterator<Item = &SampleRow> {
        self.samples.iter()
    }

    /// The samples of one neighbor, the oldest first.
    pub(crate) fn neighbor(&self, address: IpAddr) -> impl Iterator<Item = NeighborSampleRow> {
        let ring = self.neighbors.get(&address);
        let ring = ring.and_then(|neighbor| neighbor.ring.as_ref());
        ring.into_iter()
            .flatten()
            .map(move |one| NeighborSampleRow {
                address,
                unix_s: one.unix_s.into(),
                accepted: one.accepted.into(),
                rejected: one.rejected.into(),
                updates_received_per_s: rounded(one.updates_per_s.into()),
            })
    }

    /// Removes samples that are older than a day, and those from the future of a clock that was set back.
    fn forget(&mut self, now_s: u64) {
        trim(&mut self.samples, now_s, |one| one.unix_s);
        let rings = self
            .neighbors
            .values_mut()
            .filter_map(|one| one.ring.as_mut());
        for ring in rings {
            trim(ring, now_s, |one| one.unix_s.into());
        }
    }

    /// Returns the UPDATEs received and the bytes sent since the last sample. A neighbor that came since then began at 0.
    fn count(&mut self, peers: &[PeerRow], is_first: bool) -> (u64, u64) {
        let (mut updates, mut bytes) = (0_u64, 0_u64);
        let mut kept = HashMap::with_capacity(peers.len());
        let mut free = NEIGHBORS;
        for peer in peers {
            let session = &peer.session;
            let (now, sent) = (session.received.messages.update, session.sent.bytes);
            let mut neighbor = self.neighbors.remove(&session.address).unwrap_or_default();
            if !is_first {
                let new = increase(neighbor.updates, now);
                updates = updates.saturating_add(new);
                bytes = bytes.saturating_add(increase(neighbor.bytes_sent, sent));
                neighbor.new_updates = neighbor.new_updates.saturating_add(new);
            }
            (neighbor.updates, neighbor.bytes_sent) = (now, sent);
            free -= usize::from(neighbor.ring.is_some());
            kept.insert(session.address, neighbor);
        }
        let without = kept.values_mut().filter(|one| one.ring.is_none());
        for neighbor in without.take(free) {
            neighbor.ring = Some(VecDeque::new());
        }
        self.neighbors = kept;
        (updates, bytes)
    }

    fn record_neighbors(&mut self, seen: &Observation<'_>) {
        let last = self.last_of_neighbors.replace(seen.at);
        let elapsed = last.map(|last| seen.at.saturating_sub(last));
        for peer in seen.peers {
            let Some(neighbor) = self.neighbors.get_mut(&peer.session.address) else {
                continue;
            };
            let new = std::mem::take(&mut neighbor.new_updates);
            let Some(ring) = &mut neighbor.ring else {
                continue;
            };
            let sum = |count: fn(&FamilyRow) -> u64| {
                let routes = peer.families.iter().map(count).sum::<u64>();
                u32::try_from(routes).unwrap_or(u32::MAX)
            };
            let rate = elapsed.map_or(f64::NAN, |time| rate(new, time));
            let sample = NeighborSample {
                unix_s: u32::try_from(seen.unix_s).unwrap_or(u32::MAX),
                accepted: sum(|family| family.accepted),
                rejected: sum(|family| family.rejected),
                updates_per_s: rate as f32,
            };
            push(ring, NEIGHBOR_SAMPLES, sample);
        }
    }
}

/// Removes the samples that are not of the day before this time.
fn trim<T>(ring: &mut VecDeque<T>, now_s: u64, time: impl Fn(&T) -> u64) {
    let oldest = now_s.saturating_sub(KEPT_S);
    while ring.pop_front_if(|one| time(one) < oldest).is_some() {}
    while ring.pop_back_if(|one| time(one) >= now_s).is_some() {}
}

/// Adds a sample to a ring of so many.
fn push<T>(ring: &mut VecDeque<T>, size: usize, sample: T) {
    if ring.len() == size {
        ring.pop_front();
    }
    // A ring grows by a few places, because doubling would take twice its size.
    if ring.len() == ring.capacity() {
        ring.reserve_exact((size - ring.len()).min(48));
    }
    ring.push_back(sample);
}

/// The increase of a counter. One that is smaller than before began again at 0.
fn increase(before: u64, now: u64) -> u64 {
    now.checked_sub(before).unwrap_or(now)
}

/// A number a second, with three decimals.
fn rate(count: u64, time: Duration) -> f64 {
    let seconds = time.as_secs_f64().max(0.001);
    rounded(count as f64 / seconds).unwrap_or_default()
}

fn rounded(number: f64) -> Option<f64> {
    number
        .is_finite()
        .then(|| (number * 1_000.0).round() / 1_000.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const START_S: u64 = 1_800_000_000;
    const DAY_MINUTES: u64 = 1_440;

    /// A neighbor with this last octet, its accepted routes and its counter of received UPDATEs.
    fn peer(octet: u8, accepted: u64, updates: u64) -> PeerRow {
        let direction = |update: u64| {
            json!({"bytes": update.saturating_mul(100), "messages": {
                "open": 1, "update": update, "notification": 0, "keepalive": 9, "route-refresh": 0,
            }})
        };
        let row = json!({
            "name": format!("peer {octet}"), "address": format!("192.0.2.{octet}"), "asn": 64_500, "local-asn": 64_499,
            "role": "member", "state": "Established", "state-for-s": 5, "established-count": 1, "malformed-updates": 0,
            "unsent-bytes": 0, "received": direction(updates), "sent": direction(updates),
            "families": [{
                "family": "ipv4-unicast", "negotiated": true, "received": accepted + 1, "accepted": accepted,
                "rejected": 1,
            }],
        });
        serde_json::from_value(row).expect("a session")
    }

    /// Records the state in a minute after the start.
    fn record(rings: &mut SampleRings, minute: u64, peers: &[PeerRow]) {
        rings.record(&Observation {
            at: Duration::from_secs(60 * minute),
            unix_s: START_S + 60 * minute,
            prefixes: 7,
            peers,
        });
    }

    fn samples(rings: &SampleRings) -> Vec<SampleRow> {
        rings.samples().cloned().collect()
    }

    fn of_neighbor(rings: &SampleRings, octet: u8) -> Vec<NeighborSampleRow> {
        rings.neighbor([192, 0, 2, octet].into()).collect()
    }

    #[test]
    fn a_sample_has_the_sums_and_the_rates_since_the_one_before() {
        let mut rings = SampleRings::default();
        record(&mut rings, 0, &[peer(1, 10, 1_000), peer(2, 20, 500)]);
        record(&mut rings, 1, &[peer(1, 11, 1_060), peer(2, 20, 530)]);
        let [first, second] = &samples(&rings)[..] else {
            panic!("two samples")
        };
        // The counters before the first sample are those of an unknown time.
        assert_eq!(first.updates_received_per_s, None);
        assert_eq!((second.accepted, second.rejected), (31, 2));
        assert_eq!((second.prefixes, second.established), (7, 2));
        assert_eq!(second.updates_received_per_s, Some(1.5));
        assert_eq!(second.bytes_sent_per_s, Some(150.0));
    }

    #[test]
    fn a_day_of_samples_is_kept_and_no_more() {
        let mut rings = SampleRings::default();
        for minute in 0..2 * DAY_MINUTES {
            record(&mut rings, minute, &[peer(1, minute, 60 * minute)]);
        }
        let all = samples(&rings);
        assert_eq!(all.len(), SAMPLES);
        assert_eq!(all[0].accepted, DAY_MINUTES);
        assert!(
            all.iter()
                .all(|one| one.updates_received_per_s == Some(1.0))
        );
        let own = of_neighbor(&rings, 1);
        assert_eq!(own.len(), NEIGHBOR_SAMPLES);
        assert!(
            own.iter()
                .all(|one| one.updates_received_per_s == Some(1.0))
        );
        assert!(
            own.windows(2)
                .all(|two| two[1].unix_s - two[0].unix_s == 300)
        );
        let ring = rings
            .neighbors
            .values()
            .next()
            .and_then(|one| one.ring.as_ref());
        assert_eq!(ring.map(VecDeque::capacity), Some(NEIGHBOR_SAMPLES));
        assert_eq!(rings.samples.capacity(), SAMPLES);
        assert_eq!(size_of::<NeighborSample>(), 16);
    }

    #[test]
    fn a_time_without_an_answer_has_no_samples() {
        let mut rings = SampleRings::default();
        record(&mut rings, 0, &[peer(1, 1, 0)]);
        record(&mut rings, 30, &[peer(1, 1, 3_600)]);
        let times: Vec<u64> = rings.samples().map(|one| one.unix_s - START_S).collect();
        assert_eq!(times, [0, 1_800]);
        assert_eq!(samples(&rings)[1].updates_received_per_s, Some(2.0));
        // After more than a day, nothing before it is left.
        record(&mut rings, 2 * DAY_MINUTES, &[peer(1, 1, 3_600)]);
        assert_eq!(rings.samples().count(), 1);
    }

    #[test]
    fn a_counter_that_begins_again_counts_from_zero() {
        let mut rings = SampleRings::default();
        record(&mut rings, 0, &[peer(1, 1, u64::MAX), peer(2, 1, 60)]);
        record(&mut rings, 1, &[peer(1, 1, 60), peer(2, 1, 120)]);
        assert_eq!(samples(&rings)[1].updates_received_per_s, Some(2.0));
        // Two neighbors that count to the end do not overflow.
        record(&mut rings, 2, &[peer(1, 1, u64::MAX), peer(2, 1, u64::MAX)]);
        assert!(samples(&rings)[2].updates_received_per_s > Some(1e15));
    }

    #[test]
    fn a_neighbor_that_was_removed_leaves_with_its_samples() {
        let mut rings = SampleRings::default();
        record(&mut rings, 0, &[peer(1, 1, 60), peer(2, 1, 60)]);
        assert_eq!(of_neighbor(&rings, 2).len(), 1);
        record(&mut rings, 1, &[peer(1, 1, 60)]);
        assert!(of_neighbor(&rings, 2).is_empty());
        // It comes back as a new one, whose counters began at 0.
        record(&mut rings, 2, &[peer(1, 1, 60), peer(2, 1, 120)]);
        let rates: Vec<_> = rings
            .samples()
            .map(|one| one.updates_received_per_s)
            .collect();
        assert_eq!(rates, [None, Some(0.0), Some(2.0)]);
        assert!(of_neighbor(&rings, 2).is_empty());
        for minute in 3..6 {
            record(&mut rings, minute, &[peer(1, 1, 60), peer(2, 1, 120)]);
        }
        let own = of_neighbor(&rings, 2);
        assert_eq!(own[0].updates_received_per_s, Some(0.4));
    }

    #[test]
    fn a_clock_that_is_set_back_leaves_no_samples_of_the_future() {
        let mut rings = SampleRings::default();
        for minute in 0..10 {
            record(&mut rings, minute, &[peer(1, 1, 60)]);
        }
        rings.record(&Observation {
            at: Duration::from_secs(600),
            unix_s: START_S + 90,
            prefixes: 7,
            peers: &[peer(1, 1, 120)],
        });
        let times: Vec<u64> = rings.samples().map(|one| one.unix_s - START_S).collect();
        assert_eq!(times, [0, 60, 90]);
        assert_eq!(samples(&rings)[2].updates_received_per_s, Some(1.0));
    }

    #[test]
    fn the_number_of_neighbors_with_samples_is_limited() {
        let mut rings = SampleRings::default();
        let one = peer(1, 1, 60);
        let peers: Vec<PeerRow> = (0..NEIGHBORS as u32 + 10)
            .map(|number| {
                let mut peer = one.clone();
                peer.session.address = std::net::Ipv4Addr::from(number).into();
                peer
            })
            .collect();
        let seen = |minute: u64, peers| Observation {
            at: Duration::from_secs(60 * minute),
            unix_s: START_S + 60 * minute,
            prefixes: 7,
            peers,
        };
        assert_eq!(rings.record(&seen(0, &peers)), Some(10));
        assert_eq!(rings.record(&seen(1, &peers)), None);
        let with = |rings: &SampleRings| {
            let rings = rings.neighbors.values();
            rings.filter(|one| one.ring.is_some()).count()
        };
        assert_eq!(with(&rings), NEIGHBORS);
        assert_eq!(samples(&rings)[1].accepted, peers.len() as u64);
        // Places become free.
        rings.record(&seen(2, &peers[..20]));
        rings.record(&seen(3, &peers));
        assert_eq!(with(&rings), NEIGHBORS);
    }
}
