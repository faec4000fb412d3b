//! The log of a group: a chain of immutable segments that every client reads at its own pace.
//!
//! A reader holds the last segment that it has read and follows `next`. There is no lock and no central list. The
//! memory of a segment is freed when the slowest reader has passed it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::PeerId;
use crate::adj_rib_in::leftovers::Discarded;
use crate::advertise::memfd_segment::FilePlace;
use crate::peer_set::PeerSet;

/// The clients of the group that receive a run of messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Recipients {
    /// All but these two (often the same peer twice, or one that is no client).
    AllBut(PeerId, PeerId),
    /// One client.
    Only(PeerId),
    /// These clients.
    Set(Arc<PeerSet>),
}

impl Recipients {
    pub fn include(&self, peer: PeerId) -> bool {
        match self {
            Recipients::AllBut(a, b) => peer != *a && peer != *b,
            Recipients::Only(one) => peer == *one,
            Recipients::Set(set) => set.contains(peer),
        }
    }

    /// Returns the smallest form of a set.
    pub fn of(set: PeerSet) -> Self {
        let mut members = set.iter();
        match (members.next(), members.next()) {
            (Some(one), None) => Recipients::Only(one),
            _ => {
                drop(members);
                Recipients::Set(Arc::new(set))
            }
        }
    }
}

/// Complete messages for the same clients: the bytes before `end`, from the end of the previous run.
#[derive(Debug)]
pub(crate) struct Run {
    pub end: u32,
    pub to: Recipients,
}

/// Encoded messages, shared by all clients of a group.
#[derive(Debug)]
pub(crate) struct Segment {
    pub bytes: Box<[u8]>,
    /// A place from which the same bytes can be sent without a copy.
    pub place: Option<FilePlace>,
    pub runs: Box<[Run]>,
    /// The position in the log after the segment. Positions count memory: see [`Segment::cost`].
    pub end: u64,
    next: OnceLock<Arc<Segment>>,
    retained: Arc<AtomicUsize>,
}

impl Segment {
    /// A segment outside any chain: for one client, or as the head of a chain.
    pub fn new(bytes: Box<[u8]>, runs: Box<[Run]>, end: u64, retained: &Arc<AtomicUsize>) -> Self {
        let segment = Segment {
            bytes,
            place: None,
            runs,
            end,
            next: OnceLock::new(),
            retained: Arc::clone(retained),
        };
        retained.fetch_add(segment.held(), Ordering::Relaxed);
        segment
    }

    /// Bytes of memory without a copy in a file. A peer that sends a change at a time makes many small segments, so the
    /// segment itself counts.
    fn cost(&self) -> usize {
        SEGMENT + self.runs.len() * size_of::<Run>() + self.bytes.len()
    }

    /// The same segment, with a copy of it in a file.
    pub fn placed(mut self, place: Option<FilePlace>) -> Self {
        let before = self.held();
        self.place = place;
        let more = self.held() - before;
        self.retained.fetch_add(more, Ordering::Relaxed);
        self
    }

    /// Bytes of memory, the copy included.
    fn held(&self) -> usize {
        let copy = self.place.as_ref().map_or(0, |_| self.bytes.len());
        self.cost() + copy
    }

    pub fn next(&self) -> Option<&Arc<Segment>> {
        self.next.get()
    }

    /// The ranges of bytes for a client, adjacent runs joined.
    pub fn ranges_for(&self, peer: PeerId) -> impl Iterator<Item = (u32, u32)> + '_ {
        let mut start = 0;
        let mut runs = self.runs.iter().peekable();
        std::iter::from_fn(move || {
            loop {
                let run = runs.next()?;
                let from = std::mem::replace(&mut start, run.end);
                if !run.to.include(peer) {
                    continue;
                }
                while let Some(run) = runs.next_if(|run| run.to.include(peer)) {
                    start = run.end;
                }
                return Some((from, start));
            }
        })
    }
}

/// The bytes of a segment and of its reference counts.
const SEGMENT: usize = size_of::<Segment>() + 2 * size_of::<usize>();

impl Drop for Segment {
    /// Frees a chain in a loop: the default would recurse once a segment.
    fn drop(&mut self) {
        self.retained.fetch_sub(self.held(), Ordering::Relaxed);
        let mut next = self.next.take();
        while let Some(segment) = next {
            next = Arc::into_inner(segment).and_then(|mut segment| segment.next.take());
        }
    }
}

/// The segments that a reader held when it ended. Each keeps those after it.
pub(crate) struct UnreadSegments {
    /// The next segment to free, before those of `held`.
    next: Option<Arc<Segment>>,
    held: VecDeque<Arc<Segment>>,
}

impl UnreadSegments {
    /// `held` are in the order of the chain.
    pub fn new(held: VecDeque<Arc<Segment>>) -> Self {
        UnreadSegments { next: None, held }
    }
}

/// The memory of segments that is freed at once.
pub(crate) const FREED_AT_ONCE: usize = 1024 * 1024;
/// The segments that are freed at once.
const SEGMENTS_AT_ONCE: usize = 1_024;

