//! The state of a verified path.

use std::fmt;

/// The state of an AS_PATH (draft-ietf-sidrops-aspa-verification-28 §5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PathState {
    /// ASPAs attest the path.
    Valid,
    /// ASPAs contradict the path, or it cannot be one: it is empty, has an AS_SET, or starts with another AS.
    Invalid,
    /// The ASPAs neither attest nor contradict the path.
    Unknown,
}

impl PathState {
    /// Returns `valid`, `invalid` or `unknown`.
    pub fn name(self) -> &'static str {
        match self {
            PathState::Valid => "valid",
            PathState::Invalid => "invalid",
            PathState::Unknown => "unknown",
        }
    }
}

impl fmt::Display for PathState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
