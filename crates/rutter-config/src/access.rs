//! Tokens, and the roles of their owners.
//!
//! The owner of a token sends it as `Authorization: Bearer TOKEN`. A server has only the SHA-256 of each, from a file of
//! lines such as `read 9f86d08… # the portal`. HTTP and gRPC use the same files.

use std::fmt;

use ring::digest::{SHA256, digest};

/// The role of a client. A later role includes the earlier ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// Nothing.
    Nobody,
    /// The state of the process, the sessions and the sources, and no routes.
    Monitor,
    /// Everything, and no changes.
    Read,
    /// Also requests that change the daemon.
    Control,
}

/// A token of which only the hash is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    /// The role of its owner.
    pub role: Role,
    /// SHA-256 of the token.
    pub sha256: [u8; 32],
    /// The comment behind it in the file, which names the owner; empty if there is none.
    pub owner: String,
}

/// The tokens of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccessRules {
    /// The role of clients without a token.
    pub anonymous: Role,
    /// The tokens, each with its role.
    pub tokens: Vec<Token>,
}

impl AccessRules {
    /// Everybody may read everything.
    pub fn open() -> Self {
        AccessRules {
            anonymous: Role::Read,
            tokens: Vec::new(),
        }
    }

    /// Returns the token with the hash of these bytes: a token, or a client's certificate.
    pub fn find(&self, secret: &[u8]) -> Option<&Token> {
        let hash = digest(&SHA256, secret);
        self.tokens.iter().find(|one| one.sha256 == hash.as_ref())
    }
}

/// Returns the token in the value of the header `Authorization`, or `None` if it has another form.
pub fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Reads the tokens of a file. `#` begins a comment, and empty lines mean nothing.
///
/// # Errors
///
/// The lines that are no token.
pub fn parse_tokens(text: &str) -> Result<Vec<Token>, WrongLines> {
    let (mut tokens, mut wrong) = (Vec::new(), Vec::new());
    for (number, line) in (1_usize..).zip(text.lines()) {
        let (line, comment) = line.split_once('#').unwrap_or((line, ""));
        if !line.trim().is_empty() {
            match token(line, comment) {
                Some(token) => tokens.push(token),
                None => wrong.push(number),
            }
        }
    }
    match wrong.is_empty() {
        true => Ok(tokens),
        false => Err(WrongLines(wrong)),
    }
}

/// The numbers of the lines that are no token, from 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WrongLines(pub Vec<usize>);

/// The lines that an error names.
const NAMED_LINES: usize = 10;

impl fmt::Display for WrongLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named: Vec<String> = self
            .0
            .iter()
            .take(NAMED_LINES)
            .map(usize::to_string)
            .collect();
        match (self.0.len(), self.0.len() - named.len()) {
            (1, _) => write!(f, "line {}: this is no token", named[0]),
            (_, 0) => write!(f, "lines {}: these are no tokens", named.join(", ")),
            (_, more) => write!(
                f,
                "lines {} and {more} more: these are no tokens",
                named.join(", ")
            ),
        }
    }
}

fn token(line: &str, comment: &str) -> Option<Token> {
    let mut words = line.split_whitespace();
    let role = match words.next()? {
        "control" => Role::Control,
        "read" => Role::Read,
        "monitor" => Role::Monitor,
        _ => return None,
    };
    let digits = words.next()?;
    let is_hash = digits.len() == 64 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if !is_hash || words.next().is_some() {
        return None;
    }
    let mut sha256 = [0; 32];
    for (byte, at) in sha256.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&digits[at..at + 2], 16).ok()?;
    }
    Some(Token {
        role,
        sha256,
        owner: comment.trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The SHA-256 of `abc` in FIPS 180-2, appendix B.1.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn a_token_has_the_role_of_its_line() {
        let text = format!(
            "# tokens\n\nmonitor {ABC} # the alarms\nread {}\n",
            ABC.replace('b', "C")
        );
        let rules = AccessRules {
            anonymous: Role::Nobody,
            tokens: parse_tokens(&text).unwrap(),
        };
        let found = rules.find(b"abc").unwrap();
        assert_eq!(
            (found.role, found.owner.as_str()),
            (Role::Monitor, "the alarms")
        );
        assert_eq!(rules.find(b"abd"), None);
        assert_eq!(rules.tokens[1].role, Role::Read);
        assert!(Role::Control > Role::Read);
    }

    #[test]
    fn wrong_lines_are_named() {
        for wrong in [
            "read".to_owned(),
            "read abc".to_owned(),
            format!("write {ABC}"),
            format!("read {ABC} more"),
            format!("read {}", ABC.replace('b', "x")),
        ] {
            let text = format!("\n{wrong}\nread {ABC}\n{wrong}\n");
            let lines = parse_tokens(&text).unwrap_err();
            assert_eq!(lines, WrongLines(vec![2, 4]), "{wrong}");
            assert_eq!(lines.to_string(), "lines 2, 4: these are no tokens");
        }
        let many = WrongLines((1..=12).collect()).to_string();
        assert!(
            many.ends_with("9, 10 and 2 more: these are no tokens"),
            "{many}"
        );
        assert_eq!(WrongLines(vec![3]).to_string(), "line 3: this is no token");
    }

    #[test]
    fn a_bearer_token_is_found_in_its_header() {
        assert_eq!(bearer("Bearer abc"), Some("abc"));
        assert_eq!(bearer("bearer  abc "), Some("abc"));
        assert_eq!(bearer("Basic abc"), None);
        assert_eq!(bearer("abc"), None);
    }
}
