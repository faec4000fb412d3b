//! Lists as PostgreSQL writes and measures them.

use datafusion::logical_expr::sqlparser::ast::{Expr, Function};

use super::adapt::parsed;
use super::constants::arguments;

/// What measures and changes lists, in the engine's words: its numbers have no sign, its empty lists a length, and of
/// equal items it changes one.
pub fn said(name: &str, function: &Function) -> Option<Expr> {
    let value = match (name, arguments(function).as_slice()) {
        ("array_upper", [Expr::Array(list), _]) => list.elem.len().to_string(),
        ("array_upper" | "array_length", [list, dimension]) => {
            format!("CAST(NULLIF(array_length({list}, {dimension}), 0) AS INT)")
        }
        ("cardinality", [list]) => format!("CAST(cardinality({list}) AS INT)"),
        ("array_remove", [list, item]) => format!("array_remove_all({list}, {item})"),
        ("array_replace", [list, item, by]) => format!("array_replace_all({list}, {item}, {by})"),
        ("array_lower", [_, _]) => "1".to_owned(),
        _ => return None,
    };
    parsed(&value)
}

/// `{a,"b c"}` as an expression.
pub fn listed(text: &str) -> Option<String> {
    let items = items(text)?;
    let written = items.iter().map(|item| match item {
        None => "NULL".to_owned(),
        Some(item) => format!("'{}'", item.replace('\'', "''")),
    });
    Some(format!("ARRAY[{}]", written.collect::<Vec<_>>().join(", ")))
}

/// The items of `{a,"b c",NULL}`.
pub fn items(text: &str) -> Option<Vec<Option<String>>> {
    let inner = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    let (mut items, mut item, mut quoted, mut chars) = (Vec::new(), None, false, inner.chars());
    let (mut was_quoted, mut ended) = (false, Vec::new());
    while let Some(c) = chars.next() {
        let text: &mut String = item.get_or_insert_default();
        match c {
            '"' => (quoted, was_quoted) = (!quoted, true),
            '\\' => text.extend(chars.next()),
            '{' | '}' if !quoted => return None,
            // Space around an item is not of it.
            c if c.is_whitespace() && !quoted && (was_quoted || text.is_empty()) => {}
            ',' if !quoted => {
                items.push(item.replace(String::new())?);
                ended.push(std::mem::take(&mut was_quoted));
            }
            c => text.push(c),
        }
    }
    items.extend(item);
    ended.push(was_quoted);
    let items = items.into_iter().zip(ended);
    let value = |(item, quoted): (String, bool)| match quoted {
        true => Some(item),
        false if item.trim_end().eq_ignore_ascii_case("NULL") => None,
        false => Some(item.trim_end().to_owned()),
    };
    Some(items.map(value).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_lists() {
        let some = |text: &str| Some(text.to_owned());
        for (text, expected) in [
            ("{}", Some(vec![])),
            (
                r#" {a, "b c" ,"NULL",null} "#,
                Some(vec![some("a"), some("b c"), some("NULL"), None]),
            ),
            (r#"{"a\"b",c\,d}"#, Some(vec![some("a\"b"), some("c,d")])),
            ("{{a}}", None),
            ("a,b", None),
        ] {
            assert_eq!(items(text), expected, "{text}");
        }
    }
}
