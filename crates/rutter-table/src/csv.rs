//! Reads CSV and writes it with more columns.

use std::borrow::Cow;

use crate::answers::Row;
use crate::rows::row_end;
use crate::stream::{Counts, RowError, Work, address};
use crate::{Answers, Column, Route, Set, Table};

/// The format of a CSV file, and the field with the address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CsvHead {
    /// Between fields.
    pub delimiter: u8,
    /// Index of the field with the address.
    pub field: usize,
}

impl CsvHead {
    /// Finds a column by its name in the first row; `None` if it is absent.
    pub fn find(row: &[u8], delimiter: u8, name: &str) -> Option<Self> {
        let mut names = Self::names(row, delimiter);
        let field = names.position(|known| known == name)?;
        Some(CsvHead { delimiter, field })
    }

    /// The names of the columns in the first row.
    pub fn names(row: &[u8], delimiter: u8) -> impl Iterator<Item = String> {
        let name = |field: Cow<'_, str>, is_quoted| match is_quoted {
            true => field.replace("\"\"", "\"").trim().to_owned(),
            false => field.trim().to_owned(),
        };
        let is_quoted = move |field: usize| {
            let start = start_of(trim(row), delimiter, field);
            start.is_some_and(|rest| rest.starts_with(b"\""))
        };
        (0..)
            .map_while(move |field| {
                Some((field_of(trim(row), delimiter, field)?, is_quoted(field)))
            })
            .map(move |(field, is_quoted)| name(String::from_utf8_lossy(field), is_quoted))
    }
}

/// Adds columns to rows.
#[derive(Debug)]
pub struct Csv<'t> {
    head: CsvHead,
    answers: Answers<'t>,
}

impl<'t> Csv<'t> {
    /// Appends these columns to each row.
    pub fn new(table: &'t Table, head: CsvHead, columns: Vec<Column>) -> Self {
        let nothing = vec![head.delimiter; columns.len()];
        let delimiter = head.delimiter;
        let form = move |route: &Route, set: &Set| {
            let mut out = Vec::new();
            for column in &columns {
                out.push(delimiter);
                quote(
                    &mut out,
                    delimiter,
                    &column.text(route, set).unwrap_or_default(),
                );
            }
            out
        };
        Csv {
            head,
            answers: Answers::new(table, nothing, form),
        }
    }

    /// The first row with the names of the new columns.
    pub fn head(row: &[u8], delimiter: u8, names: &[String]) -> Vec<u8> {
        let (row, end) = row.split_at(trim(row).len());
        let mut out = row.to_vec();
        for name in names {
            out.push(delimiter);
            quote(&mut out, delimiter, name);
        }
        out.extend_from_slice(if end.is_empty() { b"\n" } else { end });
        out
    }
}

impl Work for Csv<'_> {
    fn delimiter(&self) -> Option<u8> {
        Some(self.head.delimiter)
    }

    fn work(&self, rows: &[u8], first_line: u64, out: &mut Vec<u8>) -> Result<Counts, RowError> {
        let quotes = memchr::memchr(b'"', rows).is_some();
        let mut counts = Counts::default();
        let mut batch = self.answers.rows();
        let (mut rest, mut line) = (rows, first_line);
        while !rest.is_empty() {
            let end = row_end(rest, quotes.then_some(self.head.delimiter));
            let end = end.map_or(rest.len(), |at| at + 1);
            let (whole, after) = rest.split_at(end);
            match self.row(whole, line, &mut counts) {
                Ok(row) => batch.push(row, out),
                Err(error) => {
                    batch.write(out);
                    return Err(error);
                }
            }
            line += match quotes {
                true => memchr::memchr_iter(b'\n', whole).count() as u64,
                false => 1,
            };
            rest = after;
        }
        batch.write(out);
        Ok(counts)
    }
}

impl Csv<'_> {
    fn row<'r>(
        &self,
        whole: &'r [u8],
        line: u64,
        counts: &mut Counts,
    ) -> Result<Row<'r>, RowError> {
        let row = trim(whole);
        let mut made = Row {
            before: [row, b""],
            addr: None,
            skip: 0,
            after: &whole[row.len()..],
        };
        if row.is_empty() {
            // An empty row gets no columns.
            made.skip = usize::MAX;
            return Ok(made);
        }
        let CsvHead { delimiter, field } = self.head;
        let Some(text) = field_of(row, delimiter, field) else {
            let fields = (0..).map_while(|n| field_of(row, delimiter, n)).count();
            return Err(RowError {
                line,
                what: format!(
                    "the row has {fields} {}, the address should be in field {}",
                    if fields == 1 { "field" } else { "fields" },
                    field + 1
                ),
            });
        };
        counts.rows += 1;
        made.addr = address(text).map(|(_, addr)| addr);
        if made.addr.is_none() {
            counts.without(line, text);
        }
        if made.after.is_empty() {
            made.after = b"\n";
        }
        Ok(made)
    }
}

/// A row without its line ending.
fn trim(row: &[u8]) -> &[u8] {
    let row = row.strip_suffix(b"\n").unwrap_or(row);
    row.strip_suffix(b"\r").unwrap_or(row)
}

/// A field by its index, without quotes around it.
fn field_of(row: &[u8], delimiter: u8, index: usize) -> Option<&[u8]> {
    let rest = start_of(row, delimiter, index)?;
    let field = &rest[..field_end(rest, delimiter)];
    let quoted = field
        .strip_prefix(b"\"")
        .and_then(|f| f.strip_suffix(b"\""));
    Some(quoted.unwrap_or(field))
}

/// The rest of a row, from a field on.
fn start_of(row: &[u8], delimiter: u8, index: usize) -> Option<&[u8]> {
    let mut rest = row;
    for _ in 0..index {
        let end = field_end(rest, delimiter);
        rest = rest.get(end + 1..)?;
    }
    Some(rest)
}

/// The end of a field. Quotes protect delimiters only if the field begins with a quote.
fn field_end(field: &[u8], delimiter: u8) -> usize {
    let mut at = 0;
    if field.first() == Some(&b'"') {
        at = 1;
        // Two quotes represent one quote; they do not close the field.
        while let Some(quote) = memchr::memchr(b'"', field.get(at..).unwrap_or_default()) {
            at += quote + 1;
            if field.get(at) != Some(&b'"') {
                break;
            }
            at += 1;
        }
    }
    let rest = field.get(at..).unwrap_or_default();
    memchr::memchr(delimiter, rest).map_or(field.len(), |end| at + end)
}

fn quote(out: &mut Vec<u8>, delimiter: u8, text: &str) {
    let special = |octet: &u8| *octet == delimiter || matches!(octet, b'"' | b'\n' | b'\r');
    if !text.as_bytes().iter().any(special) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(b'"');
    out.extend_from_slice(text.replace('"', "\"\"").as_bytes());
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_columns_are_decoded() {
        let row = b"\"the \"\"ip\"\"\",24\"\" rack, a ,\"x,y\"\r\n";
        let names: Vec<_> = CsvHead::names(row, b',').collect();
        assert_eq!(names, ["the \"ip\"", "24\"\" rack", "a", "x,y"]);
        let found = CsvHead::find(row, b',', "x,y").map(|head| head.field);
        assert_eq!(found, Some(3));
        assert_eq!(CsvHead::find(row, b',', "b"), None);
    }
}
