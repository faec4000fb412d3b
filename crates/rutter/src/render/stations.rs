//! `rutter show stations`.

use std::io::{self, Write};

use rutter_api::{Done, Line, StationRow, StationState};

use super::View;
use crate::paint::{Paint, Tone};
use crate::text_table::{Cell, Column, TextTable};
use crate::units::{duration, grouped};

/// A table of BMP stations, with their last errors below it.
pub(super) struct StationsView {
    table: TextTable,
    problems: Vec<String>,
    count: usize,
    paint: Paint,
}

impl StationsView {
    /// An empty table.
    pub(super) fn new(paint: Paint) -> Self {
        StationsView {
            table: TextTable::new(COLUMNS, paint),
            problems: Vec::new(),
            count: 0,
            paint,
        }
    }
}

impl View for StationsView {
    fn row(&mut self, line: Line, out: &mut dyn Write) -> io::Result<()> {
        let Line::Station(station) = line else {
            return Ok(());
        };
        self.count += 1;
        if let (Some(error), Some(ago_s)) = (&station.last_error, station.last_error_ago_s) {
            let name = &station.name;
            self.problems
                .push(format!("{name}: {error} ({} ago)", duration(ago_s)));
        }
        let cells = vec![
            station.name.as_str().into(),
            state(&station),
            duration(station.state_for_s).into(),
            grouped(station.sessions).into(),
            grouped(station.messages).into(),
            grouped(station.waiting_routes).into(),
            grouped(station.unsent_bytes).into(),
            grouped(station.resyncs).into(),
            station.address.to_string().into(),
        ];
        self.table.row(out, cells)
    }

    fn end(&mut self, _: &Done, out: &mut dyn Write) -> io::Result<()> {
        if self.count == 0 {
            return writeln!(out, "no stations: the configuration has no [[bmp-station]]");
        }
        self.table.finish(out)?;
        for problem in &self.problems {
            writeln!(out, "{}", self.paint.tone(Tone::Bad, problem))?;
        }
        Ok(())
    }
}

fn state(station: &StationRow) -> Cell {
    let tone = match station.state {
        StationState::Live => Tone::Good,
        StationState::Connecting | StationState::Loading => Tone::Faint,
        StationState::Paused | StationState::Away => Tone::Bad,
    };
    Cell::new(tone, station.state.to_string())
}

const COLUMNS: &[Column] = &[
    Column::Left("NAME"),
    Column::Left("STATE"),
    Column::Right("FOR"),
    Column::Right("SESSIONS"),
    Column::Right("MESSAGES"),
    Column::Right("WAITING"),
    Column::Right("UNSENT"),
    Column::Right("RESYNCS"),
    Column::Left("ADDRESS"),
];
