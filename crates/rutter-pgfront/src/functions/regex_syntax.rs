//! Translates PostgreSQL's regular expressions and replacements to those of DataFusion.

use std::borrow::Cow;

use datafusion::arrow::array::{AsArray as _, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{ScalarValue, exec_err};
use datafusion::error::Result;
use datafusion::logical_expr::ColumnarValue;

/// Returns whether a function takes a regular expression as its second argument.
pub fn are_taken(function: &str) -> bool {
    function.starts_with("regexp_")
}

/// Translates the arguments of a function.
///
/// # Errors
/// If a replacement has no equivalent.
pub fn translate(function: &str, arguments: &mut [ColumnarValue]) -> Result<()> {
    if let Some(pattern) = arguments.get_mut(1) {
        each(pattern, |pattern| Ok(translated(pattern)))?;
    }
    match arguments.get_mut(2) {
        Some(by) if function == "regexp_replace" => each(by, replacement),
        _ => Ok(()),
    }
}

/// Maps strings and keeps their type: DataFusion requires the type of the searched string.
fn each(value: &mut ColumnarValue, of: impl Fn(&str) -> Result<Cow<'_, str>>) -> Result<()> {
    let kind = value.data_type();
    match value {
        ColumnarValue::Scalar(text) => {
            if let Some(Some(text)) = text.try_as_str() {
                let text = of(text)?.into_owned();
                *value = ColumnarValue::Scalar(ScalarValue::Utf8(Some(text)).cast_to(&kind)?);
            }
        }
        ColumnarValue::Array(texts) => {
            let texts = cast(texts, &DataType::Utf8)?;
            let texts = texts.as_string::<i32>().iter();
            let texts = texts.map(|text| text.map(&of).transpose());
            let texts = texts.collect::<Result<StringArray>>()?;
            *value = ColumnarValue::Array(cast(&texts, &kind)?);
        }
    }
    Ok(())
}

/// Translates an expression. DataFusion's `.` does not match line feeds, its word boundaries differ, and its sets have operators.
pub fn translated(pattern: &str) -> Cow<'_, str> {
    if !pattern.contains(['.', '[', '\\']) || pattern == ".*" {
        return Cow::Borrowed(pattern);
    }
    let mut out = String::with_capacity(pattern.len() + 8);
    let (mut rest, mut has_point) = (pattern, false);
    while let Some(first) = rest.chars().next() {
        let (said, octets) = match first {
            '\\' => escaped(rest),
            '[' => set(rest),
            first => {
                has_point |= first == '.';
                (rest[..first.len_utf8()].into(), first.len_utf8())
            }
        };
        out.push_str(&said);
        rest = &rest[octets..];
    }
    match has_point {
        true => format!("(?s){out}").into(),
        false => out.into(),
    }
}

/// Translates an escape. Returns it with the bytes that it takes.
fn escaped(text: &str) -> (Cow<'_, str>, usize) {
    let said = match text.as_bytes().get(1) {
        Some(b'm') => r"\b{start}",
        Some(b'M') => r"\b{end}",
        Some(b'y') => r"\b",
        Some(b'Y') => r"\B",
        Some(b'Z') => r"\z",
        Some(b'<') => "<",
        Some(b'>') => ">",
        Some(b'b') => r"\x08",
        Some(b'B') => r"\\",
        Some(b'e') => r"\x1b",
        Some(b'd') => "[0-9]",
        Some(b'D') => "[^0-9]",
        _ => {
            let octets = text.chars().take(2).map(char::len_utf8).sum();
            return (text[..octets].into(), octets);
        }
    };
    (said.into(), 2)
}

/// Translates `[…]`. Returns it with the bytes that it takes.
fn set(text: &str) -> (Cow<'_, str>, usize) {
    for (word, said) in [("[[:<:]]", r"\b{start}"), ("[[:>:]]", r"\b{end}")] {
        if text.starts_with(word) {
            return (said.into(), word.len());
        }
    }
    let mut out = String::from("[");
    let (mut at, mut is_begin) = (1, true);
    while let Some(sign) = text[at..].chars().next() {
        let rest = &text[at..];
        let octets = match (sign, named(rest)) {
            ('[', Some((Some(class), octets))) => {
                out.push_str(&class);
                octets
            }
            // An unknown name: DataFusion reports the error.
            ('[', Some((None, _))) => return ("[".into(), text.len()),
            ('\\', _) => {
                let octets = rest.chars().take(2).map(char::len_utf8).sum();
                out.push_str(match &rest[..octets] {
                    r"\<" => "<",
                    r"\>" => ">",
                    r"\b" => r"\x08",
                    r"\B" => r"\\",
                    r"\d" => "0-9",
                    escaped => escaped,
                });
                octets
            }
            (']', _) if !is_begin => {
                out.push(']');
                return (out.into(), at + 1);
            }
            ('^', _) if at == 1 => {
                out.push('^');
                at += 1;
                continue;
            }
            ('[' | ']' | '&' | '~', _) => {
                out.extend(['\\', sign]);
                1
            }
            (sign, _) => {
                out.push(sign);
                sign.len_utf8()
            }
        };
        is_begin = false;
        at += octets;
    }
    // Not closed: DataFusion reports the error.
    (text.into(), text.len())
}

