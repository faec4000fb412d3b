//! Decides who may read which path.

use std::sync::{PoisonError, RwLock};

use hyper::{HeaderMap, StatusCode, header};
use rutter_config::access::{AccessRules, Role, bearer};

use crate::problem::Problem;

/// The role of a client with these headers.
fn role(access: &AccessRules, headers: &HeaderMap) -> Result<Role, Problem> {
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return Ok(access.anonymous);
    };
    let token = value.to_str().ok().and_then(bearer).ok_or_else(|| {
        Problem::new(
            StatusCode::UNAUTHORIZED,
            "write the header as `Authorization: Bearer TOKEN`",
        )
    })?;
    let found = access.find(token.as_bytes()).ok_or_else(|| {
        Problem::new(
            StatusCode::UNAUTHORIZED,
            "nobody has this token: ask the operator for another",
        )
    })?;
    Ok(found.role.max(access.anonymous))
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

    /// Refuses a client that may not read what needs this role.
    pub(crate) fn check(&self, headers: &HeaderMap, needed: Role) -> Result<(), Problem> {
        let access = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let role = role(&access, headers)?;
        if role >= needed {
            return Ok(());
        }
        Err(match headers.contains_key(header::AUTHORIZATION) {
            true => Problem::new(
                StatusCode::FORBIDDEN,
                "the role of this token does not include this path",
            ),
            false => Problem::new(
                StatusCode::UNAUTHORIZED,
                "this path needs a token: send the header `Authorization: Bearer TOKEN`",
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use rutter_config::access::Token;

    use super::*;

    fn headers(value: &'static str) -> HeaderMap {
        let value = header::HeaderValue::from_static(value);
        [(header::AUTHORIZATION, value)].into_iter().collect()
    }

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
        let status =
            |headers: &HeaderMap, needed| rules.check(headers, needed).map_err(|p| p.status);
        let abc = headers("Bearer abc");
        assert_eq!(status(&abc, Role::Monitor), Ok(()));
        assert_eq!(status(&abc, Role::Read), Err(StatusCode::FORBIDDEN));
        for other in [
            headers("Bearer abd"),
            headers("Basic abc"),
            HeaderMap::new(),
        ] {
            assert_eq!(status(&other, Role::Monitor), Err(StatusCode::UNAUTHORIZED));
        }
        rules.set(AccessRules::open());
        assert_eq!(status(&HeaderMap::new(), Role::Read), Ok(()));
        assert_eq!(
            status(&headers("Bearer abd"), Role::Read),
            Err(StatusCode::UNAUTHORIZED)
        );
    }
}
