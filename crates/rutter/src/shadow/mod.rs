//! `rutter shadow`: compares what another route server advertises with what Rutter would.
//!
//! ```text
//! --received ─► Received ─► the table of the configuration ─┐
//!                                                            ├─► Comparison ─► Report, or JSON rows
//! --advertised ─► Advertised ─► a table that only stores ────┘
//! ```
//! The table decides what each member is sent, as in the daemon. Nothing here judges a route.

mod advertised;
mod attributes;
mod bird_routes;
mod compare;
mod difference;
mod files;
mod output;
mod reason;
mod received;
mod report;
mod shadow_peer;

use std::io::{self, BufWriter, Write};

use rutter_api::SourceRow;
use rutter_config::ConfigSource;
use rutter_daemon::OfflineTable;

use crate::check;
use crate::cli::{CommonOptions, ShadowArgs};
use crate::failure::Failure;
use crate::paint::Paint;
use crate::units::{duration, grouped};
use advertised::Advertised;
use compare::Comparison;
use difference::{Difference, Kind};
use output::UntilClosed;
use received::Received;
use report::{MemberTotals, Report};

/// The differences of each member that are listed for people.
const EXAMPLES: u64 = 10;

/// Compares, and prints the differences. They are a failure without a message; every other failure is an error.
pub(crate) fn shadow(args: &ShadowArgs, options: &CommonOptions) -> Result<(), Failure> {
    let differences = compare(args, options).map_err(|failure| match failure {
        Failure::Text(text) => Failure::Status2(Some(text)),
        Failure::AlreadyReported => Failure::Status2(None),
        other => other,
    })?;
    match differences {
        0 => Ok(()),
        _ => Err(Failure::AlreadyReported),
    }
}

fn compare(args: &ShadowArgs, options: &CommonOptions) -> Result<u64, Failure> {
    let source = ConfigSource::File(args.file.clone());
    let config = check::load_for_route_server(&source, options)?.config;
    let table = OfflineTable::new(&config).map_err(|why| Failure::text(why.to_string()))?;
    let mut wanted = Vec::new();
    for member in &args.member {
        wanted.push((member, advertised::select(&table, member)?));
    }
    table.sources.iter().filter_map(source_note).for_each(note);
    let mut received = Received::load(&table, &args.received)?;
    let advertised = Advertised::load(&config, &table, &args.advertised)?;
    let mut selected = vec![wanted.is_empty(); advertised.members.len()];
    for (text, neighbors) in wanted {
        let mut found = false;
        for (at, member) in advertised.members.iter().enumerate() {
            if neighbors.contains(&member.neighbor) {
                (selected[at], found) = (true, true);
            }
        }
        if !found {
            return Err(Failure::text(format!(
                "--member {text}: no file of --advertised has routes for this member"
            )));
        }
    }
    for member in &advertised.members {
        received.make_client(member.neighbor, member.add_path);
    }
    received.notes().into_iter().for_each(note);
    advertised.notes.iter().cloned().for_each(note);
    let comparison = Comparison {
        table: &table,
        advertised: &advertised,
        selected,
    };
    print(&comparison, args, options)
}

/// Prints the comparison. Returns the number of differences.
fn print(
    comparison: &Comparison<'_>,
    args: &ShadowArgs,
    options: &CommonOptions,
) -> Result<u64, Failure> {
    let mut out = BufWriter::with_capacity(64 * 1024, UntilClosed::new(io::stdout().lock()));
    let default = if options.json { u64::MAX } else { EXAMPLES };
    let limit = args.limit.unwrap_or(default);
    let mut listed = vec![0; comparison.selected.len()];
    let mut examples: Vec<Vec<Difference>> = listed.iter().map(|_| Vec::new()).collect();
    let counts = comparison.run(|member, build| -> io::Result<()> {
        if listed[member] >= limit {
            return Ok(());
        }
        listed[member] += 1;
        match options.json {
            true => json_line(&mut out, &build()),
            false => {
                examples[member].push(build());
                Ok(())
            }
        }
    })?;
    let members = counts.iter().enumerate();
    let members = members.filter(|(member, _)| comparison.selected[*member]);
    let (totals, examples): (Vec<MemberTotals>, Vec<Vec<Difference>>) = members
        .map(|(member, counts)| {
            let row = comparison.member_row(member);
            (
                MemberTotals::new(row, counts),
                std::mem::take(&mut examples[member]),
            )
        })
        .unzip();
    match options.json {
        true => totals.iter().try_for_each(|row| json_line(&mut out, row))?,
        false => Report {
            totals: &totals,
            examples: &examples,
            paint: Paint::stdout(options.color),
        }
        .print(&mut out)?,
    }
    out.flush()?;
    let of_member = |counts: &compare::Counts| Kind::ALL.map(|kind| counts.of_kind(kind));
    Ok(counts.iter().flat_map(of_member).sum())
}

fn json_line(out: &mut dyn Write, row: &impl serde::Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, row)?;
    out.write_all(b"\n")
}

/// Prints a fact that the result depends on.
fn note(text: String) {
    rutter_daemon::eprint_line(format_args!("note: {text}"));
}

/// The outside data that the routes were compared with. A part of a source counts only with its errors.
fn source_note(source: &SourceRow) -> Option<String> {
    let SourceRow {
        name,
        entries,
        age_s,
        last_error,
        ..
    } = source;
    let is_whole = SOURCES.contains(&name.as_str());
    // The time of a file is that of its reading.
    let age = age_s.filter(|age| *age >= 60).map(duration);
    let age = age.map(|age| format!(", {age} old")).unwrap_or_default();
    let data = match entries {
        0 => format!("{name}: no data, so no route is checked with them"),
        1 => format!("{name}: 1 entry{age}"),
        _ => format!("{name}: {} entries{age}", grouped(*entries)),
    };
    match last_error {
        Some(why) => Some(format!("{data}; {why}")),
        None => is_whole.then_some(data),
    }
}

/// The names of the whole sources.
const SOURCES: [&str; 2] = ["rpki", "irr"];
