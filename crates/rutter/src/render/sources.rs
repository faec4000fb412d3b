//! `rutter show sources`.

use std::io::{self, Write};

use rutter_api::{Done, Line, SourceRow};

use super::View;
use crate::paint::{Paint, Tone};
use crate::text_table::{Cell, Column, TextTable};
use crate::units::{duration, grouped};

/// A table of sources, with their problems below it.
pub(super) struct SourcesView {
    table: TextTable,
    problems: Vec<String>,
    count: usize,
    paint: Paint,
}

impl SourcesView {
    /// An empty table.
    pub(super) fn new(paint: Paint) -> Self {
        SourcesView {
            table: TextTable::new(COLUMNS, paint),
            problems: Vec::new(),
            count: 0,
            paint,
        }
    }
}

impl View for SourcesView {
    fn row(&mut self, line: Line, out: &mut dyn Write) -> io::Result<()> {
        let Line::Source(source) = line else {
            return Ok(());
        };
        self.count += 1;
        if let Some(refused) = &source.refused {
            self.problems.push(format!(
                "{}: refused: {refused}; `rutter source accept` with the name of the whole source accepts it",
                source.name
            ));
        }
        if let Some(error) = &source.last_error {
            self.problems.push(format!("{}: {error}", source.name));
        }
        let cells = vec![
            source.name.as_str().into(),
            state(&source),
            grouped(source.entries).into(),
            source.age_s.map_or_else(|| "never".into(), duration).into(),
            source.location.as_str().into(),
            source.detail.as_str().into(),
        ];
        self.table.row(out, cells)
    }

    fn end(&mut self, _: &Done, out: &mut dyn Write) -> io::Result<()> {
        if self.count == 0 {
            return writeln!(
                out,
                "no sources: the configuration has neither [rpki] nor [irr]"
            );
        }
        self.table.finish(out)?;
        for problem in &self.problems {
            writeln!(out, "{}", self.paint.tone(Tone::Bad, problem))?;
        }
        Ok(())
    }
}

fn state(source: &SourceRow) -> Cell {
    let tone = match source.state.as_str() {
        "live" => Tone::Good,
        "starting" => Tone::Faint,
        _ => Tone::Bad,
    };
    Cell::new(tone, source.state.as_str())
}

const COLUMNS: &[Column] = &[
    Column::Left("NAME"),
    Column::Left("STATE"),
    Column::Right("ENTRIES"),
    Column::Right("AGE"),
    Column::Left("SOURCE"),
    Column::Left("DETAIL"),
];
