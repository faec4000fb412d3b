//! The outcomes as a table.

use std::fmt::Write as _;

use super::Outcome;

/// One line for each attack and daemon, then the losses and troubles.
pub(super) fn table(outcomes: &[Outcome]) -> String {
    let mut out = format!(
        "{:21} {:9} {:>7} {:>26} {:>26} {:>17} {:>12} {:>7} {:>8} {:>6} {:>6} {:>8}\n{:21} {:9} {:>7} {:>26} {:>26} {:>17} {:>12} {:>7} {:>8} {:>6} {:>6} {:>8}\n",
        "",
        "",
        "quiet",
        "worst pair, ms",
        "best pair, ms",
        "memory, MB",
        "turn, ms",
        "waited",
        "log",
        "stop",
        "lost",
        "sent",
        "attack",
        "daemon",
        "p99 ms",
        "p50 / p99 / max",
        "p50 / p99 / max",
        "before/peak/bound",
        "longest/99.9",
        "s",
        "kB/s",
        "s",
        "",
        "MB"
    );
    for outcome in outcomes {
        let delays = |delays: &super::Delays| {
            format!(
                "{:.1} / {:.1} / {:.0}",
                delays.p50_ms, delays.p99_ms, delays.max_ms
            )
        };
        let _ = writeln!(
            out,
            "{:21} {:9} {:>7.1} {:>26} {:>26} {:>17} {:>12} {:>7.1} {:>8.0} {:>6.1} {:>6} {:>8.1}",
            outcome.attack.to_string(),
            outcome.daemon,
            outcome.quiet.p99_ms,
            delays(&outcome.worst),
            delays(&outcome.best),
            format!(
                "{}/{}/{}",
                outcome.rss_before / 1_000_000,
                outcome.rss_peak / 1_000_000,
                bound(outcome)
            ),
            turns(outcome),
            outcome.waited_s,
            outcome.logged as f64 / 1e3 / outcome.seconds,
            outcome.stop_s,
            outcome.lost.len(),
            outcome.sent as f64 / 1e6,
        );
    }
    for outcome in outcomes {
        let closed = outcome
            .closed
            .iter()
            .map(|error| format!("closed an attacker's session: {error}"));
        let lost = outcome
            .lost
            .iter()
            .map(|error| format!("an honest session was lost: {error}"));
        for line in lost.chain(closed).chain(outcome.trouble.clone()) {
            let _ = writeln!(out, "{} against {}: {line}", outcome.attack, outcome.daemon);
        }
    }
    out
}

/// The longest turn and the 99.9th percentile.
fn turns(outcome: &Outcome) -> String {
    outcome.turns.map_or_else(
        || "-".to_owned(),
        |turns| {
            let sign = if turns.was_shorter { "<" } else { "" };
            format!("{sign}{:.1} / {:.1}", turns.longest_ms, turns.p999_ms)
        },
    )
}

fn bound(outcome: &Outcome) -> String {
    let megabytes = |bytes: u64| (bytes / 1_000_000).to_string();
    outcome.rss_bound.map_or_else(|| "-".to_owned(), megabytes)
}
