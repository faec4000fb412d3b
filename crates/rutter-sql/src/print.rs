//! Answers as text.

use std::io::{self, Write};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json::LineDelimitedWriter;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::arrow::util::pretty::pretty_format_batches;

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A table for people; the whole answer is needed to know how wide its columns are.
    Table,
    /// One JSON object a row.
    Json,
    /// Comma-separated values with a line of names (RFC 4180).
    Csv,
}

/// Writes a part of an answer. `first` says that nothing was written before.
///
/// # Errors
/// What the output says.
pub fn print(
    out: &mut impl Write,
    format: Format,
    schema: &SchemaRef,
    batches: &[RecordBatch],
    first: bool,
) -> io::Result<()> {
    match format {
        Format::Table => {
            let table = pretty_format_batches(batches).map_err(io::Error::other)?;
            writeln!(out, "{table}")
        }
        Format::Json => json(out, batches).map_err(io::Error::other),
        Format::Csv => {
            if first {
                let names = schema.fields().iter().map(|field| quoted(field.name()));
                writeln!(out, "{}", names.collect::<Vec<_>>().join(","))?;
            }
            batches.iter().try_for_each(|batch| csv(out, batch))
        }
    }
}

fn json(out: &mut impl Write, batches: &[RecordBatch]) -> Result<(), ArrowError> {
    let mut writer = LineDelimitedWriter::new(out);
    for batch in batches {
        writer.write(batch)?;
    }
    writer.finish()
}

fn csv(out: &mut impl Write, batch: &RecordBatch) -> io::Result<()> {
    let options = FormatOptions::default();
    let formatter = |column| ArrayFormatter::try_new(column, &options);
    let columns: Result<Vec<_>, ArrowError> = batch
        .columns()
        .iter()
        .map(|column| formatter(column.as_ref()))
        .collect();
    let columns = columns.map_err(io::Error::other)?;
    for row in 0..batch.num_rows() {
        for (at, column) in columns.iter().enumerate() {
            let separator = if at > 0 { "," } else { "" };
            write!(out, "{separator}{}", quoted(&column.value(row).to_string()))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