/// Translates `[:alpha:]`, `[.a.]` and `[=a=]` in a set. Letters are ASCII letters: Unicode tables are
/// so large that `[[:alpha:]]{2,10}` would exceed every bound.
fn named(text: &str) -> Option<(Option<Cow<'_, str>>, usize)> {
    let kind = *text
        .as_bytes()
        .get(1)
        .filter(|kind| b":.=".contains(kind))?;
    let from = 2 + text[2..].chars().next()?.len_utf8();
    let end = text[from..].find(&format!("{}]", char::from(kind)))? + from;
    let class = match kind {
        b':' => Some(text[..end + 2].into()),
        _ => one(&text[2..end]).map(|sign| regex::escape(sign).into()),
    };
    Some((class, end + 2))
}

/// A name of one character.
fn one(name: &str) -> Option<&str> {
    let mut signs = name.chars();
    signs.next().filter(|_| signs.next().is_none())?;
    Some(name)
}

/// Translates a replacement: `\1` is a group, `\&` the whole match, and `$` a plain character.
fn replacement(text: &str) -> Result<Cow<'_, str>> {
    if !text.contains(['$', '\\']) {
        return Ok(Cow::Borrowed(text));
    }
    let mut out = String::with_capacity(text.len() + 8);
    let mut signs = text.chars().peekable();
    while let Some(sign) = signs.next() {
        match (sign, signs.peek()) {
            ('$', _) => out.push_str("$$"),
            ('\\', Some(group @ '1'..='9')) => {
                out.extend(["${", group.encode_utf8(&mut [0; 4]), "}"]);
                signs.next();
            }
            ('\\', Some('&')) => {
                out.push_str("${0}");
                signs.next();
            }
            ('\\', next) => {
                if next == Some(&'\\') {
                    signs.next();
                }
                if signs.peek().is_some_and(char::is_ascii_digit) {
                    return exec_err!(
                        "a backslash before a digit is not written by regexp_replace: write replace(…) for it"
                    );
                }
                out.push('\\');
            }
            (sign, _) => out.push(sign),
        }
    }
    Ok(out.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_postgresqls() {
        for (pattern, expected) in [
            ("^64501 ", "^64501 "),
            ("a.b", "(?s)a.b"),
            (r"a\.b", r"a\.b"),
            ("a[.]b", "a[.]b"),
            (".*", ".*"),
            (r"\m174\M|\y3\Y\Z", r"\b{start}174\b{end}|\b3\B\z"),
            ("[[:<:]]174[[:>:]]", r"\b{start}174\b{end}"),
            ("[[:digit:]_]+", "[[:digit:]_]+"),
            (r"[[.é.][=-=][.].]]", r"[é\-\]]"),
            ("[[.hyphen.]]", "["),
            (r"a\<b\>\b\B\d", r"a<b>\x08\\[0-9]"),
            (r"[\<\b\d]", r"[<\x080-9]"),
            ("[^]a[&&~-]", r"[^\]a\[\&\&\~-]"),
            (r"[\]é]\é", r"[\]é]\é"),
            ("[a", "[a"),
            ("\\", "\\"),
        ] {
            assert_eq!(translated(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn groups_are_written_behind_backslashes() {
        for (text, expected) in [
            ("$1 ${x}", "$$1 $${x}"),
            (r"\1\12\&", "${1}${1}2${0}"),
            (r"\\ \x", r"\ \x"),
            ("é", "é"),
        ] {
            assert_eq!(replacement(text).unwrap(), expected, "{text}");
        }
        for text in [r"\\1", r"\0"] {
            assert!(replacement(text).is_err(), "{text}");
        }
    }
}
