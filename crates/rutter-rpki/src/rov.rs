//! The validation state of a route origin.

use std::fmt;

/// The validation state of a route origin (RFC 6811 §2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rov {
    /// A VRP matches the route.
    Valid,
    /// VRPs cover the prefix, but none matches the route.
    Invalid,
    /// No VRP covers the prefix.
    NotFound,
}

impl Rov {
    /// Returns `valid`, `invalid` or `not-found`.
    pub fn name(self) -> &'static str {
        match self {
            Rov::Valid => "valid",
            Rov::Invalid => "invalid",
            Rov::NotFound => "not-found",
        }
    }
}

impl fmt::Display for Rov {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
