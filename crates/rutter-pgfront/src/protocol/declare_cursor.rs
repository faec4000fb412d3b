//! Parses `DECLARE` and `FETCH`.

use super::statement::cursor_name;

/// `DECLARE name … CURSOR … FOR query`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The name.
    pub name: String,
    /// The query.
    pub sql: String,
}

impl Declared {
    /// Parses the text after `DECLARE`. An error gives the reason if the form is not supported.
    pub fn of(text: &str) -> Option<Result<Self, &'static str>> {
        let word = |from: usize| {
            let begin = from + text[from..].find(|c: char| !c.is_whitespace())?;
            let end = text[begin..]
                .find(char::is_whitespace)
                .map_or(text.len(), |end| begin + end);
            Some((&text[begin..end], end))
        };
        let (name, mut at) = word(0)?;
        let mut is_cursor = false;
        loop {
            let (next, end) = word(at)?;
            match (next.to_ascii_uppercase().as_str(), is_cursor) {
                ("BINARY", false) => return Some(Err(BINARY)),
                ("CURSOR", _) => is_cursor = true,
                ("WITH", true) => return Some(Err(HOLD)),
                ("FOR", true) => {
                    return Some(Ok(Self {
                        name: cursor_name(name),
                        sql: text[end..].trim().to_owned(),
                    }));
                }
                _ => {}
            }
            at = end;
        }
    }
}

/// Parses `FETCH [NEXT | [FORWARD] [count | ALL]] [FROM | IN] name` without its first word. An error gives the
/// reason if the form is not supported.
pub fn fetched(words: &[&str]) -> Option<Result<(String, Option<usize>), &'static str>> {
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
    Some(Ok((cursor_name(name), count)))
}

const BACKWARD: &str = "cursors are read forwards: write FETCH count FROM name";
const HOLD: &str = "a cursor ends with its transaction: WITH HOLD is not offered";
const BINARY: &str =
    "BINARY cursors are not offered: ask for the binary form when values are bound";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declare_cursor_is_parsed() {
        for text in [
            " C no scroll cursor for
SELECT 'x'",
            " \"c\" CURSOR WITHOUT HOLD FOR SELECT 'x'",
        ] {
            let expected = Declared {
                name: "c".to_owned(),
                sql: "SELECT 'x'".to_owned(),
            };
            assert_eq!(Declared::of(text), Some(Ok(expected)), "{text}");
        }
        let held = " c INSENSITIVE CURSOR
with  hold for SELECT 'x'";
        assert_eq!(Declared::of(held), Some(Err(HOLD)));
        assert_eq!(
            Declared::of(" c BINARY CURSOR FOR SELECT 1"),
            Some(Err(BINARY))
        );
        assert_eq!(Declared::of(" c CURSOR"), None);
    }

    #[test]
    fn rows_are_fetched_forwards() {
        let forwards = |count| Some(Ok(("c".to_owned(), count)));
        assert_eq!(fetched(&["FORWARD", "10", "FROM", "C"]), forwards(Some(10)));
        assert_eq!(fetched(&["forward", "all", "in", "c"]), forwards(None));
        for back in ["PRIOR", "LAST", "-1", "BACKWARD"] {
            assert_eq!(fetched(&[back, "FROM", "c"]), Some(Err(BACKWARD)), "{back}");
        }
        assert_eq!(fetched(&["x", "c"]), None);
    }
}
