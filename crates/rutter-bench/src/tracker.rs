//! The routes that a client holds, as two bits per destination.

use std::sync::Arc;

use rutter_net::Prefix;

use crate::judge::Judge;
use crate::oracle::{Oracle, PrefixIndex, Right};
use crate::span::{PER_WORD, Span};
use crate::workload::Workload;

/// The data for judging routes. All threads share it; it is replaced when a peer is lost or reconnects.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The announced routes.
    pub workload: Arc<Workload>,
    /// Prefix to destination.
    pub index: Arc<PrefixIndex>,
    /// The routes that each client must hold.
    pub oracle: Arc<Oracle>,
    /// Verify attributes and best path, not only the set of prefixes.
    pub deep: bool,
    /// The prefix for measuring latency; it is never counted.
    pub probe: Option<Prefix>,
}

/// The tracked routes of one client.
#[derive(Clone, Debug, Default)]
pub struct Tracker {
    client: u32,
    /// Two bits per destination: held, and right.
    words: Vec<u64>,
    /// The last message, as numbered by the judge.
    last: u32,
    /// Destinations held.
    pub held: u32,
    /// Destinations held with the right route.
    pub right: u32,
    /// Destinations that must be held in the end.
    pub expected: u32,
    /// Announced prefixes received, including repeated ones.
    pub announced: u64,
    /// Withdrawn prefixes received.
    pub withdrawn: u64,
    /// Prefixes that no peer announced.
    pub unknown: u64,
    /// Routes with attributes that no peer announced.
    pub forged: u64,
    /// Malformed UPDATEs.
    pub malformed: u64,
    /// Announcements of the probe prefix.
    pub probes: u64,
}

/// Words per cache line.
const WORDS_A_LINE: usize = 8;
/// More words than this do not fit into the cache.
const MOST_BROUGHT: usize = 64 * 1024;

impl Tracker {
    /// Nothing held.
    pub fn new(client: u32, expected: u32) -> Self {
        Tracker {
            client,
            expected,
            ..Tracker::default()
        }
    }

    /// Removes all routes: the session is down.
    pub fn reset(&mut self) {
        self.words.clear();
        self.held = 0;
        self.right = 0;
    }

    /// Returns whether exactly the expected prefixes are held, each with the right route, and no forged route was ever
    /// received.
    pub fn is_exact(&self) -> bool {
        self.held == self.expected
            && self.right == self.expected
            && self.unknown + self.forged + self.malformed == 0
    }

    /// Processes the body of one UPDATE.
    pub fn update(&mut self, body: &[u8], judge: &mut Judge, bench: &Bench) {
        let meaning = judge.meaning(body, bench, &mut self.last);
        self.unknown += u64::from(meaning.unknown);
        self.malformed += u64::from(meaning.malformed);
        self.probes += u64::from(meaning.probes);
        if self.words.is_empty() {
            let words = bench
                .workload
                .destinations
                .len()
                .div_ceil(PER_WORD as usize);
            self.words = vec![0; words];
        }
        self.withdrawn += u64::from(meaning.withdrawn);
        self.announced += u64::from(meaning.announced);
        let (gone, announced) = judge.spans(&meaning);
        for span in gone {
            self.set(span, false, false);
        }
        for span in announced {
            let right = match span.right {
                Right::AllBut(peer) => peer != self.client,
                Right::Only(peer) => peer == self.client,
                Right::All => true,
                Right::Nobody => false,
                Right::Forged => {
                    self.forged += u64::from(span.count);
                    false
                }
                Right::Ask(peer) => span.ids().all(|id| {
                    let group = bench.oracle.group(id);
                    let winner = bench.oracle.winner(&bench.workload, group, self.client);
                    winner.is_some_and(|route| route.peer == peer)
                }),
            };
            self.set(span, true, right);
        }
    }

    /// Loads the bits into the cache before a large read is processed. Reading them in order is many times faster than
    /// in the order of the messages.
    pub fn prefetch(&self) {
        if self.words.len() <= MOST_BROUGHT {
            let lines = self.words.iter().step_by(WORDS_A_LINE);
            std::hint::black_box(lines.fold(0, |all, word| all ^ word));
        }
    }

    /// Sets whether the destinations of a span are held, and whether rightly.
    fn set(&mut self, span: &Span, held: bool, right: bool) {
        let bits = &mut self.words[span.word as usize];
        let (old, mask) = (*bits, span.mask);
        let of = |flag: bool| if flag { mask } else { 0 };
        *bits = old & !(mask | mask << 1) | of(held) | of(right) << 1;
        let now = |flag: bool| if flag { u32::from(span.count) } else { 0 };
        self.held = self.held + now(held) - span.count_in(old);
        self.right = self.right + now(right) - span.count_in(old >> 1);
    }

