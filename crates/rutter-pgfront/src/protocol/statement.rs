//! Statements that are not queries, but that drivers and psql send.

use pgwire::api::results::{Response, Tag};

use super::declare_cursor::{Declared, fetched};
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
    /// The whole text of `COPY …`.
    Copy(String),
    /// `SET statement_timeout`, with its value.
    Timeout(String),
    /// `SET TIME ZONE` with an unknown zone.
    Zone(String),
    /// `SHOW name`.
    Show(String),
    /// A statement that is not offered, with the reason.
    Refused(&'static str),
    /// `DECLARE name CURSOR FOR query`.
    Declare(Declared),
    /// `FETCH count FROM name`; without a count: all.
    Fetch(String, Option<usize>),
    /// `MOVE count FROM name`, the same without the rows.
    Move(String, Option<usize>),
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
    pub fn of(sql: &str) -> Self {
        let sql = spoken(sql).trim().trim_end_matches(';').trim();
        let words = sql.split_whitespace().collect();
        let said = Said { sql, words };
        let known = said
            .setting()
            .or_else(|| said.without_effect())
            .or_else(|| said.copy())
            .or_else(|| said.prepared())
            .or_else(|| said.cursor())
            .or_else(|| said.shown());
        known.unwrap_or_else(|| Self::Query(sql.to_owned()))
    }

    /// Returns whether the statement ends a transaction or rolls it back to a savepoint.
    pub fn ends_transaction(&self) -> bool {
        matches!(self, Self::Nothing(tag) if ends_transaction(tag))
    }
}

/// The text of a statement, without leading comments and without its semicolon.
struct Said<'a> {
    sql: &'a str,
    words: Vec<&'a str>,
}

impl<'a> Said<'a> {
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

    /// `SET` of a setting that has an effect.
    fn setting(&self) -> Option<Statement> {
        if !self.begins("SET") {
            return None;
        }
        let said = &self.words[1..];
        let zone = zone(said).filter(|zone| !is_utc(zone));
        let zone = zone.map(Statement::Zone);
        zone.or_else(|| timeout(said).map(Statement::Timeout))
    }

    fn without_effect(&self) -> Option<Statement> {
        let mut commands = WITHOUT_EFFECT.iter();
        let (_, tag) = commands.find(|(command, _)| self.begins(command))?;
        Some(Statement::Nothing(tag))
    }

    /// A parenthesis may directly follow the word.
    fn copy(&self) -> Option<Statement> {
        let (word, rest) = self.sql.split_at_checked(COPY.len())?;
        let goes_on = rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let is_copy = word.eq_ignore_ascii_case(COPY) && !goes_on;
        is_copy.then(|| Statement::Copy(self.sql.to_owned()))
    }

    fn prepared(&self) -> Option<Statement> {
        if self.begins("PREPARE") || self.begins("EXECUTE") {
            return Some(Statement::Refused(
                "PREPARE and EXECUTE are not offered: drivers prepare statements by the protocol",
            ));
        }
        let text = self.behind("DEALLOCATE")?;
        Some(Statement::Deallocate(deallocated(text)))
    }

    fn cursor(&self) -> Option<Statement> {
        if let Some(text) = self.behind("DECLARE") {
            let declared = Declared::of(text)?.map(Statement::Declare);
            return Some(declared.unwrap_or_else(Statement::Refused));
        }
        let statement: fn(_, _) -> _ = match self.begins("MOVE") {
            true => Statement::Move,
            false => Statement::Fetch,
        };
        if self.begins("FETCH") || self.begins("MOVE") {
            let fetched = fetched(&self.words[1..])?;
            let fetched = fetched.map(|(name, count)| statement(name, count));
            return Some(fetched.unwrap_or_else(Statement::Refused));
        }
        if !self.begins("CLOSE") || self.words.len() != 2 {
            return None;
        }
        let all = self.words[1].eq_ignore_ascii_case("ALL");
        Some(Statement::Close((!all).then(|| cursor_name(self.words[1]))))
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

/// Returns whether the statement with this tag ends a transaction or rolls it back to a savepoint.
pub fn ends_transaction(tag: &str) -> bool {
    matches!(tag, "COMMIT" | "ROLLBACK") || tag == ROLLBACK_TO
}

const COPY: &str = "COPY";
/// `SHOW ALL`.
const ALL_SETTINGS: &str =
    "SELECT name, setting, short_desc AS description FROM pg_settings ORDER BY name";
/// The tag of a rollback to a savepoint. The transaction continues.
pub const ROLLBACK_TO: &str = "ROLLBACK TO";

/// Returns whether a text holds nothing but comments.
pub fn is_silent(sql: &str) -> bool {
    spoken(sql)
        .trim_matches([' ', '\t', '\r', '\n', ';'])
        .is_empty()
}

/// A statement without the comments before it.
fn spoken(sql: &str) -> &str {
    let is_silent = |(kind, text): &&(Kind, &str)| {
        *kind == Kind::Comment || *kind == Kind::Code && text.trim().is_empty()
    };
    let pieces = pieces(sql);
    let before = pieces.iter().take_while(is_silent);
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
    parts.retain(|part| !is_silent(part));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_drivers_are_told_from_queries() {
        assert_eq!(Statement::of("begin;"), Statement::Nothing("BEGIN"));
        assert_eq!(Statement::of("SET x TO 1"), Statement::Nothing("SET"));
        assert_eq!(
            Statement::of("show TIME ZONE"),
            Statement::Show("time zone".into())
        );
        assert_eq!(
            Statement::of("DEALLOCATE PREPARE all"),
            Statement::Deallocate(None)
        );
        assert_eq!(
            Statement::of("deallocate \"A b\""),
            Statement::Deallocate(Some("A b".into()))
        );
        assert_eq!(
            Statement::of("-- x;\n/* y */ BEGIN"),
            Statement::Nothing("BEGIN")
        );
        assert_eq!(
            Statement::of("SET statement_timeout='1 s'"),
            Statement::Timeout("1 s".into())
        );
        let copy = "copy(SELECT 1) to stdout";
        assert_eq!(Statement::of(copy), Statement::Copy(copy.into()));
        let copied = Statement::Query("copied".into());
        assert_eq!(Statement::of("copied"), copied);
        let query = Statement::of(" SELECT setting;");
        assert_eq!(query, Statement::Query("SELECT setting".into()));
    }

    #[test]
    fn cursors_are_read_and_closed() {
        let fetched = |count| Statement::Fetch("c".into(), count);
        assert_eq!(Statement::of("fetch all in c"), fetched(None));
        assert_eq!(Statement::of("FETCH C"), fetched(Some(1)));
        let moved = Statement::Move("c".into(), Some(7));
        assert_eq!(Statement::of("MOVE FORWARD 7 FROM c"), moved);
        let back = Statement::of("FETCH PRIOR FROM c");
        assert!(matches!(back, Statement::Refused(_)));
        assert_eq!(
            Statement::of("CLOSE c;"),
            Statement::Close(Some("c".into()))
        );
        assert_eq!(Statement::of("CLOSE ALL"), Statement::Close(None));
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
