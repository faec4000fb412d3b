//! `[sql]`: SQL over the live table.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use crate::key_rows::section;
use crate::password::{Password, password};
use crate::toml_values::Section;
use crate::value_forms::{octets, seconds, socket};
use crate::{PathRole, Secret};

section! {
    /// SQL over the live table, for clients of PostgreSQL: see docs/sql.md. `rutter collect` only.
    pub struct Sql = "[sql]" {
        /// Addresses to listen on. An address that other machines can reach needs a `user` with a password.
        "listen": "addresses, each with or without port", default "`[\"127.0.0.1:5439\"]`", reload NextCollect
            => listen: Vec<SocketAddr> = vec![SocketAddr::from((Ipv4Addr::LOCALHOST, PORT))],
            read |i| Some(i.some(|i| socket(i, PORT)));
        /// The memory limit of all queries together. A query that needs more fails.
        "memory": "size", default "`\"512M\"`", reload NextCollect
            => memory: u64 = 512 << 20, read |i| octets(i, 16 << 20, 1 << 50);
        /// The number of query threads. They have a lower priority than the I/O threads.
        "threads": "number", default "1", reload NextCollect
            => threads: usize = 1, read |i| i.int(1..=1_024).map(|n| n as usize);
        /// The number of latest events in the table `events`, in memory; 0: no such table.
        "events": "number", default "100000", reload NextCollect
            => events: usize = 100_000, read |i| i.int(0..=100_000_000).map(|n| n as usize);
        /// The time limit of a query. A longer query fails.
        "query-timeout": "duration", default "`\"5m\"`", reload NextCollect
            => query_timeout_s: u64 = 300, read |i| seconds(i, 1, 7 * 86_400);
        /// The time limit of a login.
        "login-timeout": "duration", default "`\"10s\"`", reload NextCollect
            => login_timeout_s: u64 = 10, read |i| seconds(i, 1, 600);
        /// An idle connection is closed after this time.
        "idle-timeout": "duration", default "`\"1h\"`", reload NextCollect
            => idle_timeout_s: u64 = 3600, read |i| seconds(i, 1, 366 * 86_400);
        /// The maximum number of connections; others are refused.
        "max-connections": "number", default "100", reload NextCollect
            => max_connections: usize = 100, read |i| i.int(1..=10_000).map(|n| n as usize);
        /// The user name.
        "user": "text", default "no login", reload NextCollect
            => login: Option<Login> = None, or
            /// The user's password.
            "password": "text", default "none", or
            /// A file with the password, relative to this file.
            "password-file": "path", default "none";
        /// A file with the certificate chain of the server (PEM), relative to this file. Clients on other machines must then use TLS. The file is read again when it changes.
        "tls-certificate": "path", default "none", reload NextCollect
            => tls: Option<Tls> = None, or
            /// A file with the certificate's private key (PEM), relative to this file.
            "tls-key": "path", default "none";
    }
}

/// A certificate and its key, each a PEM file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tls {
    /// The certificate chain.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// A user with a password.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Login {
    /// Name.
    pub user: String,
    /// Password.
    pub password: Secret,
}

impl Sql {
    /// Reads the login and the TLS files, which have two keys each, and reports open addresses.
    pub(crate) fn read_pairs(&mut self, section: &Section<'_>) {
        self.login = login(section);
        self.tls = tls(section);
        let open = self.listen.iter().find(|at| !at.ip().is_loopback());
        if let Some(open) = open {
            check_exposure(section, open, self);
        }
    }
}

/// Reports a missing login or missing encryption on an address that other machines can reach.
fn check_exposure(section: &Section<'_>, open: &SocketAddr, sql: &Sql) {
    if sql.login.is_none() {
        let meant = ["user", "password", "password-file"];
        if meant.iter().any(|key| section.get(key).is_some()) {
            // The login is incomplete, which was reported.
            return;
        }
        section.complain(
            "listen",
            format!("everybody who can connect to {open} could run queries"),
            "add `user` and `password-file`, or listen on 127.0.0.1 only",
        );
    } else if sql.tls.is_none() {
        section.warn(
            "listen",
            format!("queries and answers at {open} are not encrypted"),
            "add `tls-certificate` and `tls-key`",
        );
    }
}

/// Reads the files of a certificate and its key.
pub(crate) fn tls(section: &Section<'_>) -> Option<Tls> {
    let path = |name, role| {
        let item = section.get(name)?;
        let path = item.source.beside(&item.path()?.to_string_lossy());
        item.name_path(role, &path);
        Some(path)
    };
    let certificate = path("tls-certificate", PathRole::Certificate);
    let key = path("tls-key", PathRole::PrivateKey);
    let (certificate, key) = both(section, ("tls-certificate", certificate), ("tls-key", key))?;
    Some(Tls { certificate, key })
}

fn login(section: &Section<'_>) -> Option<Login> {
    let user = section.get("user").and_then(|i| i.name());
    let key = match section.get("password") {
        Some(_) => "password",
        None => "password-file",
    };
    // Clients log in to us: the password is that of the last reload.
    let password = password(section).map(Password::into_first);
    let (user, password) = both(section, ("user", user), (key, password))?;
    Some(Login { user, password })
}

/// Requires both or none of two keys.
fn both<A, B>(
    section: &Section<'_>,
    (one, a): (&str, Option<A>),
    (other, b): (&str, Option<B>),
) -> Option<(A, B)> {
    let lone = match (&a, &b) {
        (Some(_), None) => Some((one, other)),
        (None, Some(_)) => Some((other, one)),
        _ => None,
    };
    // An invalid key has been reported already.
    let lone = lone.filter(|(_, missing)| section.get(missing).is_none());
    if let Some((there, missing)) = lone {
        let message = format!("`{there}` has no effect without `{missing}`");
        section.complain(there, message, format!("add `{missing}`"));
    }
    a.zip(b)
}

/// The default port: similar to that of PostgreSQL, but different.
const PORT: u16 = 5439;