    /// Replaces the oracle while no routes are in transit. A held route is wrong if the right route has changed.
    pub fn change_oracle(&mut self, old: &Bench, new: &Bench, touched: &[u32], expected: u32) {
        self.expected = expected;
        for &number in touched {
            let winner = |bench: &Bench| {
                let winner = bench
                    .oracle
                    .winner(&bench.workload, number as usize, self.client);
                winner.map(|route| route.peer)
            };
            let group = new.workload.groups[number as usize];
            if winner(old) == winner(new) || self.words.is_empty() {
                continue;
            }
            for id in group.first..group.first + group.len {
                let span = Span::one(id, Right::Nobody);
                let held = span.count_in(self.words[span.word as usize]) > 0;
                self.set(&span, held, false);
            }
        }
    }

    /// Descriptions of some differences.
    pub fn differences(&self, bench: &Bench, most: usize) -> Vec<String> {
        let mut found = Vec::new();
        for (id, prefix) in bench.workload.destinations.iter().enumerate() {
            let group = bench.oracle.group(id as u32);
            let winner = bench.oracle.winner(&bench.workload, group, self.client);
            let bits = self
                .words
                .get(id / 32)
                .map_or(0, |word| word >> (id % 32 * 2) & 3);
            let what = match (winner, bits) {
                (Some(route), 0) => format!("{prefix}: missing, peer {} has the best", route.peer),
                (Some(route), 1) => format!(
                    "{prefix}: not the best route, which is peer {}'s",
                    route.peer
                ),
                (None, 1 | 3) => format!("{prefix}: held, but must not be"),
                _ => continue,
            };
            found.push(what);
            if found.len() == most {
                break;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::Visibility;
    use crate::workload::{Settings, Shape};

    fn bench(shape: Shape) -> Bench {
        let workload = Arc::new(Workload::generate(shape, None, Settings::default()));
        Bench {
            index: Arc::new(PrefixIndex::new(&workload.destinations)),
            oracle: Arc::new(Oracle::new(&workload, Visibility::PerClient)),
            workload,
            deep: true,
            probe: None,
        }
    }

    fn bodies(stream: &[u8]) -> Vec<&[u8]> {
        let mut rest = stream;
        let mut bodies = Vec::new();
        while rest.len() > 19 {
            let length = usize::from(u16::from_be_bytes([rest[16], rest[17]]));
            bodies.push(&rest[19..length]);
            rest = &rest[length..];
        }
        bodies
    }

    #[test]
    fn a_monitor_that_receives_every_peer_directly_is_exact() {
        let bench = bench(Shape::unique(3, 500));
        let expected = bench.oracle.expected(&bench.workload)[3];
        let (mut tracker, mut judge) = (Tracker::new(3, expected), Judge::default());
        for peer in &bench.workload.peers {
            for body in bodies(&peer.stream) {
                tracker.update(body, &mut judge, &bench);
            }
        }
        assert!(tracker.is_exact(), "{tracker:?} {:?}", judge.complaints);
        tracker.reset();
        assert_eq!(tracker.differences(&bench, 3).len(), 3);
    }

    #[test]
    fn a_changed_attribute_is_forged() {
        let bench = bench(Shape::unique(1, 10));
        let mut body = bodies(&bench.workload.peers[0].stream)[0].to_vec();
        body[7] ^= 1; // ORIGIN, the first attribute
        let (mut tracker, mut judge) = (Tracker::new(1, 10), Judge::default());
        tracker.update(&body, &mut judge, &bench);
        assert!(tracker.forged > 0 && judge.complaints.len() == 1);
    }

    #[test]
    fn a_lost_peer_makes_its_routes_wrong() {
        let mut bench = bench(Shape::shared(4, 3_000, 1_200));
        let old = bench.clone();
        let mut tracker = Tracker::new(4, old.oracle.expected(&old.workload)[4]);
        let mut judge = Judge::default();
        let peers = &old.workload.peers;
        let mut order: Vec<_> = old.workload.routes.clone();
        order.sort_by(|a, b| decision_order(b, a, peers));
        // A daemon that sends only the best routes, as the monitor must receive them.
        for peer in peers {
            for body in bodies(&peer.stream) {
                let mut only_best = Judge::default();
                let mut probe = Tracker::new(4, 0);
                probe.update(body, &mut only_best, &old);
                if probe.right > 0 {
                    tracker.update(body, &mut judge, &old);
                }
            }
        }
        assert!(tracker.is_exact());
        let mut oracle = (*bench.oracle).clone();
        oracle.set_alive(2, false);
        bench.oracle = Arc::new(oracle);
        let touched: Vec<u32> = order
            .iter()
            .filter(|r| r.peer == 2)
            .map(|r| r.group)
            .collect();
        let expected = bench.oracle.expected(&bench.workload)[4];
        tracker.change_oracle(&old, &bench, &touched, expected);
        assert!(!tracker.is_exact() && tracker.right < tracker.held);
    }

    fn decision_order(
        a: &crate::workload::Route,
        b: &crate::workload::Route,
        peers: &[crate::workload::Peer],
    ) -> std::cmp::Ordering {
        crate::decision::compare(a, b, peers)
    }
}
