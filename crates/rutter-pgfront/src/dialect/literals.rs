//! Literals of lists and bytes in PostgreSQL's text format.

/// Parses `{a,"b c",NULL}`; `None`: not a one-dimensional list.
pub fn items(text: &str) -> Option<Vec<Option<String>>> {
    let inner = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    let (mut items, mut item, mut chars) = (Vec::new(), Item::default(), inner.chars());
    while let Some(c) = chars.next() {
        match c {
            '"' => (item.is_open, item.was_quoted) = (!item.is_open, true),
            '\\' => {
                item.text.push(chars.next()?);
                item.was_quoted = true;
            }
            '{' | '}' if !item.is_open => return None,
            ',' if !item.is_open => items.push(std::mem::take(&mut item).end()),
            // Space around an item is ignored.
            c if c.is_whitespace() && item.is_beside() => {}
            c => item.text.push(c),
        }
    }
    if item.is_open {
        return None;
    }
    if !inner.trim().is_empty() {
        items.push(item.end());
    }
    Some(items)
}

/// An item of a list during parsing.
#[derive(Default)]
struct Item {
    text: String,
    is_open: bool,
    was_quoted: bool,
}

impl Item {
    /// Returns whether the position is before the item or behind its quotes.
    fn is_beside(&self) -> bool {
        !self.is_open && (self.was_quoted || self.text.is_empty())
    }

    fn end(self) -> Option<String> {
        match self.was_quoted {
            true => Some(self.text),
            false if self.text.trim_end().eq_ignore_ascii_case("NULL") => None,
            false => Some(self.text.trim_end().to_owned()),
        }
    }
}

/// Parses the bytes of `\x00ff`.
pub fn octets(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("\\x")?.as_bytes();
    let pairs = digits.chunks(2).map(|pair| {
        let is_pair = pair.len() == 2 && pair.iter().all(u8::is_ascii_hexdigit);
        let pair = std::str::from_utf8(pair).ok().filter(|_| is_pair)?;
        u8::from_str_radix(pair, 16).ok()
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_literals_of_one_dimension_are_parsed() {
        let some = |text: &str| Some(text.to_owned());
        for (text, expected) in [
            ("{}", vec![]),
            (
                r#" {a, "b c" ,"NULL",null, d ,""} "#,
                vec![
                    some("a"),
                    some("b c"),
                    some("NULL"),
                    None,
                    some("d"),
                    some(""),
                ],
            ),
            (
                r#"{"a\"b,",c\,d,e f}"#,
                vec![some("a\"b,"), some("c,d"), some("e f")],
            ),
        ] {
            assert_eq!(items(text), Some(expected), "{text}");
        }
        for wrong in ["", "a", "a,b", "{a", "{{a},{b}}", "{\"a}"] {
            assert_eq!(items(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn byte_literals_are_pairs_of_hex_digits() {
        assert_eq!(octets("\\x0aFF"), Some(vec![10, 255]));
        assert_eq!(octets("\\x"), Some(vec![]));
        for other in ["0a", "\\x0", "\\xzz", "\\x+1", "\\xé0"] {
            assert_eq!(octets(other), None, "{other}");
        }
    }
}
