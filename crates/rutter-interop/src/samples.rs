//! The tables of clients, read again and again while something happens to Rutter.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::{Route, eventually, routes_without_path_ids};

/// The samples of the clients' tables.
pub struct Samples {
    has_ended: AtomicBool,
    clients: Vec<Sampled>,
    /// Descriptions of the routes that a client had lost.
    lost: Mutex<BTreeSet<String>>,
}

struct Sampled {
    name: String,
    taken: AtomicUsize,
}

/// Ends the sampling when it is dropped, also when a test fails.
pub struct EndOfSampling<'a>(&'a Samples);

impl Drop for EndOfSampling<'_> {
    fn drop(&mut self) {
        self.0.has_ended.store(true, Ordering::Release);
    }
}

impl Samples {
    /// No samples yet of clients with these names.
    pub fn of(names: impl IntoIterator<Item = String>) -> Self {
        let sampled = |name| Sampled {
            name,
            taken: AtomicUsize::new(0),
        };
        Samples {
            has_ended: AtomicBool::new(false),
            clients: names.into_iter().map(sampled).collect(),
            lost: Mutex::default(),
        }
    }

    /// Returns what ends the sampling.
    pub fn end(&self) -> EndOfSampling<'_> {
        EndOfSampling(self)
    }

    /// Samples a client until the end. It must hold all the expected routes in every sample.
    pub fn take(
        &self,
        client: usize,
        expected: &[Route],
        received: impl Fn() -> Result<BTreeSet<Route>, String>,
    ) {
        let expected = routes_without_path_ids(expected);
        let Sampled { name, taken } = &self.clients[client];
        while !self.has_ended.load(Ordering::Acquire) {
            let held = received().unwrap_or_else(|why| panic!("{name}: {why}"));
            let held = routes_without_path_ids(&held);
            let sample = taken.load(Ordering::Relaxed);
            let missing = expected.difference(&held);
            let lines = missing.map(|route| format!("{name}: {} (sample {sample})", route.prefix));
            let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
            lost.extend(lines);
            drop(lost);
            taken.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits for so many more samples of a client.
    pub fn wait_for(&self, client: usize, count: usize) {
        let Sampled { name, taken } = &self.clients[client];
        let until = taken.load(Ordering::Relaxed) + count;
        eventually("more samples", || match taken.load(Ordering::Relaxed) {
            now if now >= until => Ok(()),
            now => Err(format!("{name}: {now} samples")),
        });
    }

    /// Fails if a client had lost a route in a sample.
    pub fn check(&self) {
        let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<&str> = lost.iter().map(String::as_str).collect();
        assert!(lines.is_empty(), "routes were lost:\n{}", lines.join("\n"));
    }
}
