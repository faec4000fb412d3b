//! The processor time of the turns of an I/O thread: a turn delays every neighbor of the thread.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use rutter_api::TurnTimes;

/// Counts of a thread's turns by their processor time. Only the thread itself writes them.
#[derive(Default)]
pub(crate) struct TurnCounts {
    counts: [AtomicU64; TurnTimes::BUCKETS],
    total_ns: AtomicU64,
    longest_ns: AtomicU64,
}

impl TurnCounts {
    /// The counts as a row. A turn that ends meanwhile may be in some fields only.
    pub(crate) fn row(&self) -> TurnTimes {
        TurnTimes {
            counts: self.counts.each_ref().map(|n| n.load(Ordering::Relaxed)),
            total_ns: self.total_ns.load(Ordering::Relaxed),
            longest_ns: self.longest_ns.load(Ordering::Relaxed),
        }
    }

    fn count(&self, time: Duration) {
        let ns = time.as_nanos() as u64;
        add(&self.counts[TurnTimes::bucket(ns)], 1);
        add(&self.total_ns, ns);
        if ns > self.longest_ns.load(Ordering::Relaxed) {
            self.longest_ns.store(ns, Ordering::Relaxed);
        }
    }
}

/// Measures the turns of one thread.
///
/// The clock of a thread's processor time costs a system call of some tenths of a microsecond. A short turn counts with the
/// time that passed, which is hardly longer, and only some of them read that clock.
#[derive(Default)]
pub(crate) struct TurnClock {
    /// The thread's processor time at the end of the last turn, as far as it is known.
    used: Duration,
    /// The turns since it was read.
    unread_turns: u32,
}

/// A turn that took less time than this is short.
const SHORT_TURN: Duration = Duration::from_micros(100);
/// The clock is read at least once in so many turns. Between turns the thread also uses some microseconds.
const MAX_UNREAD_TURNS: u32 = 16;

impl TurnClock {
    /// Counts a turn that took this time, whether the thread had a processor or waited for one.
    pub(crate) fn end_turn(&mut self, passed: Duration, counts: &TurnCounts) {
        if passed < SHORT_TURN && self.unread_turns < MAX_UNREAD_TURNS {
            self.used += passed;
            self.unread_turns += 1;
            counts.count(passed);
            return;
        }
        let used = thread_time();
        counts.count(passed.min(used.saturating_sub(self.used)));
        self.used = used;
        self.unread_turns = 0;
    }
}

fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Ordering::Relaxed) + n, Ordering::Relaxed);
}

/// The processor time of the calling thread.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    /// Uses the processor for this time.
    fn work(time: Duration) {
        let begin = thread_time();
        while thread_time() - begin < time {
            black_box(0);
        }
    }

    #[test]
    fn a_turn_that_waits_for_a_processor_counts_with_what_it_used() {
        let (mut clock, counts) = (TurnClock::default(), TurnCounts::default());
        // The first reading of the clock.
        clock.end_turn(SHORT_TURN, &counts);
        let hour = Duration::from_secs(3_600);
        work(Duration::from_millis(3));
        clock.end_turn(hour, &counts);
        let longest = Duration::from_nanos(counts.row().longest_ns);
        assert!(longest >= Duration::from_millis(3) && longest < hour / 2);
    }

    #[test]
    fn short_turns_count_with_the_time_that_passed() {
        let (mut clock, counts) = (TurnClock::default(), TurnCounts::default());
        let passed = Duration::from_micros(7);
        for _ in 0..100 {
            clock.end_turn(passed, &counts);
        }
        let row = counts.row();
        assert_eq!((row.counts[0], row.counts.iter().sum()), (100, 100u64));
        assert!(row.longest_ns <= 7_000 && row.total_ns <= 700_000);
        assert!(row.total_ns >= 90 * 7_000);
    }
}
