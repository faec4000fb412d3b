//! Differences between configurations, and errors in a configuration.

use std::io::{self, Write};

use rutter_api::{
    DiffRow, Done, LimitChangeRow, Line, RejectRow, ResetByRow, RouteChangeRow, RouteChangesRow,
};

use super::{View, message, source};
use crate::paint::{Paint, Tone};
use crate::units::grouped;

/// Prints differences, one a line, and errors.
pub(crate) struct DiffView(pub(crate) Paint);

impl View for DiffView {
    fn row(&mut self, line: Line, out: &mut dyn Write) -> io::Result<()> {
        match line {
            Line::Diff(diff) => self.diff(&diff, out),
            Line::LimitChange(row) => limit_change(&row, out),
            Line::RouteChanges(row) => self.route_changes(&row, out),
            Line::RouteChange(row) => self.route_change(&row, out),
            Line::ConfigError(error) => writeln!(out, "{}", error.text),
            _ => Ok(()),
        }
    }

    fn end(&mut self, done: &Done, out: &mut dyn Write) -> io::Result<()> {
        message(done, out)
    }
}

fn limit_change(row: &LimitChangeRow, out: &mut dyn Write) -> io::Result<()> {
    let number = |limit: Option<u32>| match limit {
        Some(limit) => grouped(limit.into()),
        None => "none".to_owned(),
    };
    let (from, before, after) = (source(&row.peer), number(row.before), number(row.after));
    let made_of = row.peeringdb.map(|it| grouped(it.into()));
    let made_of = made_of.map(|it| format!(", made of {it} in PeeringDB"));
    let (family, made_of) = (&row.family, made_of.unwrap_or_default());
    writeln!(
        out,
        "limit of {from}, {family}: {before} -> {after}{made_of}"
    )
}

impl DiffView {
    /// Prints the lines of a difference.
    pub(crate) fn diff(&self, diff: &DiffRow, out: &mut dyn Write) -> io::Result<()> {
        if *diff == DiffRow::default() {
            return writeln!(out, "no difference");
        }
        for address in &diff.added {
            writeln!(
                out,
                "{}",
                self.0.tone(Tone::Good, &format!("+ neighbor {address}"))
            )?;
        }
        for address in &diff.removed {
            writeln!(
                out,
                "{}",
                self.0.tone(Tone::Bad, &format!("- neighbor {address}"))
            )?;
        }
        for changed in &diff.changed {
            let effect = match (changed.ends_session, changed.needs_session_reset) {
                (true, _) => self.0.tone(Tone::Warn, "  the session ends"),
                (_, true) => self.0.tone(Tone::Warn, "  the session is reset"),
                _ => String::new(),
            };
            let keys = changed.keys.join(", ");
            writeln!(out, "~ neighbor {}: {keys}{effect}", changed.neighbor)?;
            if !changed.ends_session {
                for ResetByRow { key, reason } in &changed.reset_by {
                    writeln!(out, "    because of {key}: {reason}")?;
                }
            }
        }
        self.keys("~ checks", &diff.checks, out)?;
        self.keys("~ communities", &diff.communities, out)?;
        if diff.dynamic_neighbors {
            writeln!(out, "~ dynamic neighbors")?;
        }
        self.keys("~", &diff.other, out)?;
        self.keys("! on the next start only:", &diff.needs_restart, out)
    }

    fn route_changes(&self, row: &RouteChangesRow, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "routes of {}: {}, {}, {} changed otherwise",
            source(&row.peer),
            self.0
                .tone(Tone::Good, &format!("{} more accepted", row.accepted)),
            self.0
                .tone(Tone::Bad, &format!("{} more rejected", row.rejected)),
            row.changed
        )
    }

    fn route_change(&self, row: &RouteChangeRow, out: &mut dyn Write) -> io::Result<()> {
        let verdict = |rejected: &Option<RejectRow>| match rejected {
            None => "accepted".to_owned(),
            Some(reason) => format!("rejected: {} ({})", reason.name, reason.code),
        };
        let after = match row.neighbor_removed {
            true => "removed".to_owned(),
            false => verdict(&row.rejected_after),
        };
        let before = verdict(&row.rejected_before);
        let from = source(&row.peer);
        writeln!(out, "  {} from {from}: {before} -> {after}", row.prefix)
    }

    fn keys(&self, label: &str, keys: &[String], out: &mut dyn Write) -> io::Result<()> {
        match keys.is_empty() {
            true => Ok(()),
            false => writeln!(out, "{label} {}", keys.join(", ")),
        }
    }
}
