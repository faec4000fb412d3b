//! The options after `TO STDOUT`, in both syntaxes of PostgreSQL.

use datafusion::logical_expr::sqlparser::keywords::Keyword;
use datafusion::logical_expr::sqlparser::parser::Parser;
use datafusion::logical_expr::sqlparser::tokenizer::Token;
use pgwire::error::{PgWireError, PgWireResult};

use super::format::{Forced, Form, Lines, Quotes};
use super::wrong;
use crate::protocol::row_stream::failure;

/// The given options. The others have their defaults.
#[derive(Debug, Default)]
pub struct Options {
    format: Option<String>,
    delimiter: Option<String>,
    null: Option<String>,
    header: bool,
    quote: Option<String>,
    escape: Option<String>,
    forced: Forced,
}

impl Options {
    /// Parses the options to the end of a statement.
    pub fn read(parser: &mut Parser<'_>) -> PgWireResult<Self> {
        let mut options = Self::default();
        let _ = parser.parse_keyword(Keyword::WITH);
        if !parser.consume_token(&Token::LParen) {
            while let Token::Word(word) = parser.peek_token().token {
                parser.advance_token();
                options.old(&word.value, parser)?;
            }
            return Ok(options);
        }
        loop {
            let Some(name) = word(parser) else {
                return Err(wrong(format!("`{}` is no option", parser.peek_token())));
            };
            options.option(&name, parser)?;
            if parser.consume_token(&Token::RParen) {
                return Ok(options);
            }
            if !parser.consume_token(&Token::Comma) {
                let next = parser.peek_token();
                return Err(wrong(format!("`{next}` after the option {name}")));
            }
        }
    }

    /// `(name value, …)`.
    fn option(&mut self, name: &str, parser: &mut Parser<'_>) -> PgWireResult<()> {
        match name.to_lowercase().as_str() {
            "format" => self.format = Some(value(name, parser)?.to_lowercase()),
            "header" => self.header = flag(parser)?,
            "force_quote" => self.forced = columns(parser)?,
            name => self.value(name, parser)?,
        }
        Ok(())
    }

    /// The syntax from before PostgreSQL 9.0: `CSV HEADER DELIMITER AS ';'`.
    fn old(&mut self, name: &str, parser: &mut Parser<'_>) -> PgWireResult<()> {
        match name.to_lowercase().as_str() {
            name @ ("csv" | "binary") => self.format = Some(name.to_owned()),
            "header" => self.header = true,
            "force" if parser.parse_keyword(Keyword::QUOTE) => self.forced = columns(parser)?,
            name => {
                let _ = parser.parse_keyword(Keyword::AS);
                self.value(name, parser)?;
            }
        }
        Ok(())
    }

    fn value(&mut self, name: &str, parser: &mut Parser<'_>) -> PgWireResult<()> {
        match name {
            "delimiter" => self.delimiter = Some(value(name, parser)?),
            "null" => self.null = Some(value(name, parser)?),
            "quote" => self.quote = Some(value(name, parser)?),
            "escape" => self.escape = Some(value(name, parser)?),
            "encoding" => {
                let encoding = value(name, parser)?.to_lowercase().replace('-', "");
                if !["utf8", "unicode"].contains(&encoding.as_str()) {
                    return Err(unfit(format!(
                        "the encoding {encoding} is not known: UTF8 is"
                    )));
                }
            }
            name => return Err(wrong(format!("`{name}` is not understood here"))),
        }
        Ok(())
    }

    /// The resulting format.
    pub fn form(self) -> PgWireResult<Form> {
        match self.format.as_deref() {
            None | Some("text") => self.text(),
            Some("csv") => self.csv(),
            Some("binary") => self.binary(),
            Some(format) => {
                let why = format!("there is no format \"{format}\": text, csv or binary");
                Err(failure("22023", why))
            }
        }
    }

    fn text(self) -> PgWireResult<Form> {
        let has_quotes = self.quote.is_some() || self.escape.is_some();
        if has_quotes || self.forced != Forced::None {
            return Err(unfit("only values of csv have quotes".to_owned()));
        }
        let lines = self.lines(b'\t', "\\N")?;
        let sign = lines.delimiter;
        if sign.is_ascii_lowercase() || sign.is_ascii_digit() || [b'\\', b'.'].contains(&sign) {
            let sign = char::from(sign);
            return Err(unfit(format!("`{sign}` cannot be the delimiter")));
        }
        Ok(Form::Lines(lines))
    }

    fn csv(self) -> PgWireResult<Form> {
        let mut lines = self.lines(b',', "")?;
        let quote = sign("quote", self.quote.as_deref(), b'"')?;
        let escape = sign("escape", self.escape.as_deref(), quote)?;
        if quote == lines.delimiter || lines.null.bytes().any(|octet| octet == quote) {
            return Err(unfit("the quote must be another sign".to_owned()));
        }
        lines.quotes = Some(Quotes {
            quote,
            escape,
            forced: self.forced,
        });
        Ok(Form::Lines(lines))
    }

    fn binary(self) -> PgWireResult<Form> {
        let said = [&self.delimiter, &self.null, &self.quote, &self.escape];
        let is_said = self.header || said.into_iter().any(Option::is_some);
        match is_said || self.forced != Forced::None {
            true => Err(wrong("the binary format has no options".to_owned())),
            false => Ok(Form::Binary),
        }
    }

