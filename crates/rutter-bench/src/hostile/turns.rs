//! The turns of a daemon's I/O threads by their processor time, from its metrics. Unlike delays they do not depend on who
//! got a processor.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde::Serialize;

/// The turns of all threads since the daemon started.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Turns {
    /// The turns of at most so many microseconds, by these. The last entry has all turns.
    at_most: BTreeMap<u64, u64>,
    /// The longest turn, milliseconds.
    longest_ms: f64,
}

/// The longest turns during an attack, in milliseconds of processor time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TurnTimes {
    /// The longest turn.
    pub longest_ms: f64,
    /// `true` if the longest turn was shorter, because one before the attack was longer than all of its turns.
    pub was_shorter: bool,
    /// One turn in a thousand took longer, or nearly as long: the upper bound of its bucket.
    pub p999_ms: f64,
}

impl Turns {
    /// Requests the metrics. `None`: they say nothing of turns.
    pub(super) fn read(address: SocketAddr) -> io::Result<Option<Turns>> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        write!(
            stream,
            "GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
        )?;
        let mut page = String::new();
        stream.read_to_string(&mut page)?;
        Ok(Turns::parse(&page))
    }

    fn parse(page: &str) -> Option<Turns> {
        let mut turns = Turns::default();
        for line in page.lines() {
            let Some((series, value)) = line.rsplit_once(' ') else {
                continue;
            };
            let Ok(value) = value.parse::<f64>() else {
                continue;
            };
            if series.starts_with("rutter_turn_longest_seconds{") {
                turns.longest_ms = turns.longest_ms.max(value * 1e3);
            } else if series.starts_with("rutter_turn_seconds_bucket{") {
                let bound = series.split("le=\"").nth(1)?.split('"').next()?;
                *turns.at_most.entry(microseconds(bound)?).or_default() += value as u64;
            }
        }
        (!turns.at_most.is_empty()).then_some(turns)
    }

    /// The turns after `before`. `None`: there were none.
    pub(super) fn since(&self, before: &Turns) -> Option<TurnTimes> {
        let earlier = |bound| before.at_most.get(bound).copied().unwrap_or(0);
        let buckets = self.at_most.iter();
        let buckets = buckets.map(|(bound, count)| (*bound, count.saturating_sub(earlier(bound))));
        let all = buckets.clone().next_back().map_or(0, |(_, count)| count);
        let reached = |wanted: u64| {
            let mut buckets = buckets.clone();
            let bucket = buckets.find(|(_, count)| *count >= wanted);
            let bound = bucket.map_or(f64::INFINITY, |(bound, _)| bound as f64 / 1e3);
            bound.min(self.longest_ms)
        };
        let was_shorter = self.longest_ms <= before.longest_ms;
        (all > 0).then(|| TurnTimes {
            longest_ms: if was_shorter {
                reached(all)
            } else {
                self.longest_ms
            },
            was_shorter,
            p999_ms: reached(all - all / 1_000),
        })
    }
}

fn microseconds(bound: &str) -> Option<u64> {
    match bound {
        "+Inf" => Some(u64::MAX),
        bound => Some((bound.parse::<f64>().ok()? * 1e6).round() as u64),
    }
}

const TIMEOUT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    fn page(counts: [[u64; 3]; 2], longest: f64) -> Turns {
        let mut page = String::from("HTTP/1.1 200 OK\r\n\r\nrutter_threads 2\n");
        for (thread, counts) in counts.iter().enumerate() {
            for (bound, count) in ["0.001", "0.002", "+Inf"].iter().zip(counts) {
                page += &format!(
                    "rutter_turn_seconds_bucket{{thread=\"{thread}\",le=\"{bound}\"}} {count}\n"
                );
            }
            page += &format!("rutter_turn_longest_seconds{{thread=\"{thread}\"}} {longest}\n");
        }
        Turns::parse(&page).unwrap()
    }

    #[test]
    fn only_the_turns_of_the_attack_count() {
        let before = page([[100, 100, 101], [10, 10, 10]], 0.03);
        // A thousand short turns and one of 1 to 2 ms.
        let after = page([[1_100, 1_101, 1_102], [10, 10, 10]], 0.03);
        let turns = after.since(&before).unwrap();
        assert_eq!((turns.longest_ms, turns.was_shorter), (2.0, true));
        assert_eq!(turns.p999_ms, 1.0);
        assert_eq!(before.since(&before), None);
    }

    #[test]
    fn a_turn_longer_than_all_before_is_known() {
        let before = page([[100, 100, 101], [10, 10, 10]], 0.03);
        let after = page([[100, 100, 102], [10, 10, 20]], 0.07);
        let turns = after.since(&before).unwrap();
        assert_eq!((turns.longest_ms, turns.was_shorter), (70.0, false));
        assert_eq!(turns.p999_ms, 70.0);
    }

    #[test]
    fn metrics_without_turns_are_no_error() {
        assert_eq!(Turns::parse("rutter_threads 2\n"), None);
    }
}
