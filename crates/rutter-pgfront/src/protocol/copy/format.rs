//! The formats of copied rows.

use pgwire::api::portal;
use pgwire::api::results::FieldInfo;
use tokio_util::bytes::{BufMut as _, Bytes, BytesMut};

/// How rows are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// PostgreSQL's binary format.
    Binary,
    /// Text or CSV: a line for each row.
    Lines(Lines),
}

/// The delimiter, the quotes and the string for NULL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    pub delimiter: u8,
    pub null: String,
    /// The first line has the names of the columns.
    pub header: bool,
    /// CSV has quotes. The text format escapes special characters with a backslash.
    pub is_csv: bool,
}

/// Writes rows.
pub struct Writer {
    form: Form,
    columns: usize,
}

impl Form {
    /// The format of the values.
    pub fn values(&self) -> portal::Format {
        match self {
            Self::Binary => portal::Format::UnifiedBinary,
            Self::Lines(_) => portal::Format::UnifiedText,
        }
    }

    /// The number of the format in the protocol.
    pub fn code(&self) -> i8 {
        i8::from(*self == Self::Binary)
    }

    /// A writer for rows of this many columns.
    pub fn writer(self, columns: usize) -> Writer {
        Writer {
            form: self,
            columns,
        }
    }
}

impl Writer {
    /// The header line, in its own message.
    pub fn header(&self, fields: &[FieldInfo]) -> Option<Bytes> {
        let Form::Lines(lines) = &self.form else {
            return None;
        };
        let names = fields.iter().map(|field| Some(field.name().as_bytes()));
        lines.header.then(|| lines.line(names, false))
    }

    /// The bytes before the first row, in the same message.
    pub fn begin(&self) -> &'static [u8] {
        match self.form {
            Form::Binary => SIGNATURE,
            Form::Lines(_) => &[],
        }
    }

    /// Writes a row from a DataRow, which has each value after its length.
    pub fn row(&self, values: &[u8]) -> Bytes {
        match &self.form {
            Form::Binary => {
                let mut row = BytesMut::with_capacity(2 + values.len());
                row.put_u16(u16::try_from(self.columns).unwrap_or(u16::MAX));
                row.put_slice(values);
                row.freeze()
            }
            Form::Lines(lines) => lines.line(Values(values), self.columns == 1),
        }
    }

    /// The bytes after the last row.
    pub fn end(&self) -> Option<Bytes> {
        (self.form == Form::Binary).then(|| Bytes::from_static(&[0xff, 0xff]))
    }
}

/// The values of a row.
struct Values<'a>(&'a [u8]);

impl<'a> Iterator for Values<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        let (length, rest) = self.0.split_first_chunk()?;
        // The length of NULL is -1.
        let length = usize::try_from(i32::from_be_bytes(*length)).ok();
        let (value, rest) = rest.split_at_checked(length.unwrap_or(0))?;
        self.0 = rest;
        Some(length.map(|_| value))
    }
}

impl Lines {
    /// Writes a line. `is_alone`: it has one value, which must not look like the end of the copy.
    fn line<'a>(&self, values: impl Iterator<Item = Option<&'a [u8]>>, is_alone: bool) -> Bytes {
        let mut line = BytesMut::new();
        for (at, value) in values.enumerate() {
            if at > 0 {
                line.put_u8(self.delimiter);
            }
            match value {
                None => line.put_slice(self.null.as_bytes()),
                Some(value) if self.is_csv => {
                    self.quoted(value, is_alone && value == b"\\.", &mut line);
                }
                Some(value) => self.escaped(value, &mut line),
            }
        }
        line.put_u8(b'\n');
        line.freeze()
    }

    fn escaped(&self, value: &[u8], line: &mut BytesMut) {
        for octet in value {
            let letter = match octet {
                8 => b'b',
                b'\t' => b't',
                b'\n' => b'n',
                11 => b'v',
                12 => b'f',
                b'\r' => b'r',
                b'\\' => b'\\',
                octet if *octet == self.delimiter => *octet,
                octet => {
                    line.put_u8(*octet);
                    continue;
                }
            };
            line.put_slice(&[b'\\', letter]);
        }
    }

    fn quoted(&self, value: &[u8], forced: bool, line: &mut BytesMut) {
        let is_special = |octet: &u8| [self.delimiter, b'"', b'\n', b'\r'].contains(octet);
        if !forced && value != self.null.as_bytes() && !value.iter().any(is_special) {
            return line.put_slice(value);
        }
        line.put_u8(b'"');
        for octet in value {
            if *octet == b'"' {
                line.put_u8(b'"');
            }
            line.put_u8(*octet);
        }
        line.put_u8(b'"');
    }
}

/// The start of a binary copy: signature, no flags, no extension.
const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

#[cfg(test)]
mod tests {
    use pgwire::api::Type;

    use super::*;

    fn fields() -> Vec<FieldInfo> {
        let field = |(at, name): (usize, &str)| {
            let format = portal::Format::UnifiedText.format_for(at);
            FieldInfo::new(name.to_owned(), None, None, Type::TEXT, format)
        };
        ["a", "b,c"].into_iter().enumerate().map(field).collect()
    }

    fn values(values: [Option<&str>; 2]) -> Vec<u8> {
        let mut row = Vec::new();
        for value in values {
            row.extend(value.map_or(-1, |value| value.len() as i32).to_be_bytes());
            row.extend(value.unwrap_or_default().as_bytes());
        }
        row
    }

    fn written(lines: Lines, value: [Option<&str>; 2]) -> String {
        let writer = Form::Lines(lines).writer(2);
        let mut all = writer.header(&fields()).unwrap_or_default().to_vec();
        all.extend(writer.row(&values(value)));
        String::from_utf8(all).unwrap()
    }

    #[test]
    fn text_lines_escape_special_characters() {
        let text = Lines {
            delimiter: b'\t',
            null: "\\N".to_owned(),
            header: false,
            is_csv: false,
        };
        assert_eq!(
            written(text.clone(), [Some("x\ty\n\\"), None]),
            "x\\ty\\n\\\\\t\\N\n"
        );
        let bars = Lines {
            delimiter: b'|',
            header: true,
            ..text
        };
        assert_eq!(written(bars, [Some("x|ä"), Some("")]), "a|b,c\nx\\|ä|\n");
    }

    #[test]
    fn csv_quotes_values_that_need_it() {
        let csv = || Lines {
            delimiter: b',',
            null: String::new(),
            header: true,
            is_csv: true,
        };
        assert_eq!(
            written(csv(), [Some("x \"y\""), None]),
            "a,\"b,c\"\n\"x \"\"y\"\"\",\n"
        );
        assert_eq!(
            written(csv(), [Some(""), Some("x\\")]),
            "a,\"b,c\"\n\"\",x\\\n"
        );
    }

    #[test]
    fn binary_copy_rows_equal_data_rows() {
        let writer = Form::Binary.writer(2);
        let row = values([Some("x"), None]);
        assert_eq!(writer.row(&row), [&[0, 2], &row[..]].concat());
        assert_eq!(writer.begin().len(), 19);
    }
}
