//! AS paths as strings: `64500 64501 {64502,64503}`.

use datafusion::logical_expr::ScalarUDF;
use rutter_pgfront::{Body, text_function as function};

/// The functions of this file.
pub fn functions() -> Vec<ScalarUDF> {
    vec![
        function("origin_as", Body::Number(origin_as)),
        function("path_len", Body::Number(path_len)),
        function("path_contains", Body::Test(contains)),
        function(
            "path_first",
            Body::Number(|path| path.split(' ').next()?.parse().ok()),
        ),
        function("path_prepends", Body::Number(prepends)),
    ]
}

/// The last AS; `None` if the path is empty or ends in a set.
fn origin_as(path: &str) -> Option<i64> {
    path.rsplit(' ').next()?.parse().ok()
}

/// The length as the decision process counts it: a set counts one, a confederation segment nothing (RFC 5065). `?`, the
/// unreadable end of a malformed path, does not count.
fn path_len(path: &str) -> Option<i64> {
    let mut in_confederation = false;
    let mut len = 0;
    for word in path.split(' ').filter(|word| !matches!(*word, "" | "?")) {
        in_confederation |= word.starts_with(['(', '[']);
        len += i64::from(!in_confederation);
        in_confederation &= !word.ends_with([')', ']']);
    }
    Some(len)
}

fn contains(path: &str, asn: &str) -> Option<bool> {
    let asn: u32 = asn.parse().ok()?;
    let mut words = path.split(|c: char| !c.is_ascii_digit());
    Some(words.any(|word| word.parse() == Ok(asn)))
}

/// The number of AS numbers that repeat the one before.
fn prepends(path: &str) -> Option<i64> {
    let words: Vec<&str> = path.split(' ').collect();
    Some(words.windows(2).filter(|pair| pair[0] == pair[1]).count() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_functions_parse_as_paths() {
        assert_eq!(origin_as("64500 64501"), Some(64501));
        assert_eq!(origin_as("64500 {1,2}"), None);
        assert_eq!(origin_as(""), None);
        assert_eq!(path_len("(65000 65001) 1 2 {3,4}"), Some(3));
        assert_eq!(path_len(""), Some(0));
        assert_eq!((path_len("1 2 ?"), origin_as("1 2 ?")), (Some(2), None));
        assert_eq!(contains("1 22 {3,4}", "4"), Some(true));
        assert_eq!(contains("1 22 {3,4}", "2"), Some(false));
        assert_eq!(prepends("1 1 1 2"), Some(2));
    }
}
