//! Reports repetitions side by side: medians, ranges and ratios, as a table and as JSON.

use std::fmt::{self, Write};

use serde::Serialize;

use crate::baseline_writer::Baseline;
use crate::latency::Latency;
use crate::scenario::Measured;
use crate::under_load;

/// All runs of one daemon.
#[derive(Clone, Debug, Serialize)]
pub struct Column {
    /// The daemon's name.
    pub name: String,
    /// The completed runs.
    pub runs: Vec<Measured>,
    /// Why the other runs failed.
    pub failures: Vec<String>,
}

/// A comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The workload, in words.
    pub workload: String,
    /// Peers that announce.
    pub peers: usize,
    /// Distinct prefixes.
    pub destinations: usize,
    /// Routes announced.
    pub routes: usize,
    /// Prefixes of the table that were left out because an exchange's filters reject them.
    pub dropped_prefixes: usize,
    /// Seed.
    pub seed: u64,
    /// The number of cores.
    pub cores: usize,
    /// The daemons; ratios are relative to the first.
    pub columns: Vec<Column>,
    /// The cost of writing the same bytes.
    pub baseline: Option<Baseline>,
}

/// Median, minimum and maximum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

/// The spread of some values; `None` if there are none.
pub fn spread(figures: impl Iterator<Item = f64>) -> Option<Spread> {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    let (&min, &max) = (figures.first()?, figures.last()?);
    let middle = figures.len() / 2;
    let median = if figures.len() % 2 == 1 {
        figures[middle]
    } else {
        (figures[middle - 1] + figures[middle]) / 2.0
    };
    Some(Spread { median, min, max })
}

type Figure = (&'static str, fn(&Measured) -> Option<f64>);

const FIGURES: [Figure; 9] = [
    ("CPU s", |m| Some(m.cpu_s)),
    ("CPU s, settled", |m| Some(m.cpu_settled_s)),
    ("wall s", |m| Some(m.wall_s)),
    ("peak RSS MB", |m| Some(m.peak_rss as f64 / 1e6)),
    ("settled RSS MB", |m| Some(m.settled_rss as f64 / 1e6)),
    ("p50 ms", |m| m.latency.map(|l| l.p50_ms)),
    ("p99 ms", |m| m.latency.map(|l| l.p99_ms)),
    ("sessions s", |m| Some(m.connect_s)),
    ("load CPU s", |m| Some(m.load_cpu_s)),
];

impl Report {
    /// Returns whether every run of every daemon was completed with every client exact.
    pub fn is_exact(&self) -> bool {
        self.columns
            .iter()
            .all(|column| column.failures.is_empty() && column.runs.iter().all(|run| run.exact))
    }

    fn row(&self, out: &mut String, (name, figure): Figure) -> fmt::Result {
        let spreads: Vec<Option<Spread>> = self
            .columns
            .iter()
            .map(|column| spread(column.runs.iter().filter_map(figure)))
            .collect();
        if spreads.iter().all(Option::is_none) {
            return Ok(());
        }
        write!(out, "{name:<16}")?;
        let first = spreads.first().copied().flatten();
        for (number, spread) in spreads.iter().enumerate() {
            let text = spread.map_or("-".to_owned(), |s| {
                format!("{:.3} ({:.3}–{:.3})", s.median, s.min, s.max)
            });
            write!(out, " {text:>28}")?;
            if number > 0 {
                let ratio = match (first, spread) {
                    (Some(first), Some(spread)) if spread.median > 0.0 => {
                        format!("{:.3}", first.median / spread.median)
                    }
                    _ => String::new(),
                };
                write!(out, " {ratio:>7}")?;
            }
        }
        writeln!(out)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {} peers, {} routes for {} destinations, {} cores, seed {}",
            self.workload, self.peers, self.routes, self.destinations, self.cores, self.seed
        )?;
        let mut table = format!("{:<16}", "");
        for (number, column) in self.columns.iter().enumerate() {
            write!(table, " {:>28}", column.name)?;
            if number > 0 {
                write!(table, " {:>7}", "ratio")?;
            }
        }
        table.push('\n');
        for figure in FIGURES {
            self.row(&mut table, figure)?;
        }
        f.write_str(&table)?;
        if let Some(baseline) = &self.baseline {
            writeln!(
                f,
                "baseline         {:.3} CPU s, {:.3} s to write {} MB to {} sockets",
                baseline.cpu_s,
                baseline.wall_s,
                baseline.octets / 1_000_000,
                baseline.sockets
            )?;
        }
        for column in &self.columns {
            describe(f, column)?;
        }
        Ok(())
    }
}

