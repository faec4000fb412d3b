//! The notation of action communities: `0:peer`, `self:101..103:peer`, `rt:self:peer`.

use std::fmt;
use std::str::FromStr;

/// One field of a notation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Field {
    /// A number.
    Number(u32),
    /// `self`: our AS.
    Local,
    /// `peer`: the AS of the client that is meant.
    Peer,
    /// `101..103`: the first value means 1, the second 2, the third 3.
    Range(u32, u32),
}

/// An action community as the operator writes it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Notation {
    /// Two fields of 16 bits.
    Standard([Field; 2]),
    /// `rt:` and two fields: the two- and the four-octet AS specific route target.
    Extended([Field; 2]),
    /// Three fields of 32 bits.
    Large([Field; 3]),
}

/// The text is not a community notation; the message says what to write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseNotationError(String);

impl fmt::Display for ParseNotationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseNotationError {}

impl FromStr for Notation {
    type Err = ParseNotationError;

    fn from_str(_text: &str) -> Result<Self, Self::Err> {
        todo!()
    }
}
