//! Who may ask.

use std::fmt;

/// Who may ask.
#[derive(Clone, PartialEq, Eq)]
pub enum Access {
    /// Everybody who can connect; for addresses of this machine only.
    Open,
    /// One user with a password.
    Password {
        /// Name.
        user: String,
        /// Password; never in a log.
        password: String,
    },
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open => f.write_str("Open"),
            Self::Password { user, .. } => write!(f, "Password({user}, not shown)"),
        }
    }
}
