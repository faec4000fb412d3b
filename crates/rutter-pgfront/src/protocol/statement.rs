//! Statements that are not queries, but that drivers and psql send.

use datafusion::logical_expr::sqlparser::ast::{CloseCursor, Declare, Ident, Statement as Parsed};
use datafusion::logical_expr::sqlparser::dialect::PostgreSqlDialect;
use datafusion::logical_expr::sqlparser::parser::Parser;
use datafusion::logical_expr::sqlparser::tokenizer::{Token, Tokenizer};
use pgwire::api::results::{Response, Tag};
use pgwire::error::{PgWireError, PgWireResult};

use super::copy::{Copy, Form};
use super::row_stream::{error, failure};
use super::settings::{SETTINGS, setting_name, zone};
use crate::dialect::column_name;
use crate::dialect::time_zone::is_utc;
use crate::limits::complexity;

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// A query.
    Query(String),
    /// A statement without effect, with its tag: settings and transactions change nothing for reads.
    Nothing(&'static str),
    /// `DEALLOCATE name`; without a name: all.
    Deallocate(Option<String>),
    /// `COPY … TO STDOUT`.
    Copy(Copy),
    /// `DECLARE name CURSOR FOR query`.
    Declare(String, String),
    /// `FETCH count FROM name`; without a count: all.
    Fetch(String, Option<usize>),
    /// `CLOSE name`; without a name: all.
    Close(Option<String>),
}

/// The commands that are accepted without effect, with their tags.
const WITHOUT_EFFECT: [(&str, &str); 16] = [
    ("SET", "SET"),
    ("RESET", "RESET"),
    ("BEGIN", "BEGIN"),
    ("START TRANSACTION", "BEGIN"),
    ("COMMIT", "COMMIT"),
    ("END", "COMMIT"),
    ("ROLLBACK TO", ROLLBACK_TO),
    ("ROLLBACK", "ROLLBACK"),
    ("ABORT", "ROLLBACK"),
    ("DISCARD ALL", "DISCARD ALL"),
    ("DISCARD PLANS", "DISCARD PLANS"),
    ("DISCARD SEQUENCES", "DISCARD SEQUENCES"),
    ("DISCARD TEMP", "DISCARD TEMP"),
    ("SAVEPOINT", "SAVEPOINT"),
    ("RELEASE", "RELEASE"),
    ("UNLISTEN", "UNLISTEN"),
];

