//! Timing one row.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// One implementation of a task.
pub struct Contestant {
    name: &'static str,
    /// Runs the task this many times and returns the time.
    run: Box<dyn FnMut(u32) -> Duration>,
    /// Heap allocations of one turn, where they are counted.
    allocations: Option<u64>,
}

/// An implementation whose turns need no preparation.
pub fn contestant<R>(name: &'static str, mut work: impl FnMut() -> R + 'static) -> Contestant {
    black_box(work());
    let allocations = count(|| drop(black_box(work())));
    let run = move |turns| {
        let start = Instant::now();
        for _ in 0..turns {
            black_box(work());
        }
        start.elapsed()
    };
    Contestant {
        name,
        run: Box::new(run),
        allocations,
    }
}

/// An implementation whose every turn starts from a new state; creating and dropping the state is not timed.
pub fn prepared<S, R>(
    name: &'static str,
    mut prepare: impl FnMut() -> S + 'static,
    mut work: impl FnMut(S) -> R + 'static,
) -> Contestant {
    let state = prepare();
    let mut kept = None;
    let allocations = count(|| kept = Some(work(state)));
    drop(kept);
    let run = move |turns| {
        let mut took = Duration::ZERO;
        for _ in 0..turns {
            let state = prepare();
            let start = Instant::now();
            let result = black_box(work(state));
            took += start.elapsed();
            drop(result);
        }
        took
    };
    Contestant {
        name,
        run: Box::new(run),
        allocations,
    }
}

#[cfg(feature = "allocations")]
fn count(work: impl FnOnce()) -> Option<u64> {
    Some(allocation_counter::measure(work).count_total)
}

#[cfg(not(feature = "allocations"))]
fn count(work: impl FnOnce()) -> Option<u64> {
    work();
    None
}

/// A task and its implementations.
pub struct Row {
    /// The name of the task.
    pub name: String,
    /// The divisor of the time of a turn, for figures per prefix or per comparison.
    pub per: u32,
    /// The implementations; ratios are to the first.
    pub contestants: Vec<Contestant>,
}

/// The figures of an implementation for a row.
pub struct Figure {
    /// The name of the implementation.
    pub name: &'static str,
    /// Median of the rounds, nanoseconds.
    pub median_ns: f64,
    /// The shortest round, nanoseconds.
    pub least_ns: f64,
    /// Heap allocations of one turn, where they are counted.
    pub allocations: Option<u64>,
}

impl Row {
    /// Lets the implementations take turns for `rounds` rounds of about `round` each.
    pub fn measure(mut self, rounds: usize, round: Duration) -> Vec<Figure> {
        let turns: Vec<u32> = self
            .contestants
            .iter_mut()
            .map(|contestant| calibrate(contestant, round))
            .collect();
        let mut samples = vec![Vec::with_capacity(rounds); self.contestants.len()];
        for _ in 0..rounds {
            for ((contestant, turns), samples) in
                self.contestants.iter_mut().zip(&turns).zip(&mut samples)
            {
                let took = (contestant.run)(*turns).as_nanos() as f64;
                samples.push(took / f64::from(*turns) / f64::from(self.per));
            }
        }
        let figures = self.contestants.iter().zip(samples);
        figures
            .map(|(contestant, mut samples)| {
                samples.sort_by(f64::total_cmp);
                Figure {
                    name: contestant.name,
                    median_ns: samples[samples.len() / 2],
                    least_ns: samples[0],
                    allocations: contestant.allocations,
                }
            })
            .collect()
    }
}

/// The number of turns in a round.
fn calibrate(contestant: &mut Contestant, round: Duration) -> u32 {
    let mut turns = 1;
    loop {
        let took = (contestant.run)(turns);
        if took >= round / 4 || turns >= 1 << 24 {
            let wanted = round.as_secs_f64() / took.as_secs_f64() * f64::from(turns);
            return (wanted as u32).max(1);
        }
        turns *= 4;
    }
}
