//! ORIGIN (RFC 4271 §5.1.1).

use std::fmt;

use super::AttrContext;
use super::malformed::Fault;
use super::table::Checked;

/// How the originating AS learned the route; lower values are preferred.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Origin {
    /// Interior to the originating AS.
    Igp = 0,
    /// Learned via EGP.
    Egp = 1,
    /// Learned by other means.
    Incomplete = 2,
}

impl Origin {
    /// Decodes the octet.
    pub fn from_octet(octet: u8) -> Option<Self> {
        match octet {
            0 => Some(Origin::Igp),
            1 => Some(Origin::Egp),
            2 => Some(Origin::Incomplete),
            _ => None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Origin::Igp => "IGP",
            Origin::Egp => "EGP",
            Origin::Incomplete => "incomplete",
        })
    }
}

pub(super) fn check(value: &[u8], _: &AttrContext) -> Checked {
    match value {
        [0..=2] => Ok(()),
        [_] => Err((0, Fault::OriginValue)),
        _ => Err((0, Fault::Length)),
    }
}
