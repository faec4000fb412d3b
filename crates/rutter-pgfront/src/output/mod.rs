//! Answers as tables, CSV or JSON. Values are in PostgreSQL's text format, whether they come from a server or from
//! files.

mod json;

use std::io::{self, Write};

use datafusion::arrow::array::{Array as _, RecordBatch, StringArray};
use datafusion::arrow::datatypes::Schema;
use datafusion::error::Result;
use pgwire::api::Type;

use crate::dialect::shown;
use crate::values::{kind, texts};

/// The format of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A table. Columns are as wide as the first rows need.
    Table,
    /// One JSON object a row.
    Json,
    /// Comma-separated values with a line of names (RFC 4180).
    Csv,
}

/// Writes an answer as its rows arrive.
#[derive(Debug)]
pub struct Printer<W> {
    out: W,
    format: Format,
    columns: Vec<Column>,
    has_begun: bool,
}

#[derive(Debug)]
struct Column {
    name: String,
    /// The key of the column in JSON.
    key: String,
    kind: Type,
    width: usize,
}

impl<W: Write> Printer<W> {
    /// A printer for columns with these names and types.
    pub fn new(out: W, format: Format, columns: Vec<(String, Type)>) -> Self {
        let keys = json::keys(columns.iter().map(|(name, _)| name.as_str()));
        let column = |((name, kind), key)| Column {
            name,
            key,
            kind,
            width: 0,
        };
        Self {
            out,
            format,
            columns: columns.into_iter().zip(keys).map(column).collect(),
            has_begun: false,
        }
    }

    /// A printer for an answer of DataFusion.
    pub fn of(out: W, format: Format, schema: &Schema) -> Self {
        let fields = schema.fields().iter();
        let column = fields.map(|field| (shown(field.name()).to_owned(), kind(field.data_type())));
        Self::new(out, format, column.collect())
    }

    /// Writes rows of strings; `None` is NULL.
    ///
    /// # Errors
    /// An error of the output.
    pub fn rows(&mut self, rows: &[Vec<Option<&str>>]) -> io::Result<()> {
        self.begin(rows)?;
        rows.iter().try_for_each(|row| match self.format {
            Format::Table => self.line(row.iter().map(|cell| cell.unwrap_or_default())),
            Format::Json => self.object(row),
            Format::Csv => self.values(row.iter().map(|cell| cell.unwrap_or_default())),
        })
    }

    /// Writes rows of DataFusion.
    ///
    /// # Errors
    /// An error of the output, or of a value without a text format.
    pub fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns: Vec<StringArray> = batch.columns().iter().map(texts).collect::<Result<_>>()?;
        let row = |row| columns.iter().map(|column| cell(column, row)).collect();
        let rows: Vec<Vec<Option<&str>>> = (0..batch.num_rows()).map(row).collect();
        Ok(self.rows(&rows)?)
    }

    /// Ends the answer. An answer without rows has its column names, too.
    ///
    /// # Errors
    /// An error of the output.
    pub fn end(mut self) -> io::Result<()> {
        self.begin(&[])?;
        self.out.flush()
    }

    fn begin(&mut self, rows: &[Vec<Option<&str>>]) -> io::Result<()> {
        if std::mem::replace(&mut self.has_begun, true) {
            return Ok(());
        }
        for (at, column) in self.columns.iter_mut().enumerate() {
            let cells = rows.iter().filter_map(|row| row[at]);
            let widths = cells.map(|cell| cell.chars().count());
            column.width = widths
                .chain([column.name.chars().count()])
                .max()
                .unwrap_or(0);
        }
        let names: Vec<String> = self
            .columns
            .iter()
            .map(|column| column.name.clone())
            .collect();
        let names = names.iter().map(String::as_str);
        match self.format {
            Format::Table => self.line(names),
            Format::Csv => self.values(names),
            Format::Json => Ok(()),
        }
    }

    fn line<'a>(&mut self, cells: impl Iterator<Item = &'a str>) -> io::Result<()> {
        let padded = cells.zip(&self.columns);
        let padded = padded.map(|(cell, column)| format!("{cell:0$}", column.width));
        let line = padded.collect::<Vec<_>>().join("  ");
        writeln!(self.out, "{}", line.trim_end())
    }

    fn values<'a>(&mut self, cells: impl Iterator<Item = &'a str>) -> io::Result<()> {
        for (at, cell) in cells.enumerate() {
            let separator = if at > 0 { "," } else { "" };
            match cell.contains([',', '"', '\n', '\r']) {
                true => write!(self.out, "{separator}\"{}\"", cell.replace('"', "\"\""))?,
                false => write!(self.out, "{separator}{cell}")?,
            }
        }
        writeln!(self.out)
    }

    fn object(&mut self, cells: &[Option<&str>]) -> io::Result<()> {
        for (at, (cell, column)) in cells.iter().zip(&self.columns).enumerate() {
            self.out.write_all(if at > 0 { b"," } else { b"{" })?;
            json::text(&mut self.out, &column.key)?;
            self.out.write_all(b":")?;
            json::value(&mut self.out, *cell, &column.kind)?;
        }
        let end = if cells.is_empty() { "{}" } else { "}" };
        writeln!(self.out, "{end}")
    }
}

fn cell(column: &StringArray, row: usize) -> Option<&str> {
    column.is_valid(row).then(|| column.value(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(format: Format, rows: &[Vec<Option<&str>>]) -> String {
        let columns = [("x", Type::INT4), ("name", Type::TEXT), ("x", Type::BOOL)];
        let columns = columns.map(|(name, kind)| (name.to_owned(), kind));
        let mut out = Vec::new();
        let mut printer = Printer::new(&mut out, format, columns.to_vec());
        rows.iter()
            .for_each(|row| printer.rows(std::slice::from_ref(row)).unwrap());
        printer.end().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn column_names_are_printed_first() {
        let rows = [
            vec![Some("12"), Some("a, \"b\""), Some("t")],
            vec![None, Some("c"), None],
        ];
        let table = "x   name    x\n12  a, \"b\"  t\n    c\n";
        assert_eq!(printed(Format::Table, &rows), table);
        let csv = "x,name,x\n12,\"a, \"\"b\"\"\",t\n,c,\n";
        assert_eq!(printed(Format::Csv, &rows), csv);
        let json = "{\"x\":12,\"name\":\"a, \\\"b\\\"\",\"x_2\":true}\n{\"x\":null,\"name\":\"c\",\"x_2\":null}\n";
        assert_eq!(printed(Format::Json, &rows), json);
        assert_eq!(printed(Format::Table, &[]), "x  name  x\n");
        assert_eq!(printed(Format::Csv, &[]), "x,name,x\n");
        assert_eq!(printed(Format::Json, &[]), "");
    }
}
