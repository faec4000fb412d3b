//! `LIKE` with a computed or long pattern. DataFusion compiles such patterns to regular expressions without a bound.

use datafusion::logical_expr::ScalarUDF;

use super::text_function::{Body, function};

/// `a LIKE b`.
pub const LIKE: &str = "text_like";
/// `a ILIKE b`.
pub const ILIKE: &str = "text_ilike";

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
