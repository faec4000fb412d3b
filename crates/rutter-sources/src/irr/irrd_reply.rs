//! Replies of an IRRd server in its own (`!`) query language.

use std::fmt;

/// A complete reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IrrdReply {
    /// `A`: the data.
    Data(Vec<u8>),
    /// `C`: the query succeeded, and there are no data.
    Empty,
    /// `D`: the server does not have the object.
    NotFound,
    /// `E`: several objects have this key.
    NotUnique,
    /// `F`: the server refused the query, with its reason.
    Refused(String),
}

/// A reply that does not follow the protocol, or exceeds a limit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IrrdReplyError {
    /// The first byte of the reply is none of `A`, `C`, `D`, `E`, `F`.
    UnknownReply(u8),
    /// The length after `A` is not a number.
    Length,
    /// The reply has more bytes than the limit.
    TooLong {
        /// The length that the server announced.
        len: u64,
        /// The limit.
        limit: usize,
    },
    /// A line is longer than any line of the protocol.
    LongLine,
    /// The data are not followed by `C`: the announced length was wrong.
    WrongLength,
}

impl fmt::Display for IrrdReplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IrrdReplyError::UnknownReply(byte) => write!(
                f,
                "a reply begins with `{}` instead of A, C, D, E or F: is this an IRRd server?",
                byte.escape_ascii()
            ),
            IrrdReplyError::Length => f.write_str("the length of a reply is not a number"),
            IrrdReplyError::TooLong { len, limit } => {
                write!(f, "a reply has {len} bytes, more than the limit of {limit}")
            }
            IrrdReplyError::LongLine => {
                write!(f, "a reply has a line of more than {MAX_LINE} bytes")
            }
            IrrdReplyError::WrongLength => {
                f.write_str("the data of a reply do not have the announced length")
            }
        }
    }
}

impl std::error::Error for IrrdReplyError {}

impl IrrdReply {
    /// Parses a reply from the first received bytes. Returns it with the number of bytes that it takes, or `None` if
    /// the reply is not complete.
    ///
    /// # Errors
    /// If the bytes are no reply, or the data are longer than `limit` bytes. The connection is then of no further use.
    pub fn parse(bytes: &[u8], limit: usize) -> Result<Option<(Self, usize)>, IrrdReplyError> {
        let Some(first) = bytes.first() else {
            return Ok(None);
        };
        if !b"ACDEF".contains(first) {
            return Err(IrrdReplyError::UnknownReply(*first));
        }
        let Some(end) = line_end(bytes)? else {
            return Ok(None);
        };
        let line = bytes[1..end].trim_ascii();
        let reply = match first {
            b'A' => return data(bytes, line, end + 1, limit),
            b'C' => IrrdReply::Empty,
            b'D' => IrrdReply::NotFound,
            b'E' => IrrdReply::NotUnique,
            _ => IrrdReply::Refused(printable(line)),
        };
        Ok(Some((reply, end + 1)))
    }
}

/// Parses the data behind the line `A<length>`, and the closing `C`.
fn data(
    bytes: &[u8],
    length: &[u8],
    start: usize,
    limit: usize,
) -> Result<Option<(IrrdReply, usize)>, IrrdReplyError> {
    let digits = std::str::from_utf8(length)
        .ok()
        .filter(|text| is_number(text));
    let len: u64 = digits
        .and_then(|text| text.parse().ok())
        .ok_or(IrrdReplyError::Length)?;
    let fits = usize::try_from(len).ok().filter(|len| *len <= limit);
    let len = fits.ok_or(IrrdReplyError::TooLong { len, limit })?;
    let rest = &bytes[start..];
    let Some(closing) = rest.get(len..).filter(|closing| !closing.is_empty()) else {
        return Ok(None);
    };
    if closing[0] != b'C' {
        return Err(IrrdReplyError::WrongLength);
    }
    let Some(end) = line_end(closing)? else {
        return Ok(None);
    };
    let reply = IrrdReply::Data(rest[..len].to_vec());
    Ok(Some((reply, start + len + end + 1)))
}

/// The place of the first line feed.
fn line_end(bytes: &[u8]) -> Result<Option<usize>, IrrdReplyError> {
    let head = &bytes[..bytes.len().min(MAX_LINE)];
    match head.iter().position(|byte| *byte == b'\n') {
        Some(end) => Ok(Some(end)),
        None if bytes.len() >= MAX_LINE => Err(IrrdReplyError::LongLine),
        None => Ok(None),
    }
}

/// Lines between data are short: a letter with a number or a message.
const MAX_LINE: usize = 1024;

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A server's message without control characters.
fn printable(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(bytes: &str) -> Result<Option<(IrrdReply, usize)>, IrrdReplyError> {
        IrrdReply::parse(bytes.as_bytes(), 1000)
    }

    #[test]
    fn replies_are_read_from_their_bytes() {
        for (bytes, reply) in [
            ("A8\nAS1 AS2\nC\n", IrrdReply::Data(b"AS1 AS2\n".to_vec())),
            ("A0\nC\n", IrrdReply::Data(Vec::new())),
            ("C\n", IrrdReply::Empty),
            ("D\r\n", IrrdReply::NotFound),
            ("E\n", IrrdReply::NotUnique),
            (
                "F One or more selected sources are unavailable.\n",
                IrrdReply::Refused("One or more selected sources are unavailable.".into()),
            ),
        ] {
            let all = format!("{bytes}D\n");
            assert_eq!(parse(&all), Ok(Some((reply, bytes.len()))), "{bytes}");
            for cut in 0..bytes.len() {
                assert_eq!(parse(&bytes[..cut]), Ok(None), "{}", &bytes[..cut]);
            }
        }
    }

    #[test]
    fn lies_are_refused() {
        let long = "F".repeat(MAX_LINE);
        for (bytes, error) in [
            ("% no entries\n", IrrdReplyError::UnknownReply(b'%')),
            ("A\n", IrrdReplyError::Length),
            ("A-1\n", IrrdReplyError::Length),
            ("A+1\n", IrrdReplyError::Length),
            ("Ax\n", IrrdReplyError::Length),
            ("A2\nAS1\nC\n", IrrdReplyError::WrongLength),
            (
                "A1001\n",
                IrrdReplyError::TooLong {
                    len: 1001,
                    limit: 1000,
                },
            ),
            (
                "A18446744073709551615\n",
                IrrdReplyError::TooLong {
                    len: u64::MAX,
                    limit: 1000,
                },
            ),
            ("A99999999999999999999999\n", IrrdReplyError::Length),
            (long.as_str(), IrrdReplyError::LongLine),
        ] {
            assert_eq!(parse(bytes), Err(error), "{bytes}");
        }
    }
}
