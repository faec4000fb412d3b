//! Which clients may connect.

use std::fmt;

/// Which clients may connect.
#[derive(Clone, PartialEq, Eq)]
pub enum Access {
    /// Every client. Only for addresses of this machine.
    Open,
    /// One user with a password.
    Password {
        /// The name of the user.
        user: String,
        /// The password. It is never logged.
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
