//! The `sasl-` keys: how we log in to a broker.

use super::client_tls::Way;
use crate::key_rows::{Key, Reload};
use crate::password::{self, Password};
use crate::toml_values::Section;

/// A login by SASL (RFC 4422).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sasl {
    /// The mechanism.
    pub mechanism: SaslMechanism,
    /// The user.
    pub user: String,
    /// The user's password.
    pub password: Password,
}

/// A mechanism of SASL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SaslMechanism {
    /// PLAIN (RFC 4616): the server reads the password.
    Plain,
    /// SCRAM-SHA-256 (RFC 7677).
    ScramSha256,
    /// SCRAM-SHA-512.
    ScramSha512,
}

impl SaslMechanism {
    /// Returns the registered name.
    pub fn name(self) -> &'static str {
        match self {
            SaslMechanism::Plain => "PLAIN",
            SaslMechanism::ScramSha256 => "SCRAM-SHA-256",
            SaslMechanism::ScramSha512 => "SCRAM-SHA-512",
        }
    }
}

/// The rows of the manual.
pub(crate) const SASL: [Key; 3] = [
    key(
        MECHANISM,
        "`\"scram-sha-512\"`, `\"scram-sha-256\"`, `\"plain\"`",
        "no login",
        "Kafka: the mechanism of the login (SASL). With `plain` the broker reads the password, so it needs `tls`.",
    ),
    key(
        USER,
        "text",
        "required with `sasl-mechanism`",
        "Kafka: the user that logs in.",
    ),
    key(
        PASSWORD_FILE,
        "path",
        "required with `sasl-mechanism`",
        "Kafka: a file with the user's password, relative to this file; a final line end is ignored. It is read for each connection.",
    ),
];

const MECHANISM: &str = "sasl-mechanism";
const USER: &str = "sasl-user";
const PASSWORD_FILE: &str = "sasl-password-file";

const fn key(
    name: &'static str,
    form: &'static str,
    default: &'static str,
    text: &'static str,
) -> Key {
    Key::new(name, form, default, text, Reload::NextCollect)
}

const MECHANISMS: &[(&str, SaslMechanism)] = &[
    ("scram-sha-512", SaslMechanism::ScramSha512),
    ("scram-sha-256", SaslMechanism::ScramSha256),
    ("plain", SaslMechanism::Plain),
];

/// Reads the keys. `encrypted` is true if the connection uses TLS. A broker on this machine can announce others, which the
/// client then logs in to: so the operator must choose plain text for all of them.
pub(crate) fn sasl(section: &Section<'_>, way: Way, encrypted: bool) -> Option<Sasl> {
    if SASL.iter().all(|key| section.get(key.name).is_none()) {
        return None;
    }
    let mechanism = section.require(MECHANISM, "\"scram-sha-512\"");
    let user = section.require(USER, "\"rutter\"");
    let file = section.require(PASSWORD_FILE, "\"kafka.key\"");
    let mechanism = mechanism.and_then(|item| {
        let mechanism = item.word(MECHANISMS)?;
        if mechanism == SaslMechanism::Plain && !encrypted && way == Way::Network {
            item.error(
                "everybody on the way to the broker could read the password",
                "remove `tls = \"disable\"`, or write \"scram-sha-512\"",
            );
        } else if mechanism == SaslMechanism::Plain && !encrypted && section.get("tls").is_none() {
            item.error(
                "brokers on this machine may announce others, and everybody on the way to those could read the password",
                "write `tls = \"disable\"` if all brokers are on this machine, or `tls = \"verify-full\"`, or \"scram-sha-512\"",
            );
        }
        Some(mechanism)
    });
    Some(Sasl {
        user: user.and_then(|item| item.name())?,
        password: file.and_then(|item| password::from_file(&item))?,
        mechanism: mechanism?,
    })
}
