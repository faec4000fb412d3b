//! The location of a database, as one argument.

use std::str::FromStr;

use rutter_config::{Database, Password};

/// `postgres://user:password@host:port/database`. The password and the port are optional.
#[derive(Clone, Debug)]
pub struct Url(pub(super) Database);

/// The database that is filled.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a process has one or two of them"
)]
pub enum Place {
    /// `own`: a database that the benchmark starts.
    OwnServer,
    /// An existing database.
    At(Url),
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "own" => Ok(Place::OwnServer),
            url => url.parse().map(Place::At),
        }
    }
}

impl FromStr for Url {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write postgres://user:password@host:port/database".to_owned();
        let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
        let (who, rest) = rest.rsplit_once('@').ok_or_else(wrong)?;
        let (place, database) = rest.split_once('/').ok_or_else(wrong)?;
        let (user, password) = match who.split_once(':') {
            Some((user, password)) => (user, Some(Password::new(password))),
            None => (who, None),
        };
        let default = if scheme == "postgres" { "5432" } else { "3306" };
        let (host, port) = place.rsplit_once(':').unwrap_or((place, default));
        Ok(Url(Database {
            host: host.to_owned(),
            port: port.parse().map_err(|_| wrong())?,
            database: database.to_owned(),
            user: user.to_owned(),
            password,
            history: true,
            answer_timeout_s: 300,
            tls: None,
        }))
    }
}
