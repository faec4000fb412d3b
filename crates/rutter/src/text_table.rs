//! Aligned tables that are streamed: the first rows determine the column widths.

use std::io::{self, Write};

use crate::paint::{Paint, Tone};

/// A cell: its text and tone.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    /// Creates a cell with a tone.
    pub(crate) fn new(tone: Tone, text: impl Into<String>) -> Self {
        Cell {
            text: text.into(),
            tone,
        }
    }
}

impl<T: ToString> From<T> for Cell {
    fn from(text: T) -> Self {
        Cell::new(Tone::Plain, text.to_string())
    }
}

/// A column: its heading and alignment.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Column {
    /// Left-aligned, for words.
    Left(&'static str),
    /// Right-aligned, for numbers.
    Right(&'static str),
}

impl Column {
    fn heading(self) -> &'static str {
        match self {
            Column::Left(text) | Column::Right(text) => text,
        }
    }
}

/// A table that is written row by row.
pub(crate) struct TextTable {
    columns: &'static [Column],
    widths: Vec<usize>,
    buffered: Vec<Vec<Cell>>,
    begun: bool,
    paint: Paint,
}

impl TextTable {
    /// An empty table.
    pub(crate) fn new(columns: &'static [Column], paint: Paint) -> Self {
        TextTable {
            columns,
            widths: columns
                .iter()
                .map(|c| c.heading().chars().count())
                .collect(),
            buffered: Vec::new(),
            begun: false,
            paint,
        }
    }

    /// Adds a row. The first [`SAMPLE`] rows are buffered to determine the widths.
    pub(crate) fn row(&mut self, out: &mut dyn Write, cells: Vec<Cell>) -> io::Result<()> {
        debug_assert_eq!(cells.len(), self.columns.len());
        if self.begun {
            return self.write(out, &cells);
        }
        for (width, cell) in self.widths.iter_mut().zip(&cells) {
            *width = (*width).max(cell.text.chars().count());
        }
        self.buffered.push(cells);
        match self.buffered.len() {
            SAMPLE => self.begin(out),
            _ => Ok(()),
        }
    }

    /// Writes the buffered rows. An empty table has no heading.
    pub(crate) fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.begun || self.buffered.is_empty() {
            return Ok(());
        }
        self.begin(out)
    }

    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.begun = true;
        let headings: Vec<_> = self
            .columns
            .iter()
            .map(|c| Cell::new(Tone::Strong, c.heading()))
            .collect();
        self.write(out, &headings)?;
        for cells in std::mem::take(&mut self.buffered) {
            self.write(out, &cells)?;
        }
        Ok(())
    }

    fn write(&self, out: &mut dyn Write, cells: &[Cell]) -> io::Result<()> {
        let last = cells.len().saturating_sub(1);
        for (i, cell) in cells.iter().enumerate() {
            let pad = self.widths[i].saturating_sub(cell.text.chars().count());
            let text = self.paint.tone(cell.tone, &cell.text);
            match self.columns[i] {
                Column::Right(_) => write!(out, "{:pad$}{text}", "")?,
                Column::Left(_) if i == last => write!(out, "{text}")?,
                Column::Left(_) => write!(out, "{text}{:pad$}", "")?,
            }
            if i < last {
                out.write_all(b"  ")?;
            }
        }
        out.write_all(b"\n")
    }
}

const SAMPLE: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[
        Column::Left("NAME"),
        Column::Right("N"),
        Column::Left("TEXT"),
    ];

    #[test]
    fn columns_line_up() {
        let mut out = Vec::new();
        let mut table = TextTable::new(COLUMNS, Paint::OFF);
        table
            .row(&mut out, vec!["a".into(), 1000.into(), "x".into()])
            .unwrap();
        table
            .row(&mut out, vec!["längere".into(), 7.into(), "y".into()])
            .unwrap();
        table.finish(&mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "NAME        N  TEXT\na        1000  x\nlängere     7  y\n"
        );
    }

    #[test]
    fn long_tables_stream() {
        let mut out = Vec::new();
        let mut table = TextTable::new(COLUMNS, Paint::OFF);
        for i in 0..SAMPLE + 1 {
            table
                .row(&mut out, vec![i.into(), i.into(), "".into()])
                .unwrap();
        }
        assert_eq!(out.iter().filter(|b| **b == b'\n').count(), SAMPLE + 2);
        assert!(table.buffered.is_empty());
    }
}
