//! Who may ask.

use std::fmt;

use async_trait::async_trait;
use pgwire::api::auth::md5pass::hash_md5_password;
use pgwire::api::auth::{AuthSource, LoginInfo, Password};
use pgwire::error::{PgWireError, PgWireResult};

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

#[async_trait]
impl AuthSource for Access {
    async fn get_password(&self, login: &LoginInfo) -> PgWireResult<Password> {
        let asked = login.user().unwrap_or_default();
        match self {
            Self::Password { user, password } if user == asked => {
                let salt: [u8; 4] = rand::random();
                let hash = hash_md5_password(user, password, &salt);
                Ok(Password::new(Some(salt.to_vec()), hash.into_bytes()))
            }
            _ => Err(PgWireError::InvalidPassword(asked.to_owned())),
        }
    }
}
