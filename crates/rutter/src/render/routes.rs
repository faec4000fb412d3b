//! `rutter show routes`, `rejected`, `attributes`: streamed lists.

use std::io::{self, Write};

use rutter_api::{AttributesRow, Done, Line, RejectedRow, RouteRow};

use super::{View, truncated};
use crate::paint::{Paint, Tone};
use crate::text_table::{Cell, Column, TextTable};
use crate::units::{grouped, plural};

/// Prints a line for each route.
pub(super) struct RoutesView {
    table: TextTable,
    paint: Paint,
}

impl RoutesView {
    /// An empty table.
    pub(super) fn new(paint: Paint) -> Self {
        RoutesView {
            table: TextTable::new(ROUTES, paint),
            paint,
        }
    }
}

impl View for RoutesView {
    fn row(&mut self, line: Line, out: &mut dyn Write) -> io::Result<()> {
        let Line::Route(route) = line else {
            return Ok(());
        };
        let attrs = &route.attributes;
        let cells = vec![
            mark(&route),
            route.prefix.into(),
            text(&attrs.next_hop).into(),
            route.peer.name.as_str().into(),
            text(&attrs.local_pref).into(),
            text(&attrs.multi_exit_disc).into(),
            path(attrs).into(),
            communities(attrs).into(),
        ];
        self.table.row(out, cells)
    }

    fn end(&mut self, done: &Done, out: &mut dyn Write) -> io::Result<()> {
        self.table.finish(out)?;
        truncated(done, self.paint, out)?;
        writeln!(out, "{}", plural(done.rows, "route"))
    }
}

/// Formats the marks: `>` best, `x` rejected, `s` and `S` stale, `l` locally originated.
fn mark(route: &RouteRow) -> Cell {
    let mut marks = String::new();
    if route.best {
        marks.push('>');
    }
    if route.rejected.is_some() {
        marks.push('x');
    }
    if route.long_lived_stale {
        marks.push('S');
    } else if route.stale {
        marks.push('s');
    }
    if route.locally_originated {
        marks.push('l');
    }
    let tone = match (route.best, route.rejected.is_some()) {
        (true, _) => Tone::Good,
        (_, true) => Tone::Bad,
        _ => Tone::Warn,
    };
    Cell::new(tone, marks)
}

pub(super) fn text<T: ToString>(value: &Option<T>) -> String {
    value.as_ref().map(T::to_string).unwrap_or_default()
}

/// Formats the path followed by the letter of ORIGIN, as usual for route servers.
pub(super) fn path(attrs: &AttributesRow) -> String {
    let origin = match attrs.origin.as_deref() {
        Some("igp") => "i",
        Some("egp") => "e",
        _ => "?",
    };
    match attrs.as_path.as_deref() {
        None | Some("") => origin.to_owned(),
        Some(path) => format!("{path} {origin}"),
    }
}

pub(super) fn communities(attrs: &AttributesRow) -> String {
    let all = [
        &attrs.communities,
        &attrs.large_communities,
        &attrs.extended_communities,
    ];
    let all: Vec<_> = all.into_iter().flatten().map(String::as_str).collect();
    all.join(" ")
}

/// Prints a line for each rejected route, with the evidence below it.
pub(super) struct RejectedView {
    paint: Paint,
}

impl RejectedView {
    /// Creates the view.
    pub(super) fn new(paint: Paint) -> Self {
        RejectedView { paint }
    }
}

impl View for RejectedView {
    fn row(&mut self, line: Line, out: &mut dyn Write) -> io::Result<()> {
        let Line::Rejected(row) = line else {
            return Ok(());
        };
        let RejectedRow { route, findings } = *row;
        let prefix = self.paint.tone(Tone::Strong, &route.prefix.to_string());
        let from = super::source(&route.peer);
        writeln!(
            out,
            "{prefix} from {from}, path {}",
            path(&route.attributes)
        )?;
        if findings.is_empty()
            && let Some(reason) = &route.rejected
        {
            let name = self.paint.tone(Tone::Bad, &reason.name);
            writeln!(out, "    {name} ({}): {}", reason.code, reason.explanation)?;
        }
        for finding in &findings {
            let name = self.paint.tone(Tone::Bad, &finding.reason.name);
            writeln!(
                out,
                "    {name} ({}): {}",
                finding.reason.code, finding.evidence
            )?;
        }
        Ok(())
    }

    fn end(&mut self, done: &Done, out: &mut dyn Write) -> io::Result<()> {
        truncated(done, self.paint, out)?;
        writeln!(out, "{}", plural(done.rows, "rejected route"))
    }
}

/// Prints a line for each distinct set.
pub(super) struct AttributesView {
    table: TextTable,
    paint: Paint,
}

impl AttributesView {
    /// An empty table.
    pub(super) fn new(paint: Paint) -> Self {
        AttributesView {
            table: TextTable::new(ATTRIBUTES, paint),
            paint,
        }
    }
}

impl View for AttributesView {
    fn row(&mut self, line: Line, out: &mut dyn Write) -> io::Result<()> {
        let Line::AttributeSet(set) = line else {
            return Ok(());
        };
        let attrs = &set.attributes;
        let cells = vec![
            grouped(set.routes).into(),
            set.bytes.into(),
            text(&attrs.next_hop).into(),
            path(attrs).into(),
            communities(attrs).into(),
        ];
        self.table.row(out, cells)
    }

    fn end(&mut self, done: &Done, out: &mut dyn Write) -> io::Result<()> {
        self.table.finish(out)?;
        truncated(done, self.paint, out)?;
        writeln!(out, "{}", plural(done.rows, "attribute set"))
    }
}

const ROUTES: &[Column] = &[
    Column::Left(""),
    Column::Left("PREFIX"),
    Column::Left("NEXT HOP"),
    Column::Left("FROM"),
    Column::Right("PREF"),
    Column::Right("MED"),
    Column::Left("AS PATH"),
    Column::Left("COMMUNITIES"),
];

const ATTRIBUTES: &[Column] = &[
    Column::Right("ROUTES"),
    Column::Right("BYTES"),
    Column::Left("NEXT HOP"),
    Column::Left("AS PATH"),
    Column::Left("COMMUNITIES"),
];
