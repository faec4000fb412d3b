//! Decides who may read which path.

use std::sync::{PoisonError, RwLock};

use hyper::StatusCode;
use hyper::header::HeaderValue;
use rutter_config::access::{AccessRules, Role, bearer};

use crate::basic_password::basic_password;
use crate::problem::Problem;

/// The role of a client with this header `Authorization`; and whether a token gives it.
///
/// Another kind of authorization, or the password of another server, may be meant for a proxy: it counts as none.
fn role(
    access: &AccessRules,
    authorization: Option<&HeaderValue>,
) -> Result<(Role, bool), Problem> {
    let anonymous = access.anonymous;
    let Some(header) = authorization.and_then(|value| value.to_str().ok()) else {
        return Ok((anonymous, false));
    };
    let found = match bearer(header) {
        Some(token) => Some(access.find(token.as_bytes()).ok_or_else(|| {
            Problem::new(
                StatusCode::UNAUTHORIZED,
                "nobody has this token: ask the operator for another",
            )
        })?),
        None => basic_password(header).and_then(|password| access.find(&password)),
    };
    let of_token = found.map(|token| (token.role.max(anonymous), true));
    Ok(of_token.unwrap_or((anonymous, false)))
}

/// The access rules in force.
pub(crate) struct Rules(RwLock<AccessRules>);

impl Rules {
    pub(crate) fn new(access: AccessRules) -> Self {
        Rules(RwLock::new(access))
    }

    pub(crate) fn set(&self, access: AccessRules) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = access;
    }

    /// Refuses a client that may not read what needs this role. It has sent this header `Authorization`.
    pub(crate) fn check(
        &self,
        authorization: Option<&HeaderValue>,
        needed: Role,
    ) -> Result<(), Problem> {
        let access = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let (role, has_token) = role(&access, authorization)?;
        if role >= needed {
            return Ok(());
        }
        Err(match has_token {
            true => Problem::new(
                StatusCode::FORBIDDEN,
                "the role of this token does not include this path",
            ),
            false => Problem::new(
                StatusCode::UNAUTHORIZED,
                "this path needs a token: send the header `Authorization: Bearer TOKEN`, or the token as the password",
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use rutter_config::access::Token;

    use super::*;

    #[test]
    fn a_token_gives_its_role_and_no_more() {
        // The SHA-256 of `abc` in FIPS 180-2, appendix B.1.
        let sha256 = [
            0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae,
            0x22, 0x23, 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61,
            0xf2, 0x00, 0x15, 0xad,
        ];
        let role = Role::Monitor;
        let rules = Rules::new(AccessRules {
            anonymous: Role::Nobody,
            tokens: vec![Token {
                role,
                sha256,
                owner: String::new(),
            }],
        });
        let status = |value: &str, needed| {
            let value = (!value.is_empty()).then(|| HeaderValue::from_str(value).unwrap());
            rules.check(value.as_ref(), needed).map_err(|p| p.status)
        };
        let abc = "Bearer abc";
        assert_eq!(status(abc, Role::Monitor), Ok(()));
        assert_eq!(status(abc, Role::Read), Err(StatusCode::FORBIDDEN));
        // The passwords `abc` and `abd` of a user.
        let (basic, wrong) = ("Basic dXNlcjphYmM=", "basic dXNlcjphYmQ=");
        assert_eq!(status(basic, Role::Monitor), Ok(()));
        assert_eq!(status(basic, Role::Read), Err(StatusCode::FORBIDDEN));
        for other in ["Bearer abd", "Basic abc", wrong, "Digest abc", ""] {
            assert_eq!(status(other, Role::Monitor), Err(StatusCode::UNAUTHORIZED));
        }
        rules.set(AccessRules::open());
        // A proxy may pass on what was meant for itself.
        for other in ["", basic, wrong, "Basic =", "Digest abc"] {
            assert_eq!(status(other, Role::Read), Ok(()), "{other}");
        }
        assert_eq!(
            status("Bearer abd", Role::Read),
            Err(StatusCode::UNAUTHORIZED)
        );
    }
}
