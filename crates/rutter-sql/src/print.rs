//! Answers as text.

use std::collections::HashSet;
use std::io::{self, Write};
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json::LineDelimitedWriter;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::arrow::util::pretty::pretty_format_batches;

use crate::catalog::shown;

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
    let names = schema.fields().iter().map(|field| field.name().as_str());
    match format {
        Format::Table => {
            let names = names.map(|name| shown(name).to_owned()).collect();
            let batches = named(batches, names).map_err(io::Error::other)?;
            let table = pretty_format_batches(&batches).map_err(io::Error::other)?;
            writeln!(out, "{table}")
        }
        Format::Json => {
            let batches = named(batches, keys(names)).map_err(io::Error::other)?;
            json(out, &batches).map_err(io::Error::other)
        }
        Format::Csv => {
            if first {
                let names = names.map(|name| quoted(shown(name)));
                writeln!(out, "{}", names.collect::<Vec<_>>().join(","))?;
            }
            batches.iter().try_for_each(|batch| csv(out, batch))
        }
    }
}

/// The names of columns as keys of an object, in which each may be once: a second `peer` is `peer_2`.
pub fn keys<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let names: Vec<&str> = names.into_iter().map(shown).collect();
    let written: HashSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut given = HashSet::new();
    let mut key = |name: &&str| {
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let others = numbered.filter(|key| !written.contains(key));
        let mut keys = std::iter::once((*name).to_owned()).chain(others);
        // There is always another number.
        keys.find(|key| given.insert(key.clone()))
            .unwrap_or_default()
    };
    names.iter().map(&mut key).collect()
}

/// The same rows with other names of their columns.
fn named(batches: &[RecordBatch], names: Vec<String>) -> Result<Vec<RecordBatch>, ArrowError> {
    let renamed = |batch: &RecordBatch| {
        let schema = batch.schema();
        let fields = schema.fields().iter().zip(&names);
        let fields = fields.map(|(field, name)| Field::clone(field).with_name(name));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        RecordBatch::try_new(schema, batch.columns().to_vec())
    };
    batches.iter().map(renamed).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_keys_are_the_same() {
        let names = ["peer", "peer", "x", "peer_2", "peer", "x", "peer_2"];
        let expected = ["peer", "peer_3", "x", "peer_2", "peer_4", "x_2", "peer_2_2"];
        assert_eq!(keys(names), expected);
    }
}