fn describe(f: &mut fmt::Formatter<'_>, column: &Column) -> fmt::Result {
    let exact = column.runs.iter().filter(|run| run.exact).count();
    let all = column.runs.len() + column.failures.len();
    writeln!(
        f,
        "{}: {exact} of {all} runs exact for every client",
        column.name
    )?;
    for failure in &column.failures {
        writeln!(f, "  failed: {failure}")?;
    }
    for run in &column.runs {
        scenes(f, &run.under_load)?;
        for recovery in &run.recoveries {
            writeln!(
                f,
                "  {}: {:.3} s, {:.3} CPU s, {} MB after it",
                recovery.event,
                recovery.wall_s,
                recovery.cpu_s,
                recovery.rss / 1_000_000
            )?;
        }
        if let Some(failed) = &run.failed {
            writeln!(f, "  failed then: {failed}")?;
        }
        for client in run.wrong.iter().take(3) {
            writeln!(
                f,
                "  client {}: {} held, {} right, {} expected, {} forged, {} unknown",
                client.client,
                client.held,
                client.right,
                client.expected,
                client.forged,
                client.unknown
            )?;
            client
                .differences
                .iter()
                .take(3)
                .try_for_each(|line| writeln!(f, "    {line}"))?;
        }
        run.trouble
            .iter()
            .take(5)
            .try_for_each(|line| writeln!(f, "  {line}"))?;
    }
    Ok(())
}

/// Writes the latency before, during and after each scene, and the change of the 99th percentile.
fn scenes(f: &mut fmt::Formatter<'_>, measured: &[under_load::Measured]) -> fmt::Result {
    if !measured.is_empty() {
        let heads = ["quiet", "during", "after"].map(|head| format!("{head} p50 / p99 ms"));
        writeln!(
            f,
            "  {:<40}{:>22}{:>23}{:>22}",
            "", heads[0], heads[1], heads[2]
        )?;
    }
    for one in measured {
        let [quiet, during, after] = [one.quiet, one.during, one.after]
            .map(|latency| format!("{:.3} / {:.3}", latency.p50_ms, latency.p99_ms));
        let change = |latency: Latency| 100.0 * (latency.p99_ms / one.quiet.p99_ms - 1.0);
        let scene = format!("{} ({} times)", one.scene.words(), one.times);
        writeln!(
            f,
            "  {scene:<40}{quiet:>22}{during:>23}{after:>22}   p99 {:+.0} %, then {:+.0} %",
            change(one.during),
            change(one.after)
        )?;
        if let Some(answers) = &one.answers {
            answers.times.iter().try_for_each(|times| {
                writeln!(
                    f,
                    "    answers: p50 / p99 / slowest {:.0} / {:.0} / {:.0} ms; refused for a second: {}",
                    times.p50_ms, times.p99_ms, times.max_ms, answers.refused
                )
            })?;
        }
        one.trouble
            .iter()
            .try_for_each(|text| writeln!(f, "    {text}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_even_and_odd() {
        let of =
            |figures: &[f64]| spread(figures.iter().copied()).map(|s| (s.min, s.median, s.max));
        assert_eq!(of(&[3.0, 1.0, 2.0]), Some((1.0, 2.0, 3.0)));
        assert_eq!(of(&[4.0, 1.0]), Some((1.0, 2.5, 4.0)));
        assert_eq!(of(&[]), None);
    }
}
