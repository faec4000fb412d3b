//! What tools write that the engine's dialect has no words for, said in its own.
//!
//! Only queries about the catalogues are touched. Each idiom is one that `psql` or Grafana sends word for word.

use crate::pieces::{Kind, pieces};

/// Catalogues of things that do not exist here: who asks is told that there are none.
const EMPTY: [&str; 8] = [
    "pg_policy",
    "pg_statistic_ext",
    "pg_publication",
    "pg_inherits",
    "pg_trigger",
    "pg_foreign_table",
    "pg_partitioned_table",
    "pg_rewrite",
];

/// Subqueries by how they begin, and what they come to here: no column has a default or a collation of its own, and
/// the search path is the one schema.
const SUBQUERIES: [(&str, &str); 4] = [
    ("SELECT pg_catalog.pg_get_expr(", "NULL"),
    ("SELECT c.collname FROM pg_catalog.pg_collation c", "NULL"),
    ("SELECT CASE WHEN trim(s[i]) = '\"$user\"'", "('public')"),
    ("SELECT CASE WHEN TRIM(s[i]) = '\"$user\"'", "('public')"),
];

/// Types that exist only in the catalogues: their texts will do.
const CASTS: [&str; 8] = [
    "::pg_catalog.regtype",
    "::pg_catalog.regclass",
    "::pg_catalog.text",
    "::pg_catalog.name",
    "::regclass",
    "::regtype",
    "::regproc",
    "::name",
];

/// Whether a query reads a catalogue in which nothing can ever be.
pub fn always_empty(sql: &str) -> bool {
    let is_named = |text: &str| {
        EMPTY
            .iter()
            .any(|name| text.contains(&format!("pg_catalog.{name}")))
    };
    pieces(sql)
        .iter()
        .any(|(kind, text)| *kind == Kind::Code && is_named(text))
}

/// The query in the engine's words. Queries that are not about the catalogues stay as they are, and so do literals,
/// quoted names and comments.
pub fn translate(sql: &str) -> String {
    let about = |text: &str| text.contains("pg_") || text.contains("search_path");
    if !about(sql) || sql.contains([HELD, END]) {
        return sql.to_owned();
    }
    let masked = Masked::new(sql);
    let mut text = masked.text.clone();
    for (begin, meaning) in SUBQUERIES {
        text = replace_group(&text, begin, meaning, &masked);
    }
    text = text.replace("COLLATE pg_catalog.default", "");
    text = without_operator(&text);
    for cast in CASTS {
        text = text.replace(cast, "::text");
    }
    text = without_schema(&text);
    for before in ["FROM", "JOIN", "from", "join"] {
        text = text.replace(
            &format!("{before} pg_"),
            &format!("{before} pg_catalog.pg_"),
        );
    }
    text = text.replace("pg_catalog.pg_catalog.", "pg_catalog.");
    masked.unmask(&text)
}

/// Stand around the number of a piece that is held back: signs that no query has.
const HELD: char = '\u{e000}';
const END: char = '\u{e001}';

/// A query without its literals, quoted names and comments: each is a number.
struct Masked<'q> {
    text: String,
    held: Vec<&'q str>,
}

impl<'q> Masked<'q> {
    fn new(sql: &'q str) -> Self {
        let (mut text, mut held) = (String::with_capacity(sql.len()), Vec::new());
        for (kind, piece) in pieces(sql) {
            if kind == Kind::Code {
                text.push_str(piece);
            } else {
                text.push_str(&format!("{HELD}{}{END}", held.len()));
                held.push(piece);
            }
        }
        Self { text, held }
    }

    /// A part of the masked text with what was held back.
    fn unmask(&self, text: &str) -> String {
        let mut parts = text.split(HELD);
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (number, rest) = part.split_once(END).unwrap_or((part, ""));
            let piece = number.parse().ok().and_then(|at: usize| self.held.get(at));
            out.push_str(piece.copied().unwrap_or_default());
            out.push_str(rest);
        }
        out
    }
}