    /// The options of lines, with default delimiter and string for NULL.
    fn lines(&self, delimiter: u8, null: &str) -> PgWireResult<Lines> {
        let delimiter = sign("delimiter", self.delimiter.as_deref(), delimiter)?;
        let null = self.null.as_deref().unwrap_or(null);
        let ends = [delimiter, b'\n', b'\r'];
        if null.bytes().any(|octet| ends.contains(&octet)) {
            return Err(unfit(
                "NULL must have no delimiter and no end of line".to_owned(),
            ));
        }
        Ok(Lines {
            delimiter,
            null: null.to_owned(),
            header: self.header,
            quotes: None,
        })
    }
}

/// A word, in lower case if it has no quotes.
fn word(parser: &mut Parser<'_>) -> Option<String> {
    let Token::Word(word) = parser.peek_token().token else {
        return None;
    };
    parser.advance_token();
    Some(match word.quote_style {
        Some(_) => word.value,
        None => word.value.to_lowercase(),
    })
}

fn value(name: &str, parser: &mut Parser<'_>) -> PgWireResult<String> {
    if let Some(word) = word(parser) {
        return Ok(word);
    }
    let value = match parser.peek_token().token {
        Token::SingleQuotedString(text)
        | Token::EscapedStringLiteral(text)
        | Token::Number(text, _) => text,
        token => return Err(wrong(format!("`{token}` is no value of {name}"))),
    };
    parser.advance_token();
    Ok(value)
}

/// A flag. Without a value it is true.
fn flag(parser: &mut Parser<'_>) -> PgWireResult<bool> {
    if matches!(parser.peek_token().token, Token::Comma | Token::RParen) {
        return Ok(true);
    }
    match value("header", parser)?.to_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        other => Err(wrong(format!(
            "`{other}` is no value of header: on, or off"
        ))),
    }
}

/// `*`, or columns with or without parentheses.
fn columns(parser: &mut Parser<'_>) -> PgWireResult<Forced> {
    if parser.consume_token(&Token::Mul) {
        return Ok(Forced::All);
    }
    let has_parentheses = parser.consume_token(&Token::LParen);
    let mut names = Vec::new();
    loop {
        let Some(name) = word(parser) else {
            return Err(wrong(format!("`{}` is no column", parser.peek_token())));
        };
        names.push(name);
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    if has_parentheses && !parser.consume_token(&Token::RParen) {
        return Err(wrong(format!("`{}` is no column", parser.peek_token())));
    }
    Ok(Forced::Columns(names))
}

/// One byte that does not end a line.
fn sign(name: &str, said: Option<&str>, otherwise: u8) -> PgWireResult<u8> {
    match said.map(str::as_bytes) {
        None => Ok(otherwise),
        Some([sign]) if ![b'\n', b'\r'].contains(sign) && sign.is_ascii() => Ok(*sign),
        Some(_) => Err(unfit(format!("the {name} is one sign of ASCII on a line"))),
    }
}

fn unfit(why: String) -> PgWireError {
    failure("0A000", format!("COPY: {why}"))
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::sqlparser::dialect::PostgreSqlDialect;

    use super::*;

    fn form(options: &str) -> Result<Form, String> {
        let parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(options);
        let mut parser = parser.unwrap();
        let options = Options::read(&mut parser).and_then(Options::form);
        options.map_err(|why| why.to_string())
    }

    fn csv(delimiter: u8, header: bool, forced: Forced) -> Form {
        Form::Lines(Lines {
            delimiter,
            null: String::new(),
            header,
            quotes: Some(Quotes {
                quote: b'"',
                escape: b'"',
                forced,
            }),
        })
    }

    #[test]
    fn both_ways_to_say_it_are_understood() {
        let ab = || Forced::Columns(vec!["a".to_owned(), "B".to_owned()]);
        for (options, expected) in [
            ("(FORMAT 'csv', HEADER True)", csv(b',', true, Forced::None)),
            ("WITH CSV HEADER", csv(b',', true, Forced::None)),
            (
                "CSV DELIMITER AS ';' FORCE QUOTE *",
                csv(b';', false, Forced::All),
            ),
            (
                "(format csv, force_quote (a, \"B\"), header off)",
                csv(b',', false, ab()),
            ),
            ("csv force quote A, \"B\"", csv(b',', false, ab())),
            (
                "(DELIMITER ',', NULL '', FORMAT csv)",
                csv(b',', false, Forced::None),
            ),
            ("WITH (FORMAT binary)", Form::Binary),
            ("BINARY", Form::Binary),
            ("(FORMAT \"binary\")", Form::Binary),
        ] {
            assert_eq!(form(options).as_ref(), Ok(&expected), "{options}");
        }
        let Ok(Form::Lines(lines)) = form("DELIMITER E'\\t' ENCODING 'UTF-8' NULL ''") else {
            panic!("not understood");
        };
        assert_eq!((lines.delimiter, lines.null.as_str()), (b'\t', ""));
        for wrong in [
            "(FORMAT parquet)",
            "(FORMAT binary, HEADER)",
            "(QUOTE 'x')",
            "(DELIMITER 'ab')",
            "(DELIMITER 'a')",
            "(FORMAT csv, QUOTE ',')",
            "(FORMAT csv, NULL E'\\n')",
            "(FREEZE)",
            "(FORMAT csv",
            "(FORMAT)",
            "(ENCODING 'latin1')",
            "(HEADER match)",
        ] {
            assert!(form(wrong).is_err(), "{wrong}");
        }
    }
}
