//! Syntax that the parser lacks: `TABLE routes` becomes `SELECT * FROM routes`, and `inet '10.0.0.1'` a cast.

use std::borrow::Cow;
use std::ops::Range;

use crate::dialect::lexer::{Kind, pieces};

/// Rewrites a statement for the parser.
pub fn spelled(sql: &str) -> Cow<'_, str> {
    let mut at = 0;
    let mut before = Before::Begin;
    let mut found = Vec::new();
    for (kind, piece) in pieces(sql) {
        match kind {
            Kind::Comment => {}
            Kind::Quoted => {
                if let Some(name) = typed(&sql[..at]).filter(|_| piece.starts_with('\'')) {
                    let cast = format!("CAST({piece} AS {})", &sql[name.clone()]);
                    found.push((name.start..at + piece.len(), cast));
                }
                before = Before::Other;
            }
            Kind::Code => {
                for (offset, word) in words(piece) {
                    let is_table = word.eq_ignore_ascii_case("TABLE");
                    let begin = at + offset;
                    if is_table && before == Before::Begin && is_named(&sql[begin + word.len()..]) {
                        found.push((begin..begin + word.len(), "SELECT * FROM".to_owned()));
                    }
                    before = Before::of(word);
                }
            }
        }
        at += piece.len();
    }
    if found.is_empty() {
        return Cow::Borrowed(sql);
    }
    let (mut out, mut from) = (String::with_capacity(sql.len() + 16), 0);
    for (place, words) in found {
        out.push_str(&sql[from..place.start]);
        out.push_str(&words);
        from = place.end;
    }
    out.push_str(&sql[from..]);
    Cow::Owned(out)
}

/// The context before a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// A query may follow.
    Begin,
    Other,
}

impl Before {
    fn of(word: &str) -> Self {
        let is = |known: &&str| known.eq_ignore_ascii_case(word);
        match ["(", ")", "UNION", "EXCEPT", "INTERSECT", "ALL"]
            .iter()
            .any(is)
        {
            true => Self::Begin,
            false => Self::Other,
        }
    }
}

/// Types that the parser reads as column names.
const TYPES: [&str; 2] = ["inet", "cidr"];

/// Finds one of the types at the end of a text.
fn typed(before: &str) -> Option<Range<usize>> {
    let code = before.trim_end();
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let begin = code.trim_end_matches(is_name).len();
    let is_type = TYPES
        .iter()
        .any(|name| name.eq_ignore_ascii_case(&code[begin..]));
    let is_part = code[..begin].ends_with(['.', '"', '$', '@']);
    (is_type && !is_part).then_some(begin..code.len())
}

/// Returns whether a table name follows.
fn is_named(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '"')
}

/// The words and characters, each with its position.
fn words(text: &str) -> Vec<(usize, &str)> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let (mut words, mut at) = (Vec::new(), 0);
    while let Some(first) = text[at..].chars().next() {
        let end = match is_name(first) {
            true => text[at..].find(|c| !is_name(c)).unwrap_or(text.len() - at),
            false => first.len_utf8(),
        };
        if !first.is_whitespace() {
            words.push((at, &text[at..at + end]));
        }
        at += end;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_queries_and_typed_texts_casts() {
        for (sql, expected) in [
            ("TABLE routes", "SELECT * FROM routes"),
            (
                "/* x */ table \"R\" LIMIT 1",
                "/* x */ SELECT * FROM \"R\" LIMIT 1",
            ),
            (
                "WITH t AS (TABLE best) TABLE t UNION ALL TABLE t",
                "WITH t AS (SELECT * FROM best) SELECT * FROM t UNION ALL SELECT * FROM t",
            ),
            ("SELECT 1 AS table FROM t", "SELECT 1 AS table FROM t"),
            (
                "SELECT '(TABLE x)', (TABLE_x)",
                "SELECT '(TABLE x)', (TABLE_x)",
            ),
            ("CREATE TABLE x (a int)", "CREATE TABLE x (a int)"),
            ("SELECT * FROM TABLE(f(1))", "SELECT * FROM TABLE(f(1))"),
            (
                "SELECT Inet '10.0.0.1', x <<= cidr  '10.0.0.0/8'",
                "SELECT CAST('10.0.0.1' AS Inet), x <<= CAST('10.0.0.0/8' AS cidr)",
            ),
            ("SELECT inet, 'inet ''x'''", "SELECT inet, 'inet ''x'''"),
            ("SELECT x AS inet FROM t", "SELECT x AS inet FROM t"),
        ] {
            assert_eq!(spelled(sql), expected);
        }
    }
}
