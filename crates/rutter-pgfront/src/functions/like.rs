//! `LIKE` with a computed or long pattern. DataFusion compiles such patterns to regular expressions without a bound.

use datafusion::logical_expr::ScalarUDF;

use super::text_function::{Body, function};

/// `a LIKE b`.
pub const LIKE: &str = "text_like";
/// `a ILIKE b`.
pub const ILIKE: &str = "text_ilike";

/// Rewrites a pattern with another escape character to `\`.
pub const ESCAPED: &str = "text_escaped";

/// The functions of this file.
pub fn functions() -> Vec<ScalarUDF> {
    let without_case =
        |text: &str, pattern: &str| Some(is_like(&text.to_lowercase(), &pattern.to_lowercase()));
    vec![
        function(
            LIKE,
            Body::Test(|text, pattern| Some(is_like(text, pattern))),
        ),
        function(ILIKE, Body::Test(without_case)),
        function(
            ESCAPED,
            Body::TextOfTwo(|pattern, escape| Some(escaped(pattern, escape))),
        ),
    ]
}

/// Returns whether a whole string matches: `%` is any string, `_` any character, and `\` escapes.
fn is_like(mut text: &str, mut pattern: &str) -> bool {
    // Where to retry after the last `%`, and the pattern behind it.
    let mut again: Option<(&str, &str)> = None;
    loop {
        if let Some(rest) = pattern.strip_prefix('%') {
            (again, pattern) = (Some((text, rest)), rest);
            continue;
        }
        let mut wanted = pattern.chars();
        let mut signs = text.chars();
        let fits = match (wanted.next(), signs.next()) {
            (None, None) => return true,
            (Some('_'), Some(_)) => true,
            (Some('\\'), Some(sign)) => wanted.next().unwrap_or('\\') == sign,
            (Some(one), Some(sign)) => one == sign,
            (None, Some(_)) | (Some(_), None) => false,
        };
        if fits {
            (text, pattern) = (signs.as_str(), wanted.as_str());
            continue;
        }
        let Some((before, rest)) = again else {
            return false;
        };
        let mut taken = before.chars();
        if taken.next().is_none() {
            return false;
        }
        (text, pattern) = (taken.as_str(), rest);
        again = Some((text, rest));
    }
}

fn escaped(pattern: &str, escape: &str) -> String {
    let mut signs = pattern.chars();
    let mut out = String::with_capacity(pattern.len());
    while let Some(sign) = signs.next() {
        let is_escape = escape.starts_with(sign);
        let itself = if is_escape { signs.next() } else { None };
        match itself.or((sign == '\\').then_some(sign)) {
            Some(itself) => out.extend(['\\', itself]),
            None if is_escape => {}
            None => out.push(sign),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_escaped_by_any_sign() {
        for (pattern, expected) in [("pg/_%", "pg\\_%"), ("a//b\\c", "a\\/b\\\\c"), ("a/", "a")] {
            assert_eq!(escaped(pattern, "/"), expected);
        }
        assert_eq!(escaped("a\\", ""), "a\\\\");
    }

    #[test]
    fn texts_are_like_patterns() {
        for (text, pattern, expected) in [
            ("", "", true),
            ("", "%", true),
            ("", "_", false),
            ("abc", "abc", true),
            ("abc", "ab", false),
            ("ab", "abc", false),
            ("abcabd", "%ab_", true),
            ("abcabd", "a%c%d", true),
            ("abcabd", "a%e%d", false),
            ("a%b", "a\\%b", true),
            ("axb", "a\\%b", false),
            ("a\\", "a\\", true),
            ("äöü", "_ö_", true),
            ("aaa", "%a%a%a%", true),
            ("aa", "%a%a%a%", false),
        ] {
            assert_eq!(is_like(text, pattern), expected, "{text} {pattern}");
        }
    }
}
