//! Aligned tables that stream: widths come from the first rows, the rest follows as it comes.

use std::io::{self, Write};

use crate::paint::{Paint, Tone};

/// A cell: its text and how it looks.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    /// A cell in a tone.
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

/// A column: its heading and on which side it is flush.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Column {
    /// Words.
    Left(&'static str),
    /// Numbers.
    Right(&'static str),
}

impl Column {
    fn heading(self) -> &'static str {
        match self {
            Column::Left(text) | Column::Right(text) => text,
        }
    }
}

/// A table on its way to a writer.
pub(crate) struct TextTable {
    columns: &'static [Column],
    widths: Vec<usize>,
    waiting: Vec<Vec<Cell>>,
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
            waiting: Vec::new(),
            begun: false,
            paint,
        }
    }

    /// Adds a row; the first [`SAMPLE`] wait until the widths are known.
    pub(crate) fn row(&mut self, out: &mut dyn Write, cells: Vec<Cell>) -> io::Result<()> {
        debug_assert_eq!(cells.len(), self.columns.len());
        if self.begun {
            return self.write(out, &cells);
        }
        for (width, cell) in self.widths.iter_mut().zip(&cells) {
            *width = (*width).max(cell.text.chars().count());
        }
        self.waiting.push(cells);
        match self.waiting.len() {
            SAMPLE => self.begin(out),
            _ => Ok(()),
        }
    }

    /// Writes what still waits; an empty table has no heading.
    pub(crate) fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.begun || self.waiting.is_empty() {
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
        for cells in std::mem::take(&mut self.waiting) {
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
        assert!(table.waiting.is_empty());
    }
}
