//! Statements that are not queries, but that drivers and psql send.

use pgwire::api::results::{Response, Tag};
use pgwire::error::{PgWireError, PgWireResult};

use super::copy::Copy;
use super::declare_cursor::{Declared, fetched};
use super::row_stream::failure;
use super::settings::{timeout, zone};
use crate::dialect::lexer::{Kind, pieces};
use crate::dialect::time_zone::is_utc;

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
    /// `SET statement_timeout`, with its value.
    Timeout(String),
    /// `SHOW name`.
    Show(String),
    /// `DECLARE name CURSOR FOR query`.
    Declare(Declared),
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
        let words_of = Words { sql, words };
        if let Some(why) = words_of.refused() {
            return Err(why);
        }
        if words_of.is_copy() {
            return Ok(Self::Copy(Copy::of(sql)?));
        }
        if let Some(cursor) = words_of.cursor() {
            return cursor.map_err(|why| failure("0A000", why.to_owned()));
        }
        let known = words_of
            .timeout()
            .or_else(|| words_of.without_effect())
            .or_else(|| words_of.deallocated())
            .or_else(|| words_of.shown());
        Ok(known.unwrap_or_else(|| Self::Query(sql.to_owned())))
    }

    /// The query of a statement that has one.
    pub fn query(&self) -> Option<&str> {
        match self {
            Self::Query(sql) => Some(sql),
            Self::Copy(copy) => Some(&copy.sql),
            Self::Declare(declared) => Some(&declared.sql),
            _ => None,
        }
    }

    /// Returns whether the statement answers with rows.
    pub fn has_rows(&self) -> bool {
        matches!(self, Self::Query(_) | Self::Show(_) | Self::Fetch(..))
    }

    /// Returns whether the statement ends a transaction or rolls it back to a savepoint.
    pub fn ends_transaction(&self) -> bool {
        matches!(self, Self::Nothing("COMMIT" | "ROLLBACK" | ROLLBACK_TO))
    }
}

/// The text of a statement, without leading comments and without its semicolon.
struct Words<'a> {
    sql: &'a str,
    words: Vec<&'a str>,
}

impl<'a> Words<'a> {
    /// Returns whether it begins with these words.
    fn begins(&self, command: &str) -> bool {
        let mut words = self.words.iter();
        command.split(' ').all(|part| {
            let word = words.next();
            word.is_some_and(|word| word.eq_ignore_ascii_case(part))
        })
    }

    /// Returns the text after its first word, if it is this one.
    fn behind(&self, command: &str) -> Option<&'a str> {
        self.begins(command).then(|| &self.sql[command.len()..])
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

    /// `SET statement_timeout`.
    fn timeout(&self) -> Option<Statement> {
        let is_set = self.begins("SET");
        is_set.then(|| timeout(&self.words[1..]).map(Statement::Timeout))?
    }

    fn without_effect(&self) -> Option<Statement> {
        let mut commands = WITHOUT_EFFECT.iter();
        let (_, tag) = commands.find(|(command, _)| self.begins(command))?;
        Some(Statement::Nothing(tag))
    }

    /// A parenthesis may directly follow the word.
    fn is_copy(&self) -> bool {
        self.sql
            .split_at_checked(COPY.len())
            .is_some_and(|(word, rest)| {
                let goes_on = rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
                word.eq_ignore_ascii_case(COPY) && !goes_on
            })
    }

    fn deallocated(&self) -> Option<Statement> {
        let text = self.behind("DEALLOCATE")?;
        Some(Statement::Deallocate(deallocated(text)))
    }

