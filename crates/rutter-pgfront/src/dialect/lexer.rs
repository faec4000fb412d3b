//! A lexer that separates code from quoted strings and comments.

/// The kind of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Words, numbers and operators.
    Code,
    /// A literal or a quoted name, with its quotes.
    Quoted,
    /// A comment.
    Comment,
}

/// Splits a text into pieces. An unclosed quote or comment extends to the end.
pub fn pieces(sql: &str) -> Vec<(Kind, &str)> {
    let mut pieces = Vec::new();
    let (mut begin, mut at) = (0, 0);
    while at < sql.len() {
        let Some((kind, len)) = quoted(&sql[..at], &sql[at..]) else {
            at += sql[at..].chars().next().map_or(1, char::len_utf8);
            continue;
        };
        if begin < at {
            pieces.push((Kind::Code, &sql[begin..at]));
        }
        pieces.push((kind, &sql[at..at + len]));
        at += len;
        begin = at;
    }
    if begin < sql.len() {
        pieces.push((Kind::Code, &sql[begin..]));
    }
    pieces
}

/// Splits a text that begins with a parenthesis into its content and the rest.
pub fn parenthesised(text: &str) -> Option<(&str, &str)> {
    let (mut depth, mut begin, mut at) = (0_usize, 0, 0);
    for (kind, piece) in pieces(text) {
        for (offset, sign) in piece.char_indices() {
            match sign {
                _ if kind != Kind::Code => break,
                '(' => {
                    depth += 1;
                    if depth == 1 {
                        begin = at + offset + 1;
                    }
                }
                ')' if depth == 1 => {
                    let end = at + offset;
                    return Some((&text[begin..end], &text[end + 1..]));
                }
                ')' => depth = depth.checked_sub(1)?,
                sign if depth == 0 && !sign.is_whitespace() => return None,
                _ => {}
            }
        }
        if kind == Kind::Quoted && depth == 0 {
            return None;
        }
        at += piece.len();
    }
    None
}

/// The quote or comment at the start of a text, with its length.
fn quoted(before: &str, text: &str) -> Option<(Kind, usize)> {
    let to_end = |found: Option<usize>| found.unwrap_or(text.len());
    match text.as_bytes() {
        [b'\'', ..] => Some((Kind::Quoted, literal(before, text))),
        [b'"', ..] => Some((Kind::Quoted, until_quote(text, '"', false))),
        [b'-', b'-', ..] => Some((Kind::Comment, to_end(text.find('\n')))),
        [b'/', b'*', ..] => Some((Kind::Comment, comment(text))),
        [b'$', ..] if !before.ends_with(is_name) => {
            let tag = text[1..].find('$').map(|end| &text[..end + 2])?;
            let inner = &tag[1..tag.len() - 1];
            let named =
                inner.chars().all(is_name) && !inner.starts_with(|c: char| c.is_ascii_digit());
            let close = |from: usize| Some(from + text[from..].find(tag)? + tag.len());
            named.then(|| (Kind::Quoted, to_end(close(tag.len()))))
        }
        _ => None,
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of a literal. After an `E` it has backslash escapes.
fn literal(before: &str, text: &str) -> usize {
    let mut before = before.chars().rev();
    let escapes = matches!(before.next(), Some('e' | 'E')) && !before.next().is_some_and(is_name);
    until_quote(text, '\'', escapes)
}

/// The length up to the closing quote. Quotes inside are doubled.
fn until_quote(text: &str, quote: char, escapes: bool) -> usize {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if escapes && c == '\\' {
            chars.next();
        } else if c == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            return at + 1;
        }
    }
    text.len()
}

/// The length of a comment, which may nest.
fn comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_comments_are_separate_pieces() {
        let sql = "a 'it''s;' \"q\"\"\" -- c'\nb /* x /* y */ ' */ E'\\'' $t$ ' $t$ $1";
        let odd: Vec<&str> = pieces(sql)
            .into_iter()
            .filter(|(kind, _)| *kind != Kind::Code)
            .map(|(_, text)| text)
            .collect();
        assert_eq!(
            odd,
            [
                "'it''s;'",
                "\"q\"\"\"",
                "-- c'",
                "/* x /* y */ ' */",
                "'\\''",
                "$t$ ' $t$"
            ]
        );
        let joined: String = pieces(sql).into_iter().map(|(_, text)| text).collect();
        assert_eq!(joined, sql);
        for open in ["'", "'ö", "\"", "/*", "$a$", "$", "--"] {
            let all: String = pieces(open).into_iter().map(|(_, text)| text).collect();
            assert_eq!(all, open);
        }
    }
}