impl Discarded for UnreadSegments {
    fn free_some(&mut self) -> bool {
        let (mut bytes, mut segments) = (0, 0);
        while bytes < FREED_AT_ONCE && segments < SEGMENTS_AT_ONCE {
            let Some(segment) = self.next.take().or_else(|| self.held.pop_front()) else {
                return false;
            };
            bytes += segment.held();
            segments += 1;
            // Otherwise another reader holds it, and all later ones.
            if Arc::strong_count(&segment) == 1 {
                self.next = segment.next().map(Arc::clone);
            }
        }
        true
    }
}

/// The writing end of a chain. Its owner serialises calls.
#[derive(Debug)]
pub(crate) struct Log {
    tail: Arc<Segment>,
    retained: Arc<AtomicUsize>,
}

impl Default for Log {
    fn default() -> Self {
        let retained = Arc::default();
        let tail = Arc::new(Segment::new(Box::default(), Box::default(), 0, &retained));
        Log { tail, retained }
    }
}

impl Log {
    /// Appends messages; they are visible to readers at once.
    pub fn append(
        &mut self,
        (bytes, place): (Box<[u8]>, Option<FilePlace>),
        runs: Box<[Run]>,
        published: &AtomicU64,
    ) {
        let mut segment = Segment::new(bytes, runs, 0, &self.retained).placed(place);
        let end = self.tail.end + segment.cost() as u64;
        segment.end = end;
        let segment = Arc::new(segment);
        let before = std::mem::replace(&mut self.tail, Arc::clone(&segment));
        let fresh = before.next.set(segment).is_ok();
        debug_assert!(fresh, "only the owner appends");
        published.store(end, Ordering::Release);
    }

    /// The last segment. A reader that starts here receives the messages appended later.
    pub fn tail(&self) -> Arc<Segment> {
        Arc::clone(&self.tail)
    }

    /// The counter of the bytes that some reader still holds.
    pub fn retained(&self) -> &Arc<AtomicUsize> {
        &self.retained
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(end: u32, to: Recipients) -> Run {
        Run { end, to }
    }

    #[test]
    fn each_client_reads_its_runs() {
        let (a, b, c) = (PeerId(1), PeerId(2), PeerId(3));
        let runs = [
            run(10, Recipients::AllBut(a, a)),
            run(20, Recipients::Only(a)),
            run(30, Recipients::AllBut(b, c)),
            run(40, Recipients::of([b, c].into_iter().collect())),
        ];
        let segment = Segment::new(vec![0; 40].into(), runs.into(), 40, &Arc::default());
        let ranges = |peer| segment.ranges_for(peer).collect::<Vec<_>>();
        assert_eq!(ranges(a), [(10, 30)]);
        assert_eq!(ranges(b), [(0, 10), (30, 40)]);
        assert_eq!(ranges(PeerId(9)), [(0, 10), (20, 30)]);
    }

    /// A reader that ends leaves its part of the log to be freed in slices, also where little of it was for this reader.
    #[test]
    fn the_log_of_a_reader_that_ends_is_freed_in_slices() {
        let mut log = Log::default();
        let end = AtomicU64::new(0);
        let first = log.tail();
        let mut append = |len: usize, count: usize| {
            for _ in 0..count {
                let runs = vec![run(len as u32, Recipients::Only(PeerId(0)))];
                log.append((vec![0; len].into(), None), runs.into(), &end);
            }
            log.tail()
        };
        let held = [first, append(64 * 1024, 500), append(8, 50_000)];
        let other = append(8, 100);
        append(8, 100);
        let retained = Arc::clone(log.retained());
        let retained = || retained.load(Ordering::Relaxed);
        let mut unread = UnreadSegments::new(held.into());
        let mut slices = 1;
        loop {
            let before = retained();
            let is_left = unread.free_some();
            assert!(before - retained() < FREED_AT_ONCE + 65 * 1024);
            if !is_left {
                break;
            }
            slices += 1;
        }
        assert!((80..90).contains(&slices), "{slices}");
        let one = SEGMENT + size_of::<Run>() + 8;
        assert_eq!(retained(), 101 * one, "another reader needs the rest");
        drop(other);
    }

    #[test]
    fn memory_follows_the_slowest_reader_without_recursion() {
        let mut log = Log::default();
        let end = AtomicU64::new(0);
        let slow = log.tail();
        for _ in 0..200_000 {
            let to = Recipients::AllBut(PeerId(0), PeerId(0));
            log.append((vec![0; 8].into(), None), vec![run(8, to)].into(), &end);
        }
        let retained = Arc::clone(log.retained());
        let one = SEGMENT + size_of::<Run>() + 8;
        // The empty segment at the start counts too.
        assert_eq!(retained.load(Ordering::Relaxed), SEGMENT + 200_000 * one);
        assert_eq!(end.load(Ordering::Relaxed), 200_000 * one as u64);
        drop(slow);
        assert_eq!(retained.load(Ordering::Relaxed), one);
    }
}
