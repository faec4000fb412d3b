//! `COPY … TO STDOUT`: rows in the formats of files, for tools that export whole tables.

use datafusion::logical_expr::sqlparser::ast::{
    CopyLegacyCsvOption, CopyLegacyOption, CopyOption, CopySource, CopyTarget,
};
use futures::{StreamExt as _, stream};
use pgwire::api::portal;
use pgwire::api::results::{CopyResponse, QueryResponse};
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::copy::CopyData;
use tokio_util::bytes::{BufMut as _, Bytes, BytesMut};

use super::row_stream::failure;

/// A `COPY` statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// The query whose rows are copied.
    pub sql: String,
    form: Form,
}

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// PostgreSQL's binary format.
    Binary,
    /// A line for each row: CSV has quotes, and the text format escapes with a backslash.
    Lines {
        delimiter: u8,
        has_header: bool,
        is_csv: bool,
    },
}

impl Copy {
    /// A copy from a source to a target; `to` is false for `COPY … FROM`.
    pub fn new(
        source: CopySource,
        to: bool,
        target: &CopyTarget,
        form: Form,
    ) -> PgWireResult<Self> {
        if !to {
            let why = "this is read-only: COPY … TO STDOUT is known, COPY … FROM is not";
            return Err(failure("25006", why.to_owned()));
        }
        if *target != CopyTarget::Stdout {
            let why = "files of the server are not written: COPY … TO STDOUT, or \\copy in psql";
            return Err(failure("42501", why.to_owned()));
        }
        let sql = match source {
            CopySource::Query(query) => query.to_string(),
            CopySource::Table {
                table_name,
                columns,
            } if columns.is_empty() => {
                format!("SELECT * FROM {table_name}")
            }
            CopySource::Table {
                table_name,
                columns,
            } => {
                let columns: Vec<String> = columns.iter().map(ToString::to_string).collect();
                format!("SELECT {} FROM {table_name}", columns.join(", "))
            }
        };
        Ok(Self { sql, form })
    }

    /// The format of the values.
    pub fn values(&self) -> portal::Format {
        match self.form {
            Form::Binary => portal::Format::UnifiedBinary,
            Form::Lines { .. } => portal::Format::UnifiedText,
        }
    }

    /// Copies the rows of an answer, which are in this format. The first message has the header and may be empty.
    pub fn respond(&self, answer: QueryResponse) -> CopyResponse {
        let form = self.form;
        let fields = answer.row_schema();
        let columns = fields.len();
        let names = fields.iter().map(|field| Some(field.name().as_bytes()));
        let (header, trailer): (Bytes, Option<Bytes>) = match form {
            Form::Binary => (SIGNATURE.into(), Some(TRAILER.into())),
            Form::Lines {
                has_header: true, ..
            } => (form.row(names, columns), None),
            Form::Lines { .. } => (Bytes::new(), None),
        };
        let rows = answer
            .data_rows
            .map(move |row| Ok(CopyData::new(form.row(Values(&row?.data), columns))));
        let header = stream::iter([Ok(CopyData::new(header))]);
        let trailer = stream::iter(trailer.map(|trailer| Ok(CopyData::new(trailer))));
        // In the binary format the library would append a trailer of its own.
        let mut response = CopyResponse::new(0, columns, header.chain(rows).chain(trailer));
        response.format = i8::from(form == Form::Binary);
        response
    }
}

/// Returns whether a message is the end of a binary copy and no row.
pub fn is_trailer(message: &CopyData) -> bool {
    message.data == TRAILER
}

impl Form {
    /// The form by both syntaxes of options: `(FORMAT csv, HEADER)` and `CSV HEADER`.
    pub fn of(options: Vec<CopyOption>, legacy: Vec<CopyLegacyOption>) -> PgWireResult<Self> {
        let (mut format, mut has_header, mut delimiter) = ("text".to_owned(), false, None);
        for option in options {
            match option {
                CopyOption::Format(name) => format = name.value.to_lowercase(),
                CopyOption::Header(is_on) => has_header = is_on,
                CopyOption::Delimiter(sign) => delimiter = Some(sign),
                other => return Err(unsupported(&other.to_string())),
            }
        }
        for option in legacy {
            match option {
                CopyLegacyOption::Binary => format = "binary".to_owned(),
                CopyLegacyOption::Csv(options) => {
                    format = "csv".to_owned();
                    has_header |= options.contains(&CopyLegacyCsvOption::Header);
                    let is_other = |option: &&_| **option != CopyLegacyCsvOption::Header;
                    if let Some(other) = options.iter().find(is_other) {
                        return Err(unsupported(&other.to_string()));
                    }
                }
                CopyLegacyOption::Header => has_header = true,
                CopyLegacyOption::Delimiter(sign) => delimiter = Some(sign),
                other => return Err(unsupported(&other.to_string())),
            }
        }
        let is_csv = match format.as_str() {
            "text" => false,
            "csv" => true,
            "binary" if !has_header && delimiter.is_none() => return Ok(Self::Binary),
            "binary" => return Err(wrong("the binary format has no options")),
            _ => return Err(wrong("the formats are text, csv or binary")),
        };
        let delimiter = delimiter.unwrap_or(if is_csv { ',' } else { '\t' });
        let has_meaning = delimiter.is_ascii_alphanumeric() || "\\.\"\n\r".contains(delimiter);
        match u8::try_from(delimiter) {
            Ok(delimiter) if delimiter.is_ascii() && !has_meaning => Ok(Self::Lines {
                delimiter,
                has_header,
                is_csv,
            }),
            _ => Err(wrong("the delimiter is one sign, such as ; or |")),
        }
    }