impl Statement {
    /// Recognises a statement by its first words.
    ///
    /// # Errors
    /// If the statement is not offered.
    pub fn of(sql: &str) -> PgWireResult<Self> {
        let sql = without_comments(sql).trim().trim_end_matches(';').trim();
        let words = sql.split_whitespace().collect();
        let words_of = Words { words };
        if let Some(why) = words_of.refused() {
            return Err(why);
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let first = &sql[..sql.find(|c| !is_word(c)).unwrap_or(sql.len())];
        if PARSED.iter().any(|word| word.eq_ignore_ascii_case(first)) {
            return Self::parsed(sql);
        }
        if words_of.begins("FETCH")
            && let Some(fetched) = fetched(&words_of.words[1..])
        {
            return fetched.map_err(|why| failure("0A000", why.to_owned()));
        }
        if let Some(shown) = words_of.shown() {
            return shown;
        }
        let known = words_of.without_effect();
        Ok(known.unwrap_or_else(|| Self::Query(sql.to_owned())))
    }

    /// Parses a statement about copies, cursors and prepared statements.
    fn parsed(sql: &str) -> PgWireResult<Self> {
        complexity::check_text(sql).map_err(|why| error(&why.into()))?;
        // The parser reads the data of `COPY … FROM STDIN` behind a semicolon.
        let parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(&format!("{sql};"));
        let parsed = parser.and_then(|mut parser| {
            let parsed = parser.parse_statement()?;
            let _ = parser.consume_token(&Token::SemiColon);
            parser.expect_token(&Token::EOF)?;
            Ok(parsed)
        });
        let name = |name: Ident| column_name(&name);
        Ok(
            match parsed.map_err(|why| failure("42601", why.to_string()))? {
                Parsed::Copy {
                    source,
                    to,
                    target,
                    options,
                    legacy_options,
                    ..
                } => {
                    let form = Form::of(options, legacy_options)?;
                    Self::Copy(Copy::new(source, to, &target, form)?)
                }
                Parsed::Declare { mut stmts } => match stmts.pop() {
                    Some(Declare {
                        binary: Some(true), ..
                    }) => return Err(failure("0A000", BINARY.to_owned())),
                    Some(Declare {
                        hold: Some(true), ..
                    }) => return Err(failure("0A000", HOLD.to_owned())),
                    Some(Declare {
                        mut names,
                        for_query: Some(query),
                        ..
                    }) if names.len() == 1 => {
                        Self::Declare(name(names.remove(0)), query.to_string())
                    }
                    _ => Self::Query(sql.to_owned()),
                },
                Parsed::Close {
                    cursor: CloseCursor::All,
                } => Self::Close(None),
                Parsed::Close {
                    cursor: CloseCursor::Specific { name: cursor },
                } => Self::Close(Some(name(cursor))),
                Parsed::Deallocate {
                    name: statement, ..
                } => {
                    let is_all = statement.quote_style.is_none()
                        && statement.value.eq_ignore_ascii_case("ALL");
                    Self::Deallocate((!is_all).then(|| name(statement)))
                }
                _ => Self::Query(sql.to_owned()),
            },
        )
    }

    /// The query of a statement that has one.
    pub fn query(&self) -> Option<&str> {
        match self {
            Self::Query(sql) => Some(sql),
            Self::Copy(copy) => Some(&copy.sql),
            Self::Declare(_, sql) => Some(sql),
            _ => None,
        }
    }

    /// Returns whether the statement answers with rows.
    pub fn has_rows(&self) -> bool {
        matches!(self, Self::Query(_) | Self::Fetch(..))
    }

    /// Returns whether the statement ends a transaction or rolls it back to a savepoint.
    pub fn ends_transaction(&self) -> bool {
        matches!(self, Self::Nothing("COMMIT" | "ROLLBACK" | ROLLBACK_TO))
    }
}

/// The words of a statement, without leading comments and without its semicolon.
struct Words<'a> {
    words: Vec<&'a str>,
}

impl Words<'_> {
    /// Returns whether it begins with these words.
    fn begins(&self, command: &str) -> bool {
        let mut words = self.words.iter();
        command.split(' ').all(|part| {
            let word = words.next();
            word.is_some_and(|word| word.eq_ignore_ascii_case(part))
        })
    }

    /// Returns why the statement is not offered.
    fn refused(&self) -> Option<PgWireError> {
        if self.begins("SET")
            && let Some(zone) = zone(&self.words[1..]).filter(|zone| !is_utc(zone))
        {
            let why =
                format!("time zone {zone}: all times are UTC here, and no other zone is known");
            return Some(failure("22023", why));
        }
        let is = |command: &&str| self.begins(command);
        ["PREPARE", "EXECUTE", "MOVE"].iter().find(|command| is(command)).map(|command| {
            failure("0A000", format!("{command} is not offered: drivers prepare statements by the protocol, and read cursors by FETCH"))
        })
    }

    fn without_effect(&self) -> Option<Statement> {
        let mut commands = WITHOUT_EFFECT.iter();
        let (_, tag) = commands.find(|(command, _)| self.begins(command))?;
        Some(Statement::Nothing(tag))
    }

    /// `SHOW` is a query of the settings.
    fn shown(&self) -> Option<PgWireResult<Statement>> {
        if !self.begins("SHOW") || self.begins("SHOW TABLES") || self.begins("SHOW COLUMNS") {
            return None;
        }
        let name = self.words[1..].join(" ");
        let name = name.trim_matches('"').to_lowercase();
        if name == "all" {
            return Some(Ok(Statement::Query(ALL_SETTINGS.to_owned())));
        }
        let mut settings = SETTINGS.iter().map(|(known, _)| *known);
        let Some(known) = settings.find(|known| *known == setting_name(&name)) else {
            let why = format!("unrecognized configuration parameter \"{name}\"");
            return Some(Err(failure("42704", why)));
        };
        Some(Ok(Statement::Query(format!(
            "SELECT setting AS \"{known}\" FROM pg_settings WHERE name = '{known}'"
        ))))
    }
}

