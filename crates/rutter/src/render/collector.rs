//! `rutter show sinks`, `rutter show routers`.

use std::io::{self, Write};

use rutter_api::{Done, Line, SinkRow};

use super::View;
use crate::paint::{Paint, Tone};
use crate::text_table::{Cell, Column, TextTable};
use crate::units::{bytes, duration, grouped, plural};

/// A table of sinks, with their problems below it.
pub(super) struct SinksView {
    table: TextTable,
    problems: Vec<String>,
    paint: Paint,
}

impl SinksView {
    /// An empty table.
    pub(super) fn new(paint: Paint) -> Self {
        SinksView {
            table: TextTable::new(SINKS, paint),
            problems: Vec::new(),
            paint,
        }
    }
}

impl View for SinksView {
    fn row(&mut self, line: Line, out: &mut dyn Write) -> io::Result<()> {
        let Line::Sink(sink) = line else {
            return Ok(());
        };
        if let Some(why) = &sink.dropping {
            self.problems
                .push(format!("{}: rows are dropped: {why}", sink.name));
        }
        if let Some(error) = &sink.last_error {
            let when = match sink.state.as_str() {
                "away" | "connecting" => "last error",
                _ => "last error (resolved)",
            };
            self.problems
                .push(format!("{}: {when}: {error}", sink.name));
        }
        if let Some(gap) = &sink.last_gap {
            self.problems
                .push(format!("{}: last gap: {gap}", sink.name));
        }
        let cells = vec![
            sink.name.as_str().into(),
            state(&sink),
            duration(sink.behind_s).into(),
            grouped(sink.pending()).into(),
            bytes(sink.spool_bytes).into(),
            grouped(sink.events).into(),
            grouped(sink.loaded_routes).into(),
            Cell::new(
                match sink.gaps {
                    0 => Tone::Plain,
                    _ => Tone::Warn,
                },
                grouped(sink.gaps),
            ),
        ];
        self.table.row(out, cells)
    }

    fn end(&mut self, done: &Done, out: &mut dyn Write) -> io::Result<()> {
        self.table.finish(out)?;
        for problem in &self.problems {
            writeln!(out, "{}", self.paint.tone(Tone::Warn, problem))?;
        }
        writeln!(out, "{}", plural(done.rows, "sink"))
    }
}

fn state(sink: &SinkRow) -> Cell {
    let tone = match sink.state.as_str() {
        "live" => Tone::Good,
        "away" | "dropping" => Tone::Bad,
        _ => Tone::Warn,
    };
    Cell::new(tone, sink.state.as_str())
}

const SINKS: &[Column] = &[
    Column::Left("SINK"),
    Column::Left("STATE"),
    Column::Right("BEHIND"),
    Column::Right("PENDING"),
    Column::Right("SPOOL"),
    Column::Right("EVENTS"),
    Column::Right("LOADED"),
    Column::Right("GAPS"),
];

/// A table of monitored routers.
pub(super) struct RoutersView(TextTable);

impl RoutersView {
    /// An empty table.
    pub(super) fn new(paint: Paint) -> Self {
        RoutersView(TextTable::new(ROUTERS, paint))
    }
}

impl View for RoutersView {
    fn row(&mut self, line: Line, out: &mut dyn Write) -> io::Result<()> {
        let Line::Router(router) = line else {
            return Ok(());
        };
        let skipped = router.faults + router.unknown;
        let incomplete = router.without_next_hop + router.without_peer_up;
        let warn = |count| match count {
            0 => Tone::Plain,
            _ => Tone::Warn,
        };
        let cells = vec![
            router.name.as_str().into(),
            router.address.into(),
            duration(router.connected_for_s).into(),
            grouped(router.peers).into(),
            grouped(router.messages).into(),
            Cell::new(warn(router.malformed), grouped(router.malformed)),
            Cell::new(warn(incomplete), grouped(incomplete)),
            Cell::new(warn(skipped), grouped(skipped)),
            router.description.as_str().into(),
        ];
        self.0.row(out, cells)
    }

    fn end(&mut self, done: &Done, out: &mut dyn Write) -> io::Result<()> {
        self.0.finish(out)?;
        writeln!(out, "{}", plural(done.rows, "router"))
    }
}

const ROUTERS: &[Column] = &[
    Column::Left("ROUTER"),
    Column::Left("ADDRESS"),
    Column::Right("FOR"),
    Column::Right("PEERS"),
    Column::Right("MESSAGES"),
    Column::Right("MALFORMED"),
    Column::Right("INCOMPLETE"),
    Column::Right("SKIPPED"),
    Column::Left("DESCRIPTION"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_of_a_sink_are_shown_below_the_table() {
        let mut out = Vec::new();
        let mut view = SinksView::new(Paint::OFF);
        let sink = SinkRow {
            name: "archive".into(),
            state: "live".into(),
            gaps: 1,
            last_gap: Some("rows 5 to 9 of run 7 are missing: a backup".into()),
            last_error: Some("cannot connect".into()),
            ..SinkRow::default()
        };
        view.row(Line::Sink(Box::new(sink)), &mut out).unwrap();
        let done = Done {
            rows: 1,
            ..Done::default()
        };
        view.end(&done, &mut out).unwrap();
        let shown = String::from_utf8(out).unwrap();
        let below: Vec<&str> = shown.lines().skip(2).collect();
        let expected = [
            "archive: last error (resolved): cannot connect",
            "archive: last gap: rows 5 to 9 of run 7 are missing: a backup",
            "1 sink",
        ];
        assert_eq!(below, expected, "{shown}");
    }
}
