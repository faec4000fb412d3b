//! Measures the time of one announcement through the daemon, after the load.

use std::time::Duration;

use rutter_net::{Ipv4Prefix, Prefix};
use serde::Serialize;

use crate::speaker::{Fleet, FleetError};
use crate::workload::Workload;

/// The time from announcement to monitor, in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Latency {
    /// How many announcements.
    pub rounds: usize,
    /// The median.
    pub p50_ms: f64,
    /// The 99th percentile.
    pub p99_ms: f64,
    /// The slowest.
    pub max_ms: f64,
}

/// Measures the latency; `None` if no announcement arrived.
pub fn measure(fleet: &Fleet, rounds: u32) -> Result<Option<Latency>, FleetError> {
    Ok(summary(fleet.probe(rounds)?))
}

/// The quantiles of these times; `None` if there are none.
pub(crate) fn summary(mut times: Vec<Duration>) -> Option<Latency> {
    times.sort_unstable();
    let last = times.len().checked_sub(1)?;
    let ms = |at: usize| times[at.min(last)].as_secs_f64() * 1e3;
    Some(Latency {
        rounds: times.len(),
        p50_ms: ms(times.len() / 2),
        p99_ms: ms(times.len() * 99 / 100),
        max_ms: ms(last),
    })
}

/// A public prefix that the workload does not announce.
pub fn probe_prefix(workload: &Workload) -> Prefix {
    let used: std::collections::HashSet<&Prefix> = workload.destinations.iter().collect();
    (0x0b00_0000_u32..)
        .step_by(256)
        .filter_map(|bits| Ipv4Prefix::new(bits, 24).map(Prefix::V4))
        .find(|prefix| !used.contains(prefix))
        .unwrap_or(Prefix::V4(Ipv4Prefix::DEFAULT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles() {
        let latency = summary((1..=100).rev().map(Duration::from_millis).collect()).unwrap();
        assert_eq!(
            (latency.p50_ms, latency.p99_ms, latency.max_ms),
            (51.0, 100.0, 100.0)
        );
        assert!(summary(vec![]).is_none());
    }
}
