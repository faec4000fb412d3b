//! The options after `TO STDOUT`: `CSV HEADER`, `(FORMAT csv, DELIMITER ';')`.

use datafusion::logical_expr::sqlparser::keywords::Keyword;
use datafusion::logical_expr::sqlparser::parser::Parser;
use datafusion::logical_expr::sqlparser::tokenizer::Token;
use pgwire::error::PgWireResult;

use super::format::{Form, Lines};
use super::wrong;
use crate::protocol::row_stream::failure;

/// Parses the options to the end of a statement, in both syntaxes of PostgreSQL.
pub fn form(parser: &mut Parser<'_>) -> PgWireResult<Form> {
    let _ = parser.parse_keyword(Keyword::WITH);
    let is_list = parser.consume_token(&Token::LParen);
    let (mut format, mut header) = ("text".to_owned(), false);
    let (mut delimiter, mut null) = (None, None);
    while let Some(name) = word(parser) {
        let _ = !is_list && parser.parse_keyword(Keyword::AS);
        match name.to_lowercase().as_str() {
            "csv" | "binary" if !is_list => format = name.to_lowercase(),
            "format" => format = value(parser)?.to_lowercase(),
            "header" => header = flag(parser)?,
            "delimiter" => delimiter = Some(value(parser)?),
            "null" => null = Some(value(parser)?),
            name => {
                let why = format!(
                    "COPY: the option {name} is not offered: FORMAT, HEADER, DELIMITER and NULL are"
                );
                return Err(failure("0A000", why));
            }
        }
        if is_list && !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    if is_list && !parser.consume_token(&Token::RParen) {
        let next = parser.peek_token();
        return Err(wrong(format!("`{next}` is not understood here")));
    }
    let (is_csv, standard) = match format.as_str() {
        "text" => (false, (b'\t', "\\N")),
        "csv" => (true, (b',', "")),
        "binary" if !header && delimiter.is_none() && null.is_none() => return Ok(Form::Binary),
        "binary" => return Err(wrong("the binary format has no options".to_owned())),
        format => {
            let why = format!("there is no format \"{format}\": text, csv or binary");
            return Err(failure("22023", why));
        }
    };
    let delimiter = match delimiter.as_deref().map(str::as_bytes) {
        None => standard.0,
        Some([sign]) if is_delimiter(*sign, is_csv) => *sign,
        Some(_) => {
            return Err(wrong(
                "the delimiter is one sign, such as ; or |".to_owned(),
            ));
        }
    };
    let null = null.unwrap_or_else(|| standard.1.to_owned());
    let ends = [delimiter, b'\n', b'\r', b'"'];
    if null.bytes().any(|octet| ends.contains(&octet)) {
        let why = "NULL must have no delimiter, no quote and no end of line";
        return Err(wrong(why.to_owned()));
    }
    Ok(Form::Lines(Lines {
        delimiter,
        null,
        header,
        is_csv,
    }))
}

/// Returns whether a byte can be read back as the delimiter.
fn is_delimiter(sign: u8, is_csv: bool) -> bool {
    let has_meaning = match is_csv {
        true => sign == b'"',
        false => sign.is_ascii_alphanumeric() || [b'\\', b'.'].contains(&sign),
    };
    sign.is_ascii() && !has_meaning && ![b'\n', b'\r'].contains(&sign)
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

fn value(parser: &mut Parser<'_>) -> PgWireResult<String> {
    if let Some(word) = word(parser) {
        return Ok(word);
    }
    let value = match parser.peek_token().token {
        Token::SingleQuotedString(text)
        | Token::EscapedStringLiteral(text)
        | Token::Number(text, _) => text,
        token => return Err(wrong(format!("`{token}` is no value"))),
    };
    parser.advance_token();
    Ok(value)
}

/// A flag. Without a value it is true.
fn flag(parser: &mut Parser<'_>) -> PgWireResult<bool> {
    let is_named = ["true", "on", "false", "off"];
    let next = parser.peek_token().token.to_string().to_lowercase();
    if !is_named.contains(&next.as_str()) {
        return Ok(true);
    }
    parser.advance_token();
    Ok(["true", "on"].contains(&next.as_str()))
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::sqlparser::dialect::PostgreSqlDialect;

    use super::*;

    fn read(options: &str) -> Result<Form, String> {
        let parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(options);
        form(&mut parser.unwrap()).map_err(|why| why.to_string())
    }

    fn csv(delimiter: u8, header: bool) -> Form {
        Form::Lines(Lines {
            delimiter,
            null: String::new(),
            header,
            is_csv: true,
        })
    }

    #[test]
    fn both_option_syntaxes_are_parsed() {
        for (options, expected) in [
            ("(FORMAT 'csv', HEADER True)", csv(b',', true)),
            ("WITH CSV HEADER", csv(b',', true)),
            ("CSV DELIMITER AS ';'", csv(b';', false)),
            ("(format csv, header off)", csv(b',', false)),
            ("(DELIMITER ',', NULL '', FORMAT csv)", csv(b',', false)),
            ("WITH (FORMAT binary)", Form::Binary),
            ("BINARY", Form::Binary),
            ("(FORMAT \"binary\")", Form::Binary),
        ] {
            assert_eq!(read(options).as_ref(), Ok(&expected), "{options}");
        }
        for wrong in [
            "(FORMAT parquet)",
            "(FORMAT binary, HEADER)",
            "(FORMAT csv, QUOTE 'x')",
            "(DELIMITER 'ab')",
            "(DELIMITER 'a')",
            "(FORMAT csv, DELIMITER '\"')",
            "(FORMAT csv, NULL E'\\n')",
            "(FREEZE)",
            "(FORMAT csv",
            "(FORMAT)",
            "CSV FORCE QUOTE *",
            "(HEADER match)",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
