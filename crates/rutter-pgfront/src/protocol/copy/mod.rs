//! `COPY … TO STDOUT`: rows in the formats of files, for tools that export whole tables.

mod format;
mod options;
mod rows;

pub use rows::{copied, respond};

use datafusion::logical_expr::sqlparser::dialect::PostgreSqlDialect;
use datafusion::logical_expr::sqlparser::keywords::Keyword;
use datafusion::logical_expr::sqlparser::parser::{IsOptional, Parser, ParserError};
use datafusion::logical_expr::sqlparser::tokenizer::Token;
use pgwire::api::portal::Format;
use pgwire::error::{PgWireError, PgWireResult};

use super::row_stream::{error, failure};
use crate::dialect::lexer::parenthesised;
use crate::limits::complexity;
use format::Form;

/// A `COPY` statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// The query whose rows are copied.
    pub sql: String,
    form: Form,
}

impl Copy {
    /// Parses a statement that begins with `COPY`.
    pub fn of(statement: &str) -> PgWireResult<Self> {
        complexity::check_text(statement).map_err(|why| error(&why.into()))?;
        let rest = statement.get("COPY".len()..).unwrap_or_default();
        let (query, rest) = match parenthesised(rest) {
            Some((query, rest)) => (Some(query), rest),
            None => (None, rest),
        };
        let mut parser = Parser::new(&PostgreSqlDialect {})
            .try_with_sql(rest)
            .map_err(unread)?;
        let sql = match query {
            Some(query) => query.to_owned(),
            None => table(&mut parser).map_err(unread)?,
        };
        if parser.parse_keyword(Keyword::FROM) {
            let why = "this is read-only: COPY … TO STDOUT is known, COPY … FROM is not";
            return Err(failure("25006", why.to_owned()));
        }
        parser.expect_keyword(Keyword::TO).map_err(unread)?;
        if !parser.parse_keyword(Keyword::STDOUT) {
            let why = "files of the server are not written: COPY … TO STDOUT, or \\copy in psql";
            return Err(failure("42501", why.to_owned()));
        }
        let form = options::form(&mut parser)?;
        match parser.peek_token().token {
            Token::EOF => Ok(Self { sql, form }),
            token => Err(wrong(format!("`{token}` is not understood here"))),
        }
    }

    /// The format of the values.
    pub fn values(&self) -> Format {
        self.form.values()
    }
}

/// The query of a table, or of some of its columns.
fn table(parser: &mut Parser<'_>) -> Result<String, ParserError> {
    let name = parser.parse_object_name(false)?;
    let columns = parser.parse_parenthesized_column_list(IsOptional::Optional, false)?;
    let columns: Vec<String> = columns.iter().map(ToString::to_string).collect();
    Ok(match columns.is_empty() {
        true => format!("SELECT * FROM {name}"),
        false => format!("SELECT {} FROM {name}", columns.join(", ")),
    })
}

fn unread(why: ParserError) -> PgWireError {
    let (ParserError::ParserError(why) | ParserError::TokenizerError(why)) = why else {
        return wrong("it is nested too deep".to_owned());
    };
    wrong(why)
}

fn wrong(why: String) -> PgWireError {
    failure("42601", format!("COPY: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(statement: &str) -> String {
        match Copy::of(statement) {
            Ok(copy) => copy.sql,
            Err(why) => why.to_string(),
        }
    }

    #[test]
    fn copy_statements_are_parsed() {
        for (statement, expected) in [
            ("COPY routes TO STDOUT", "SELECT * FROM routes"),
            (
                "copy public.\"Routes\" (prefix, \"B\") to stdout csv",
                "SELECT prefix, \"B\" FROM public.\"Routes\"",
            ),
            (
                "COPY (SELECT ')' /* ) */, (1) FROM routes) TO STDOUT",
                "SELECT ')' /* ) */, (1) FROM routes",
            ),
            (
                "COPY/* ( */ (SELECT 1) TO STDOUT WITH (FORMAT csv)",
                "SELECT 1",
            ),
        ] {
            assert_eq!(outcome(statement), expected);
        }
        for (statement, expected) in [
            ("COPY routes FROM STDIN", "read-only"),
            ("COPY routes TO '/tmp/x'", "\\copy"),
            ("COPY routes TO PROGRAM 'x'", "\\copy"),
            ("COPY (SELECT 1 TO STDOUT", "COPY"),
            ("COPY routes TO STDOUT nonsense", "nonsense"),
            ("COPY \"(\" (a) TO STDOUT (FORMAT x)", "x"),
            ("COPY", "COPY"),
        ] {
            let outcome = outcome(statement);
            assert!(outcome.contains(expected), "{statement}: {outcome}");
        }
    }
}