/// Replaces `(begin …)` as a whole; spaces do not count.
fn replace_group(text: &str, begin: &str, meaning: &str, masked: &Masked<'_>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('(') {
        let inner = &rest[open + 1..];
        out.push_str(&rest[..open]);
        let head: String = inner.chars().take(LONGEST_BEGIN).collect();
        match (starts(&masked.unmask(&head), begin), closing(inner)) {
            (true, Some(end)) => {
                out.push_str(meaning);
                rest = &inner[end + 1..];
            }
            _ => {
                out.push('(');
                rest = inner;
            }
        }
    }
    out + rest
}

/// Signs among which a beginning is found, with all its spaces.
const LONGEST_BEGIN: usize = 200;

/// Whether a text starts with another when spaces do not count.
fn starts(text: &str, begin: &str) -> bool {
    let visible = |text: &str| {
        text.chars()
            .filter(|c| !c.is_whitespace())
            .collect::<String>()
    };
    let begin = visible(begin);
    let text: String = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .take(begin.chars().count())
        .collect();
    text == begin
}

/// Where the parenthesis ends that is open at the beginning.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// `OPERATOR(pg_catalog.~)` is `~`.
fn without_operator(text: &str) -> String {
    let mut parts = text.split("OPERATOR(pg_catalog.");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((operator, rest)) => out.extend([operator, rest]),
            None => out.push_str(part),
        }
    }
    out
}

/// Functions without the schema; tables keep it.
fn without_schema(text: &str) -> String {
    const SCHEMA: &str = "pg_catalog.";
    let mut parts = text.split(SCHEMA);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_alphanumeric() && c != '_');
        let calls = end.is_some_and(|end| part[end..].starts_with('('));
        if !calls {
            out.push_str(SCHEMA);
        }
        out.push_str(part);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_of_others_stay_as_they_are() {
        let sql = "SELECT (prefix), '::name' FROM routes WHERE origin = '('";
        assert_eq!(translate(sql), sql);
    }

    #[test]
    fn what_is_quoted_stays_as_it_is() {
        for part in [
            "'x::name FROM pg_class'",
            "\"a::regclass\"",
            "/* OPERATOR(pg_catalog.~) */",
            "-- COLLATE pg_catalog.default",
            "$$pg_catalog.f()$$",
            "'(SELECT pg_catalog.pg_get_expr()'",
        ] {
            let sql = format!("SELECT a::text, {part}\n FROM pg_catalog.pg_class");
            assert_eq!(translate(&sql), sql);
        }
        let masks = "SELECT '\u{e000}0\u{e001}'::name FROM pg_class";
        assert_eq!(translate(masks), masks);
    }

    #[test]
    fn the_words_of_tools_are_said_in_the_engines() {
        assert_eq!(
            translate(
                "SELECT c.oid::pg_catalog.regclass FROM pg_catalog.pg_class c WHERE c.relname OPERATOR(pg_catalog.~) '^(a)$' COLLATE pg_catalog.default AND pg_catalog.pg_table_is_visible(c.oid)"
            ),
            "SELECT c.oid::text FROM pg_catalog.pg_class c WHERE c.relname ~ '^(a)$'  AND pg_table_is_visible(c.oid)"
        );
        assert_eq!(
            translate(
                "x IN (\n SELECT\n CASE WHEN trim(s[i]) = '\"$user\"' THEN f(')') END FROM string_to_array(current_setting('search_path'),',') s) y"
            ),
            "x IN ('public') y"
        );
    }

    #[test]
    fn what_cannot_exist_is_empty() {
        assert!(always_empty(
            "SELECT pol.polname FROM pg_catalog.pg_policy pol"
        ));
        assert!(!always_empty("SELECT 'pg_policy' FROM pg_catalog.pg_class"));
        assert!(!always_empty("SELECT 'pg_catalog.pg_policy' FROM routes"));
    }
}
