//! Which members play which part, so that both members of a pair are on one thread of the daemon.
//!
//! Rutter gives its members to its threads in turn, in the order of their addresses. So the members are rows with one place
//! for each thread. A pair across two threads would feel an attack on either: no pair would be far from the attackers.

use super::PAIRS;
use super::attack::MAX_READERS;
use crate::process;

/// The places of one run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placement {
    threads: usize,
    attackers: usize,
}

impl Placement {
    /// For a daemon with so many threads (0: one for each core).
    pub(super) fn new(threads: usize, attackers: usize) -> Placement {
        let threads = if threads == 0 {
            process::cores()
        } else {
            threads
        };
        Placement { threads, attackers }
    }

    /// All members. Some attacks need members that only read, and some members never connect.
    pub(super) fn members(self) -> usize {
        (self.rows_of_pairs() + self.attackers + MAX_READERS) * self.threads
    }

    /// The two members of a pair. Pairs take the threads in turn.
    pub(super) fn pair(self, number: usize) -> [usize; 2] {
        let (row, thread) = (2 * (number / self.threads), number % self.threads);
        [row, row + 1].map(|row| row * self.threads + thread)
    }

    /// An attacker. All of them are on the first thread.
    pub(super) fn attacker(self, number: usize) -> usize {
        (self.rows_of_pairs() + number) * self.threads
    }

    fn rows_of_pairs(self) -> usize {
        2 * PAIRS.div_ceil(self.threads)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_pair_is_on_one_thread_and_nobody_has_two_parts() {
        for threads in 1..10 {
            let placement = Placement::new(threads, 3);
            let pairs = (0..PAIRS).map(|number| placement.pair(number));
            for (number, [announcer, listener]) in pairs.clone().enumerate() {
                assert_eq!(announcer % threads, number % threads);
                assert_eq!(listener % threads, number % threads);
            }
            let attackers = (0..3 + MAX_READERS).map(|number| placement.attacker(number));
            assert!(attackers.clone().all(|at| at % threads == 0));
            let all: Vec<usize> = pairs.flatten().chain(attackers).collect();
            assert!(all.iter().all(|at| *at < placement.members()));
            assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
        }
    }
}