/// The first words of statements that the parser of SQL reads.
const PARSED: [&str; 4] = ["COPY", "DECLARE", "CLOSE", "DEALLOCATE"];
/// `SHOW ALL`.
const ALL_SETTINGS: &str =
    "SELECT name, setting, short_desc AS description FROM pg_settings ORDER BY name";
/// The tag of a rollback to a savepoint. The transaction continues.
pub const ROLLBACK_TO: &str = "ROLLBACK TO";

/// Returns whether a text holds nothing but comments.
pub fn is_only_comments(sql: &str) -> bool {
    split(sql).is_empty()
}

/// A statement without the comments before it.
fn without_comments(sql: &str) -> &str {
    let tokens = tokens(sql).unwrap_or_default();
    let mut tokens = tokens.iter();
    let first = tokens.find(|(token, _)| !matches!(token, Token::Whitespace(_)));
    first.map_or(sql, |(_, at)| &sql[*at..])
}

/// The tokens of a text, each with its place. `None`: it is too long, or an open quote or comment.
fn tokens(sql: &str) -> Option<Vec<(Token, usize)>> {
    if sql.len() > complexity::MAX_QUERY_BYTES {
        return None;
    }
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location();
    let (mut characters, mut at) = (sql.chars(), 0);
    let (mut line, mut column) = (1, 1);
    let placed = tokens.ok()?.into_iter().map(|token| {
        let start = token.span.start;
        while (line, column) < (start.line, start.column)
            && let Some(character) = characters.next()
        {
            at += character.len_utf8();
            (line, column) = match character {
                '\n' => (line + 1, 1),
                _ => (line, column + 1),
            };
        }
        (token.token, at)
    });
    Some(placed.collect())
}

/// Parses `FETCH [NEXT | [FORWARD] [count | ALL]] [FROM | IN] name` without its first word. An error gives the
/// reason if the form is not supported.
fn fetched(words: &[&str]) -> Option<Result<Statement, &'static str>> {
    let (name, words) = words.split_last()?;
    let mut count = Some(1);
    for word in words {
        match word.to_ascii_uppercase().as_str() {
            "NEXT" | "FORWARD" | "FROM" | "IN" => {}
            "ALL" => count = None,
            "PRIOR" | "FIRST" | "LAST" | "ABSOLUTE" | "RELATIVE" | "BACKWARD" => {
                return Some(Err(BACKWARD));
            }
            number if number.starts_with('-') => return Some(Err(BACKWARD)),
            number => count = Some(number.parse().ok()?),
        }
    }
    let name = match name.strip_prefix('"') {
        Some(quoted) => quoted.trim_end_matches('"').to_owned(),
        None => name.to_lowercase(),
    };
    Some(Ok(Statement::Fetch(name, count)))
}

const BACKWARD: &str = "cursors are read forwards: write FETCH count FROM name";
const HOLD: &str = "a cursor ends with its transaction: WITH HOLD is not offered";
const BINARY: &str =
    "BINARY cursors are not offered: ask for the binary form when values are bound";

/// Answers a statement without effect.
pub fn nothing(tag: &'static str) -> Response {
    match tag {
        "BEGIN" => Response::TransactionStart(Tag::new(tag)),
        "COMMIT" | "ROLLBACK" => Response::TransactionEnd(Tag::new(tag)),
        // The transaction continues as if it had just begun.
        ROLLBACK_TO => Response::TransactionStart(Tag::new("ROLLBACK")),
        _ => Response::Execution(Tag::new(tag)),
    }
}

