//! `rutter bench readme`: measures the table of the README's performance section, and writes its JSON and its chart.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use crate::chart;
use crate::cli;
use crate::daemons::Daemon;
use crate::preflight;
use crate::report::{Report, spread};
use crate::scenario::Measured;

/// Measure the README's table: S3 to S7 beside other daemons
#[derive(Debug, Args)]
pub(crate) struct ReadmeArgs {
    /// The daemon to measure, as NAME or NAME=PROGRAM
    #[arg(long, value_name = "DAEMON", default_value = "rutter")]
    daemon: Daemon,

    /// A daemon to compare with; may be repeated
    #[arg(long, value_name = "DAEMON", default_value = "bird")]
    vs: Vec<Daemon>,

    /// Repetitions, alternating between the daemons
    #[arg(long, default_value_t = THREE)]
    runs: NonZeroUsize,

    /// Destinations of S4 and S6: one prefix per line, plain or .gz [default: generated ones]
    #[arg(long, value_name = "FILE")]
    prefixes: Option<PathBuf>,

    /// Only these rows: S3, S3-1 (one thread), S4, S5, S6, S7
    #[arg(long, value_name = "ROW", value_delimiter = ',', ignore_case = true, value_parser = ROWS.map(|row| row.name))]
    only: Vec<String>,

    /// Write all reports as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Draw the chart
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

const THREE: NonZeroUsize = NonZeroUsize::new(3).unwrap();

/// A row of the table.
struct Row {
    name: &'static str,
    title: &'static str,
    arguments: &'static [&'static str],
    real_table: bool,
}

const ROWS: [Row; 6] = [
    row("S3", "S3: 2 peers, 100,000 routes each", &["S3"]),
    row("S3-1", "S3 `--threads 1`", &["S3", "--threads", "1"]),
    Row {
        real_table: true,
        ..row("S4", "S4: 20 peers, a full table, 2.65 M routes", &["S4"])
    },
    row("S5", "S5: 100 peers, 10 M routes sent on", &["S5"]),
    Row {
        real_table: true,
        ..row("S6", "S6: two full tables", &["S6"])
    },
    row("S7", "S7: 500 peers, 50 M routes sent on", &["S7"]),
];

const fn row(name: &'static str, title: &'static str, arguments: &'static [&'static str]) -> Row {
    Row {
        name,
        title,
        arguments,
        real_table: false,
    }
}

/// Runs the command. `Ok(false)`: a run failed or was not exact.
pub(crate) fn run(args: &ReadmeArgs) -> Result<bool, String> {
    let mut measured: Vec<(&Row, Report)> = Vec::new();
    let mut exact = true;
    preflight::programs(&args.vs)?;
    for (option, path) in [("--json", &args.json), ("--svg", &args.svg)] {
        path.iter()
            .try_for_each(|path| preflight::can_write(option, path))?;
    }
    for row in ROWS.iter().filter(|row| args.wants(row)) {
        cli::show_progress(format_args!("{} …\n", row.title));
        let report = cli::measure(args.arguments(row))?;
        exact &= report.is_exact();
        cli::show_progress(&report);
        measured.push((row, report));
    }
    cli::show(table(args, &measured));
    if let Some(path) = &args.json {
        let reports: Vec<&Report> = measured.iter().map(|(_, report)| report).collect();
        let json = serde_json::to_vec_pretty(&reports).map_err(|error| error.to_string())?;
        fs::write(path, json).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    if let Some(path) = &args.svg {
        let groups: Vec<chart::Group> = measured
            .iter()
            .map(|(row, report)| chart::Group {
                title: row.title.replace('`', ""),
                bars: report
                    .columns
                    .iter()
                    .filter_map(|column| Some((column.name.clone(), median(&column.runs, cpu)?)))
                    .collect(),
            })
            .collect();
        let drawn = chart::draw("Processor seconds, lower is better", &groups);
        fs::write(path, drawn).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(exact)
}

impl ReadmeArgs {
    fn wants(&self, row: &Row) -> bool {
        self.only.is_empty()
            || self
                .only
                .iter()
                .any(|only| only.eq_ignore_ascii_case(row.name))
    }

    fn arguments(&self, row: &Row) -> Vec<OsString> {
        let mut all: Vec<OsString> = row.arguments.iter().map(Into::into).collect();
        let mut add = |option: &str, value: OsString| all.extend([option.into(), value]);
        add("--daemon", self.daemon.argument());
        for other in &self.vs {
            add("--vs", other.argument());
        }
        add("--runs", self.runs.to_string().into());
        if let Some(prefixes) = self.prefixes.as_ref().filter(|_| row.real_table) {
            add("--prefixes", prefixes.into());
        }
        all
    }
}

fn cpu(run: &Measured) -> f64 {
    run.cpu_s
}

fn median(runs: &[Measured], figure: fn(&Measured) -> f64) -> Option<f64> {
    Some(spread(runs.iter().map(figure))?.median)
}

type Figure = (&'static str, fn(&Measured) -> f64, usize);

const FIGURES: [Figure; 3] = [
    ("CPU s", cpu, 3),
    ("wall s", |run| run.wall_s, 3),
    ("memory MB", |run| run.settled_rss as f64 / 1e6, 0),
];

/// Writes the table as Markdown. Each cell contains the daemons' medians in order, separated by colons.
fn table(args: &ReadmeArgs, measured: &[(&Row, Report)]) -> String {
    let names: Vec<String> = std::iter::once(&args.daemon)
        .chain(&args.vs)
        .map(ToString::to_string)
        .collect();
    let mut out = format!("| medians of {} runs, {} ", args.runs, names.join(" : "));
    for (figure, ..) in FIGURES {
        let _ = write!(out, "| {figure} ");
    }
    out.push_str("|\n| --- | --- | --- | --- |\n");
    for (row, report) in measured {
        let _ = write!(out, "| {} ", row.title);
        for (_, figure, digits) in FIGURES {
            let cells: Vec<String> = report
                .columns
                .iter()
                .map(|column| match median(&column.runs, figure) {
                    Some(median) => format!("{median:.digits$}"),
                    None => "–".to_owned(),
                })
                .collect();
            let _ = write!(out, "| {} ", cells.join(" : "));
        }
        out.push_str("|\n");
    }
    out
}
