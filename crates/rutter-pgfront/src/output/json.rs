//! Values as JSON, converted from PostgreSQL's text format.

use std::collections::HashSet;
use std::io::{self, Write};

use pgwire::api::Type;
use postgres_types::Kind;

/// The names of columns as keys of an object. A second `peer` becomes `peer_2`.
pub fn keys<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let names: Vec<&str> = names.into_iter().collect();
    let written: HashSet<&str> = names.iter().copied().collect();
    let mut given = HashSet::new();
    let mut key = |name: &&str| {
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let others = numbered.filter(|key| !written.contains(key.as_str()));
        let mut keys = std::iter::once((*name).to_owned()).chain(others);
        // A free number always exists.
        keys.find(|key| given.insert(key.clone()))
            .unwrap_or_default()
    };
    names.iter().map(&mut key).collect()
}

/// Writes a string.
pub fn text(out: &mut impl Write, text: &str) -> io::Result<()> {
    Ok(serde_json::to_writer(out, text)?)
}

/// Writes a value of a type. Numbers keep all of their digits.
pub fn value(out: &mut impl Write, value: Option<&str>, kind: &Type) -> io::Result<()> {
    let Some(value) = value else {
        return out.write_all(b"null");
    };
    match *kind {
        Type::BOOL => out.write_all(if value == "t" { b"true" } else { b"false" }),
        Type::INT2 | Type::INT4 | Type::INT8 | Type::FLOAT8 | Type::NUMERIC if is_number(value) => {
            out.write_all(value.as_bytes())
        }
        _ => match kind.kind() {
            Kind::Array(item) => list(out, value, item),
            _ => text(out, value),
        },
    }
}

/// JSON has no `NaN` and no `Infinity`.
fn is_number(text: &str) -> bool {
    serde_json::from_str::<serde_json::Number>(text).is_ok()
}

/// Converts a list of PostgreSQL: `{a,"b c",NULL,{d}}`.
fn list(out: &mut impl Write, text: &str, kind: &Type) -> io::Result<()> {
    items(out, &mut text.chars().peekable(), kind)
}

fn items(
    out: &mut impl Write,
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    kind: &Type,
) -> io::Result<()> {
    chars.next_if_eq(&'{');
    out.write_all(b"[")?;
    while let Some(&c) = chars.peek().filter(|c| **c != '}') {
        match c {
            ',' => {
                chars.next();
                out.write_all(b",")?;
            }
            '{' => items(out, chars, kind)?,
            _ => {
                let (item, is_quoted) = item(chars);
                let is_null = !is_quoted && item == "NULL";
                value(out, (!is_null).then_some(item.as_str()), kind)?;
            }
        }
    }
    chars.next();
    out.write_all(b"]")
}

/// An item, and whether it is quoted.
fn item(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> (String, bool) {
    let mut item = String::new();
    let is_quoted = chars.next_if_eq(&'"').is_some();
    while let Some(c) = chars.next_if(|c| is_quoted || !matches!(c, ',' | '}')) {
        match c {
            '"' if is_quoted => break,
            '\\' => item.extend(chars.next()),
            c => item.push(c),
        }
    }
    (item, is_quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keys_are_unique() {
        let names = ["peer", "peer", "x", "peer_2", "peer", "x", "peer_2"];
        let expected = ["peer", "peer_3", "x", "peer_2", "peer_4", "x_2", "peer_2_2"];
        assert_eq!(keys(names), expected);
    }

    #[test]
    fn values_are_valid_json() {
        let odd = r#"{64500:1,"a b","c,}\"\\",NULL,"NULL",""}"#;
        for (text, kind, expected) in [
            ("{}", Type::TEXT_ARRAY, "[]"),
            (
                odd,
                Type::TEXT_ARRAY,
                r#"["64500:1","a b","c,}\"\\",null,"NULL",""]"#,
            ),
            ("{1,NULL,-3}", Type::INT4_ARRAY, "[1,null,-3]"),
            ("{t,f}", Type::BOOL_ARRAY, "[true,false]"),
            ("{{1,2},{3}}", Type::INT8_ARRAY, "[[1,2],[3]]"),
            ("18446744073709551615", Type::INT8, "18446744073709551615"),
            (
                "0.12345678901234567890123",
                Type::NUMERIC,
                "0.12345678901234567890123",
            ),
            ("NaN", Type::FLOAT8, "\"NaN\""),
            ("1e+15", Type::FLOAT8, "1e+15"),
            ("t", Type::BOOL, "true"),
            ("{t}", Type::TEXT, "\"{t}\""),
        ] {
            let mut out = Vec::new();
            value(&mut out, Some(text), &kind).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{text}");
        }
    }
}