/// Splits a text at semicolons outside quotes and comments. A text that the parser cannot read stays whole.
pub fn split(sql: &str) -> Vec<&str> {
    let Some(tokens) = tokens(sql) else {
        return vec![sql];
    };
    let (mut parts, mut start, mut is_empty) = (Vec::new(), 0, true);
    for (token, at) in tokens {
        match token {
            Token::SemiColon => {
                parts.extend((!is_empty).then(|| &sql[start..at]));
                (start, is_empty) = (at + 1, true);
            }
            Token::Whitespace(_) => {}
            _ => is_empty = false,
        }
    }
    parts.extend((!is_empty).then(|| &sql[start..]));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sql: &str) -> Statement {
        Statement::of(sql).unwrap()
    }

    #[test]
    fn driver_commands_are_recognized() {
        assert_eq!(of("begin;"), Statement::Nothing("BEGIN"));
        assert_eq!(of("SET x TO 1"), Statement::Nothing("SET"));
        let zone = "SELECT setting AS \"timezone\" FROM pg_settings WHERE name = 'timezone'";
        assert_eq!(of("show TIME ZONE"), Statement::Query(zone.into()));
        assert!(Statement::of("SHOW x").is_err());
        assert_eq!(of("DEALLOCATE PREPARE all"), Statement::Deallocate(None));
        assert_eq!(
            of("deallocate \"A b\""),
            Statement::Deallocate(Some("A b".into()))
        );
        assert_eq!(of("-- x;\n/* y */ BEGIN"), Statement::Nothing("BEGIN"));
        let copy = "copy(SELECT 1) to stdout";
        assert_eq!(of(copy).query(), Some("SELECT 1"));
        let copied = Statement::Query("copied".into());
        assert_eq!(of("copied"), copied);
        let query = of(" SELECT setting;");
        assert_eq!(query, Statement::Query("SELECT setting".into()));
    }

    #[test]
    fn fetch_and_close_are_parsed() {
        let declared = |sql: &str| of(&format!("declare C {sql} for SELECT 'x'"));
        let expected = Statement::Declare("c".into(), "SELECT 'x'".into());
        assert_eq!(declared("no scroll cursor"), expected);
        assert_eq!(declared("CURSOR WITHOUT HOLD"), expected);
        let fetched = |count| Statement::Fetch("c".into(), count);
        assert_eq!(of("fetch all in c"), fetched(None));
        assert_eq!(of("FETCH C"), fetched(Some(1)));
        for refused in [
            "MOVE c",
            "FETCH PRIOR FROM c",
            "EXECUTE x",
            "SET TIME ZONE 'x'",
        ] {
            assert!(Statement::of(refused).is_err(), "{refused}");
        }
        assert_eq!(of("CLOSE c;"), Statement::Close(Some("c".into())));
        assert_eq!(of("CLOSE ALL"), Statement::Close(None));
    }

    #[test]
    fn statements_are_split_outside_of_quotes_and_comments() {
        assert_eq!(
            split("SELECT ';' ; -- a; b\nSELECT 2;"),
            ["SELECT ';' ", " -- a; b\nSELECT 2"]
        );
        assert_eq!(split("SELECT /* ; */ $$;$$"), ["SELECT /* ; */ $$;$$"]);
        assert!(split(" ; -- nothing").is_empty());
        let quotes =
            "SELECT 'it''s;ö' ;SELECT \"q\"\";\" -- c'\n, /* x /* y */ ; */ E'\\';' ; $t$;$t$";
        let parts = split(quotes);
        assert_eq!(parts.len(), 3, "{parts:?}");
        assert_eq!((parts[0], parts[2]), ("SELECT 'it''s;ö' ", " $t$;$t$"));
        assert_eq!(split("SELECT ';"), ["SELECT ';"]);
    }
}
