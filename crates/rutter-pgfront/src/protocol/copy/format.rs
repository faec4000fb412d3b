//! The formats of copied rows.

use pgwire::api::portal;
use pgwire::api::results::FieldInfo;
use pgwire::error::PgWireResult;
use tokio_util::bytes::{BufMut as _, Bytes, BytesMut};

use crate::protocol::row_stream::failure;

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
    /// Quotes of CSV. The text format escapes special characters with a backslash.
    pub quotes: Option<Quotes>,
}

/// The quotes of CSV.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quotes {
    pub quote: u8,
    pub escape: u8,
    pub forced: Forced,
}

/// The columns whose values always have quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Forced {
    #[default]
    None,
    All,
    Columns(Vec<String>),
}

/// Writes rows.
pub struct Writer {
    form: Form,
    forced: Vec<bool>,
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

    /// A writer for these columns.
    pub fn writer(self, fields: &[FieldInfo]) -> PgWireResult<Writer> {
        let mut forced = vec![false; fields.len()];
        if let Self::Lines(Lines {
            quotes: Some(quotes),
            ..
        }) = &self
        {
            match &quotes.forced {
                Forced::None => {}
                Forced::All => forced.fill(true),
                Forced::Columns(names) => {
                    for name in names {
                        let at = fields.iter().position(|field| field.name() == name);
                        let Some(at) = at else {
                            let why = format!("COPY: there is no column \"{name}\" to be quoted");
                            return Err(failure("42703", why));
                        };
                        forced[at] = true;
                    }
                }
            }
        }
        Ok(Writer { form: self, forced })
    }
}

impl Writer {
    /// The header line, in its own message.
    pub fn header(&self, fields: &[FieldInfo]) -> Option<Bytes> {
        let Form::Lines(lines) = &self.form else {
            return None;
        };
        let names = fields.iter().map(|field| Some(field.name().as_bytes()));
        lines.header.then(|| lines.line(names, &[]))
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
                row.put_u16(u16::try_from(self.forced.len()).unwrap_or(u16::MAX));
                row.put_slice(values);
                row.freeze()
            }
            Form::Lines(lines) => lines.line(Values(values), &self.forced),
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
    fn line<'a>(&self, values: impl Iterator<Item = Option<&'a [u8]>>, forced: &[bool]) -> Bytes {
        let mut line = BytesMut::new();
        let is_alone = forced.len() == 1;
        for (at, value) in values.enumerate() {
            if at > 0 {
                line.put_u8(self.delimiter);
            }
            match (value, &self.quotes) {
                (None, _) => line.put_slice(self.null.as_bytes()),
                (Some(value), None) => self.escaped(value, &mut line),
                (Some(value), Some(quotes)) => {
                    let is_end = is_alone && value == b"\\.";
                    let forced = forced.get(at) == Some(&true) || is_end;
                    self.quoted(value, quotes, forced, &mut line);
                }
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

    fn quoted(&self, value: &[u8], quotes: &Quotes, forced: bool, line: &mut BytesMut) {
        let Quotes { quote, escape, .. } = *quotes;
        let is_special = |octet: &u8| [self.delimiter, quote, b'\n', b'\r'].contains(octet);
        if !forced && value != self.null.as_bytes() && !value.iter().any(is_special) {
            return line.put_slice(value);
        }
        line.put_u8(quote);
        for octet in value {
            if [quote, escape].contains(octet) {
                line.put_u8(escape);
            }
            line.put_u8(*octet);
        }
        line.put_u8(quote);
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
        let writer = Form::Lines(lines).writer(&fields()).unwrap();
        let mut all = writer.header(&fields()).unwrap_or_default().to_vec();
        all.extend(writer.row(&values(value)));
        String::from_utf8(all).unwrap()
    }

    #[test]
    fn lines_are_read_back_as_what_they_were() {
        let text = Lines {
            delimiter: b'\t',
            null: "\\N".to_owned(),
            header: false,
            quotes: None,
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
    fn values_are_quoted_where_they_must_be() {
        let csv = |forced| Lines {
            delimiter: b',',
            null: String::new(),
            header: true,
            quotes: Some(Quotes {
                quote: b'"',
                escape: b'"',
                forced,
            }),
        };
        assert_eq!(
            written(csv(Forced::None), [Some("x \"y\""), None]),
            "a,\"b,c\"\n\"x \"\"y\"\"\",\n"
        );
        assert_eq!(
            written(csv(Forced::None), [Some(""), Some("x\\")]),
            "a,\"b,c\"\n\"\",x\\\n"
        );
        assert_eq!(
            written(
                csv(Forced::Columns(vec!["a".into()])),
                [Some("1"), Some("2")]
            ),
            "a,\"b,c\"\n\"1\",2\n"
        );
        assert_eq!(
            written(csv(Forced::All), [Some("1"), None]),
            "a,\"b,c\"\n\"1\",\n"
        );
        let unknown = Form::Lines(csv(Forced::Columns(vec!["x".into()])));
        assert!(unknown.writer(&fields()).is_err());
    }

    #[test]
    fn binary_rows_are_those_of_answers() {
        let writer = Form::Binary.writer(&fields()).unwrap();
        let row = values([Some("x"), None]);
        assert_eq!(writer.row(&row), [&[0, 2], &row[..]].concat());
        assert_eq!(writer.begin().len(), 19);
    }
}
