//! Percent-encoded text in URLs (RFC 3986 section 2.1).

use crate::problem::Problem;

/// Decodes a part of a path. A `%` without two hexadecimal digits stays as it is.
pub(crate) fn decode_path(text: &str) -> Result<String, Problem> {
    String::from_utf8(decode(text.as_bytes())).map_err(|_| Problem::bad("the path is not UTF-8"))
}

/// Returns the names and values of a query in the form encoding of HTML, where `+` is a space. Bytes that are not UTF-8 become
/// U+FFFD.
pub(crate) fn query_pairs(query: &str) -> impl Iterator<Item = (String, String)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode_form(name), decode_form(value))
    })
}

fn decode_form(text: &str) -> String {
    let bytes = decode(text.replace('+', " ").as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

fn decode(mut text: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    while let [first, rest @ ..] = text {
        let (byte, rest) = match rest {
            [high, low, rest @ ..] if *first == b'%' => match (digit(*high), digit(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, rest),
                _ => (*first, &text[1..]),
            },
            _ => (*first, rest),
        };
        decoded.push(byte);
        text = rest;
    }
    decoded
}

/// The value of a hexadecimal digit.
fn digit(character: u8) -> Option<u8> {
    let value = char::from(character).to_digit(16)?;
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(query: &str) -> Vec<(String, String)> {
        query_pairs(query).collect()
    }

    #[test]
    fn escapes_become_bytes() {
        for (text, decoded) in [
            ("192.0.2.0%2F24", "192.0.2.0/24"),
            ("2001%3adb8%3A%3a%2f32", "2001:db8::/32"),
            ("%C3%A9", "é"),
            ("a+b", "a+b"),
            ("100%", "100%"),
            ("%4", "%4"),
            ("%zz%2F%%41", "%zz/%A"),
            ("%+1", "%+1"),
            ("", ""),
        ] {
            assert_eq!(decode_path(text).ok().as_deref(), Some(decoded), "{text}");
        }
        assert!(decode_path("%FF").is_err());
    }

    #[test]
    fn a_query_is_split_before_it_is_decoded() {
        let expected = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            let owned = pairs
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_string()));
            owned.collect()
        };
        for (query, split) in [
            ("", &[][..]),
            ("&&", &[]),
            ("a", &[("a", "")]),
            ("a=1&b=2", &[("a", "1"), ("b", "2")]),
            ("a=1=2", &[("a", "1=2")]),
            ("as-path=65001+65002", &[("as-path", "65001 65002")]),
            ("a%26b=c%3Dd%2Be", &[("a&b", "c=d+e")]),
            ("a=%FF", &[("a", "\u{fffd}")]),
        ] {
            assert_eq!(pairs(query), expected(split), "{query}");
        }
    }
}