    /// A statement about a cursor. An error gives the reason if its form is not supported.
    fn cursor(&self) -> Option<Result<Statement, &'static str>> {
        if let Some(text) = self.behind("DECLARE") {
            return Some(Declared::of(text)?.map(Statement::Declare));
        }
        if self.begins("FETCH") {
            let fetched = fetched(&self.words[1..])?;
            return Some(fetched.map(|(name, count)| Statement::Fetch(name, count)));
        }
        if !self.begins("CLOSE") || self.words.len() != 2 {
            return None;
        }
        let all = self.words[1].eq_ignore_ascii_case("ALL");
        Some(Ok(Statement::Close(
            (!all).then(|| cursor_name(self.words[1])),
        )))
    }

    fn shown(&self) -> Option<Statement> {
        if self.begins("SHOW ALL") {
            return Some(Statement::Query(ALL_SETTINGS.to_owned()));
        }
        let is_query = self.begins("SHOW TABLES") || self.begins("SHOW COLUMNS");
        let is_shown = self.begins("SHOW") && !is_query;
        let name = self.words.get(1..).unwrap_or_default().join(" ");
        is_shown.then(|| Statement::Show(name.trim_matches('"').to_lowercase()))
    }
}

const COPY: &str = "COPY";
/// `SHOW ALL`.
const ALL_SETTINGS: &str =
    "SELECT name, setting, short_desc AS description FROM pg_settings ORDER BY name";
/// The tag of a rollback to a savepoint. The transaction continues.
pub const ROLLBACK_TO: &str = "ROLLBACK TO";

/// Returns whether a text holds nothing but comments.
pub fn is_only_comments(sql: &str) -> bool {
    without_comments(sql)
        .trim_matches([' ', '\t', '\r', '\n', ';'])
        .is_empty()
}

/// A statement without the comments before it.
fn without_comments(sql: &str) -> &str {
    let is_only_comments = |(kind, text): &&(Kind, &str)| {
        *kind == Kind::Comment || *kind == Kind::Code && text.trim().is_empty()
    };
    let pieces = pieces(sql);
    let before = pieces.iter().take_while(is_only_comments);
    let length: usize = before.map(|(_, text)| text.len()).sum();
    &sql[length..]
}

/// Parses `DEALLOCATE [PREPARE] {name | ALL}` without its first word. `None`: all.
fn deallocated(text: &str) -> Option<String> {
    let text = text.trim();
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let name = match first.eq_ignore_ascii_case("PREPARE") {
        true => rest.trim(),
        false => text,
    };
    (!name.eq_ignore_ascii_case("ALL")).then(|| cursor_name(name))
}

/// Removes the quotes of a name. A name without quotes is in lower case.
pub fn cursor_name(name: &str) -> String {
    match name
        .strip_prefix('"')
        .and_then(|name| name.strip_suffix('"'))
    {
        Some(name) => name.replace("\"\"", "\""),
        None => name.to_lowercase(),
    }
}

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

/// Splits a text at semicolons outside quotes and comments.
pub fn split(sql: &str) -> Vec<&str> {
    let (mut parts, mut start, mut at) = (Vec::new(), 0, 0);
    for (kind, text) in pieces(sql) {
        if kind == Kind::Code {
            for (offset, _) in text.match_indices(';') {
                parts.push(&sql[start..at + offset]);
                start = at + offset + 1;
            }
        }
        at += text.len();
    }
    parts.push(&sql[start..]);
    parts.retain(|part| !is_only_comments(part));
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
        assert_eq!(of("show TIME ZONE"), Statement::Show("time zone".into()));
        assert_eq!(of("DEALLOCATE PREPARE all"), Statement::Deallocate(None));
        assert_eq!(
            of("deallocate \"A b\""),
            Statement::Deallocate(Some("A b".into()))
        );
        assert_eq!(of("-- x;\n/* y */ BEGIN"), Statement::Nothing("BEGIN"));
        assert_eq!(
            of("SET statement_timeout='1 s'"),
            Statement::Timeout("1 s".into())
        );
        let copy = "copy(SELECT 1) to stdout";
        assert_eq!(of(copy).query(), Some("SELECT 1"));
        let copied = Statement::Query("copied".into());
        assert_eq!(of("copied"), copied);
        let query = of(" SELECT setting;");
        assert_eq!(query, Statement::Query("SELECT setting".into()));
    }

    #[test]
    fn fetch_and_close_are_parsed() {
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
    }
}
