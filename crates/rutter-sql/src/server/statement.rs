//! What a client says that is not a query, but that drivers and psql say all the same.

use pgwire::api::results::{Response, Tag};

use crate::catalog::always_empty;
use crate::pieces::{Kind, pieces};
use crate::zones::is_utc;

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// To be answered from the tables.
    Query(String),
    /// Answered with its name and nothing done: settings and transactions change nothing for a reader.
    Nothing(&'static str),
    /// `SET TIME ZONE` to one that is not known.
    Zone(String),
    /// `SHOW name`.
    Show(String),
    /// Answered with no rows.
    Empty,
    /// `DECLARE name CURSOR FOR query`.
    Declare(String, String),
    /// `FETCH count FROM name`; without a count: all.
    Fetch(String, Option<usize>),
    /// `CLOSE name`; without a name: all.
    Close(Option<String>),
}

/// Commands that are accepted without effect, with the tag that answers them.
const WITHOUT_EFFECT: [(&str, &str); 12] = [
    ("SET", "SET"),
    ("RESET", "RESET"),
    ("BEGIN", "BEGIN"),
    ("START TRANSACTION", "BEGIN"),
    ("COMMIT", "COMMIT"),
    ("END", "COMMIT"),
    ("ROLLBACK", "ROLLBACK"),
    ("ABORT", "ROLLBACK"),
    ("DISCARD", "DISCARD ALL"),
    ("DEALLOCATE", "DEALLOCATE"),
    ("SAVEPOINT", "SAVEPOINT"),
    ("RELEASE", "RELEASE"),
];

impl Statement {
    /// What one statement is, by its first words.
    pub fn of(sql: &str) -> Self {
        let sql = sql.trim().trim_end_matches(';').trim();
        let words: Vec<&str> = sql.split_whitespace().collect();
        let begins = |command: &str| {
            let mut words = words.iter();
            command.split(' ').all(|part| {
                words
                    .next()
                    .is_some_and(|word| word.eq_ignore_ascii_case(part))
            })
        };
        if begins("SET")
            && let Some(zone) = zone(&words[1..]).filter(|zone| !is_utc(zone))
        {
            return Self::Zone(zone);
        }
        if let Some((_, tag)) = WITHOUT_EFFECT.iter().find(|(command, _)| begins(command)) {
            return Self::Nothing(tag);
        }
        if begins("DECLARE")
            && let Some((name, query)) = declared(sql)
        {
            return Self::Declare(name, query);
        }
        if begins("FETCH")
            && let Some((name, count)) = fetched(&words[1..])
        {
            return Self::Fetch(name, count);
        }
        if begins("CLOSE") && words.len() == 2 {
            let all = words[1].eq_ignore_ascii_case("ALL");
            return Self::Close((!all).then(|| cursor_name(words[1])));
        }
        if always_empty(sql) {
            return Self::Empty;
        }
        if begins("SHOW") && !begins("SHOW TABLES") && !begins("SHOW COLUMNS") {
            return Self::Show(words[1..].join(" ").to_lowercase());
        }
        Self::Query(sql.to_owned())
    }
}

/// The zone of `SET [SESSION | LOCAL] {TIME ZONE | TimeZone {TO | =}} zone`, without its first word.
fn zone(words: &[&str]) -> Option<String> {
    let text = words.join(" ").replace('=', " = ");
    let mut words = text.split_whitespace().peekable();
    let is = |word: &&str, name: &str| word.eq_ignore_ascii_case(name);
    words.next_if(|word| is(word, "SESSION") || is(word, "LOCAL"));
    match words.next()? {
        word if is(&word, "TIME") && words.next_if(|word| is(word, "ZONE")).is_some() => {}
        word if is(&word, "TimeZone") => {
            words.next_if(|word| is(word, "TO") || *word == "=")?;
        }
        _ => return None,
    }
    let zone = words.collect::<Vec<_>>().join(" ");
    Some(zone.trim_matches(['\'', '"']).to_owned())
}

/// Name and query of `DECLARE name … CURSOR … FOR query`.
fn declared(sql: &str) -> Option<(String, String)> {
    let word = |from: usize| {
        let begin = from + sql[from..].find(|c: char| !c.is_whitespace())?;
        let end = sql[begin..]
            .find(char::is_whitespace)
            .map_or(sql.len(), |end| begin + end);
        Some((&sql[begin..end], end))
    };
    let (name, mut at) = word("DECLARE".len())?;
    let mut cursor = false;
    loop {
        let (next, end) = word(at)?;
        cursor |= next.eq_ignore_ascii_case("CURSOR");
        if cursor && next.eq_ignore_ascii_case("FOR") {
            return Some((cursor_name(name), sql[end..].trim().to_owned()));
        }
        at = end;
    }
}

/// Name and count of `FETCH [NEXT | [FORWARD] [count | ALL]] [FROM | IN] name`, without its first word.
fn fetched(words: &[&str]) -> Option<(String, Option<usize>)> {
    let (name, words) = words.split_last()?;
    let mut count = Some(1);
    for word in words {
        match word.to_ascii_uppercase().as_str() {
            "NEXT" | "FORWARD" | "FROM" | "IN" => {}
            "ALL" => count = None,
            number => count = Some(number.parse().ok()?),
        }
    }
    Some((cursor_name(name), count))
}

/// A name without its quotes; without quotes, case does not count.
pub fn cursor_name(name: &str) -> String {
    match name
        .strip_prefix('"')
        .and_then(|name| name.strip_suffix('"'))
    {
        Some(name) => name.replace("\"\"", "\""),
        None => name.to_lowercase(),
    }
}

/// The answer to a statement without effect.
pub fn nothing(tag: &'static str) -> Response {
    match tag {
        "BEGIN" => Response::TransactionStart(Tag::new(tag)),
        "COMMIT" | "ROLLBACK" => Response::TransactionEnd(Tag::new(tag)),
        _ => Response::Execution(Tag::new(tag)),
    }
}

/// The value of a setting that drivers ask for.
pub fn setting(name: &str) -> &'static str {
    match name {
        "transaction isolation level" | "transaction_isolation" => "read committed",
        "transaction_read_only" | "default_transaction_read_only" => "on",
        "server_version" => "16.0 (Rutter)",
        "server_version_num" => "160000",
        "standard_conforming_strings" | "integer_datetimes" => "on",
        "client_encoding" | "server_encoding" => "UTF8",
        "timezone" | "time zone" => "UTC",
        "datestyle" => "ISO, MDY",
        "search_path" => "public",
        "max_identifier_length" => "63",
        _ => "",
    }
}

/// The statements of a text, split at semicolons outside of quotes and comments.
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
    parts.retain(|part| !part.trim().is_empty());
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
        let query = Statement::of(" SELECT setting;");
        assert_eq!(query, Statement::Query("SELECT setting".into()));
    }

    #[test]
    fn cursors_are_declared_read_and_closed() {
        let declare = "declare C no scroll cursor for\nSELECT 'x'";
        assert_eq!(
            Statement::of(declare),
            Statement::Declare("c".into(), "SELECT 'x'".into())
        );
        assert_eq!(
            Statement::of("FETCH FORWARD 10 FROM \"C\""),
            Statement::Fetch("C".into(), Some(10))
        );
        assert_eq!(
            Statement::of("fetch all in c"),
            Statement::Fetch("c".into(), None)
        );
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
        assert!(split(" ; ").is_empty());
    }
}