    /// Writes a row.
    fn row<'a>(self, values: impl Iterator<Item = Option<&'a [u8]>>, columns: usize) -> Bytes {
        let mut row = BytesMut::new();
        let Self::Lines {
            delimiter, is_csv, ..
        } = self
        else {
            row.put_u16(u16::try_from(columns).unwrap_or(u16::MAX));
            for value in values {
                row.put_i32(value.map_or(-1, |value| value.len() as i32));
                row.put_slice(value.unwrap_or_default());
            }
            return row.freeze();
        };
        for (at, value) in values.enumerate() {
            if at > 0 {
                row.put_u8(delimiter);
            }
            match value {
                None if is_csv => {}
                None => row.put_slice(b"\\N"),
                // A line with these two characters alone would end the copy.
                Some(value) if is_csv => {
                    quote(value, delimiter, columns == 1 && value == b"\\.", &mut row)
                }
                Some(value) => escape(value, delimiter, &mut row),
            }
        }
        row.put_u8(b'\n');
        row.freeze()
    }
}

/// The values of a DataRow: each has its length before it, and NULL the length -1.
struct Values<'a>(&'a [u8]);

impl<'a> Iterator for Values<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        let (length, rest) = self.0.split_first_chunk()?;
        let length = usize::try_from(i32::from_be_bytes(*length)).ok();
        let (value, rest) = rest.split_at_checked(length.unwrap_or(0))?;
        self.0 = rest;
        Some(length.map(|_| value))
    }
}

/// Writes a value of the text format.
fn escape(value: &[u8], delimiter: u8, row: &mut BytesMut) {
    for octet in value {
        match octet {
            b'\n' => row.put_slice(b"\\n"),
            b'\r' => row.put_slice(b"\\r"),
            b'\t' => row.put_slice(b"\\t"),
            b'\\' => row.put_slice(b"\\\\"),
            octet if *octet == delimiter => row.put_slice(&[b'\\', *octet]),
            octet => row.put_u8(*octet),
        }
    }
}

/// Writes a value of CSV. An empty string has quotes, NULL has none.
fn quote(value: &[u8], delimiter: u8, forced: bool, row: &mut BytesMut) {
    let is_special = |octet: &u8| [delimiter, b'"', b'\n', b'\r'].contains(octet);
    if !forced && !value.is_empty() && !value.iter().any(is_special) {
        return row.put_slice(value);
    }
    row.put_u8(b'"');
    for octet in value {
        row.put_slice(if *octet == b'"' {
            b"\"\""
        } else {
            std::slice::from_ref(octet)
        });
    }
    row.put_u8(b'"');
}

fn unsupported(option: &str) -> PgWireError {
    let why = format!("COPY: {option} is not offered: write FORMAT, HEADER and DELIMITER only");
    failure("0A000", why)
}

fn wrong(why: &str) -> PgWireError {
    failure("22023", format!("COPY: {why}"))
}

/// The start of a binary copy: signature, no flags, no extension.
const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// The end of a binary copy.
const TRAILER: &[u8] = &[0xff, 0xff];

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(delimiter: u8, is_csv: bool) -> Form {
        Form::Lines {
            delimiter,
            has_header: false,
            is_csv,
        }
    }

    fn written(form: Form, values: &[Option<&str>]) -> String {
        let values = values.iter().map(|value| value.map(str::as_bytes));
        let row = form.row(values.clone(), values.len());
        String::from_utf8(row.to_vec()).unwrap()
    }

    #[test]
    fn text_lines_escape_special_characters() {
        let values = [Some("x\ty\n\\"), None, Some("a|ä"), Some("")];
        assert_eq!(
            written(lines(b'\t', false), &values),
            "x\\ty\\n\\\\\t\\N\ta|ä\t\n"
        );
        assert_eq!(written(lines(b'|', false), &values[2..]), "a\\|ä|\n");
    }

    #[test]
    fn csv_quotes_values_that_need_it() {
        let values = [Some("x \"y\""), None, Some(""), Some("x\\"), Some("a,b")];
        assert_eq!(
            written(lines(b',', true), &values),
            "\"x \"\"y\"\"\",,\"\",x\\,\"a,b\"\n"
        );
        assert_eq!(written(lines(b',', true), &[Some("\\.")]), "\"\\.\"\n");
    }

    #[test]
    fn binary_rows_equal_data_rows() {
        let row = b"\0\0\0\x01x\xff\xff\xff\xff";
        let written = Form::Binary.row(Values(row), 2);
        assert_eq!(written, [&[0, 2], &row[..]].concat());
        assert_eq!(SIGNATURE.len(), 19);
    }

    #[test]
    fn options_that_no_client_needs_are_refused() {
        let of = |options| Form::of(options, Vec::new());
        assert!(of(vec![CopyOption::Null("x".to_owned())]).is_err());
        assert!(of(vec![CopyOption::Delimiter('a')]).is_err());
        let csv = CopyLegacyOption::Csv(vec![CopyLegacyCsvOption::Header]);
        let semicolon = CopyLegacyOption::Delimiter(';');
        assert_eq!(
            Form::of(Vec::new(), vec![csv, semicolon]).unwrap(),
            Form::Lines {
                delimiter: b';',
                has_header: true,
                is_csv: true
            }
        );
    }
}
