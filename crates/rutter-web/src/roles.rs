//! Tokens, and the roles of their owners.

use std::sync::{PoisonError, RwLock};

use hyper::{HeaderMap, StatusCode, header};
use ring::digest::{SHA256, digest};

use crate::problem::Problem;

/// The role of a client. A later role includes the earlier ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// Nothing.
    Nobody,
    /// The state of the process, the sessions and the sources, and no routes.
    Monitor,
    /// Everything.
    Read,
}

/// A token of which only the hash is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    /// The role of its owner.
    pub role: Role,
    /// SHA-256 of the token.
    pub sha256: [u8; 32],
}

/// The tokens of a site.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Access {
    /// The role of clients without a token.
    pub anonymous: Role,
    /// The tokens, each with its role.
    pub tokens: Vec<Token>,
}

impl Access {
    /// Everybody may read everything.
    pub fn open() -> Self {
        Access {
            anonymous: Role::Read,
            tokens: Vec::new(),
        }
    }

    /// The role of a client with these headers.
    fn role(&self, headers: &HeaderMap) -> Result<Role, Problem> {
        let Some(value) = headers.get(header::AUTHORIZATION) else {
            return Ok(self.anonymous);
        };
        let token = value.to_str().ok().and_then(|text| {
            let (scheme, token) = text.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        let token = token.ok_or_else(|| {
            Problem::new(
                StatusCode::UNAUTHORIZED,
                "write the header as `Authorization: Bearer TOKEN`",
            )
        })?;
        let hash = digest(&SHA256, token.as_bytes());
        let mut tokens = self.tokens.iter();
        let found = tokens.find(|one| one.sha256 == hash.as_ref());
        let found = found.ok_or_else(|| {
            Problem::new(
                StatusCode::UNAUTHORIZED,
                "nobody has this token: ask the operator for another",
            )
        })?;
        Ok(found.role.max(self.anonymous))
    }
}

/// The access rules in force.
pub(crate) struct Rules(RwLock<Access>);

impl Rules {
    pub(crate) fn new(access: Access) -> Self {
        Rules(RwLock::new(access))
    }

    pub(crate) fn set(&self, access: Access) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = access;
    }

    /// Refuses a client that may not read what needs this role.
    pub(crate) fn check(&self, headers: &HeaderMap, needed: Role) -> Result<(), Problem> {
        let access = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let role = access.role(headers)?;
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
        let rules = Rules::new(Access {
            anonymous: Role::Nobody,
            tokens: vec![Token { role, sha256 }],
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
        rules.set(Access::open());
        assert_eq!(status(&HeaderMap::new(), Role::Read), Ok(()));
        assert_eq!(
            status(&headers("Bearer abd"), Role::Read),
            Err(StatusCode::UNAUTHORIZED)
        );
    }
}
