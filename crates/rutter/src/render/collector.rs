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

/// A table of monitored routers, with what is left out of their reports below it.
pub(super) struct RoutersView {
    table: TextTable,
    left_out: Vec<String>,
    paint: Paint,
}

impl RoutersView {
    /// An empty table.
    pub(super) fn new(paint: Paint) -> Self {
        RoutersView {
            table: TextTable::new(ROUTERS, paint),
            left_out: Vec::new(),
            paint,
        }
    }
}

impl View for RoutersView {
    fn row(&mut self, line: Line, out: &mut dyn Write) -> io::Result<()> {
        let Line::Router(router) = line else {
            return Ok(());
        };
        for other in &router.other_families {
            let updates = plural(other.updates, "UPDATE");
            let (name, family) = (&router.name, &other.family);
            let line = format!("{name}: the routes of {updates} are left out: family {family}");
            self.left_out.push(line);
        }
        let skipped = router.faults + router.unknown + router.updates_of_other_families();
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
        self.table.row(out, cells)
    }

    fn end(&mut self, done: &Done, out: &mut dyn Write) -> io::Result<()> {
        self.table.finish(out)?;
        for line in &self.left_out {
            writeln!(out, "{}", self.paint.tone(Tone::Warn, line))?;
        }
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
    use rutter_api::{OtherFamilyRow, RouterRow};

    use super::*;

    #[test]
    fn routes_that_are_left_out_are_shown_below_the_table() {
        let mut out = Vec::new();
        let mut view = RoutersView::new(Paint::OFF);
        let router = RouterRow {
            name: "edge1".into(),
            address: "192.0.2.9:40000".parse().unwrap(),
            description: String::new(),
            connected_for_s: 60,
            peers: 2,
            messages: 1_000,
            faults: 1,
            unknown: 2,
            malformed: 0,
            without_next_hop: 0,
            without_peer_up: 0,
            other_families: vec![OtherFamilyRow {
                family: "ipv4-multicast".into(),
                updates: 1_200,
            }],
            mirrored: 0,
        };
        view.row(Line::Router(Box::new(router)), &mut out).unwrap();
        let done = Done {
            rows: 1,
            ..Done::default()
        };
        view.end(&done, &mut out).unwrap();
        let shown = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = shown.lines().collect();
        let skipped = lines[1].split_whitespace().last();
        assert_eq!(skipped, Some("1,203"), "{shown}");
        let left_out = "edge1: the routes of 1,200 UPDATEs are left out: family ipv4-multicast";
        assert_eq!(&lines[2..], [left_out, "1 router"], "{shown}");
    }

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
