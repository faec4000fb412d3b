//! `[sql]`.

use std::net::{Ipv4Addr, SocketAddr};

use super::Root;
use super::password::password;
use crate::config::{Login, Sql, Tls};
use crate::forms;
use crate::item::Section;
use crate::{PathRole, schema};

/// The default port: similar to that of PostgreSQL, but different.
const PORT: u16 = 5439;

pub(super) fn sql(root: &Root<'_>) -> Option<Sql> {
    root.section("sql", &[schema::SQL], |section| {
        let mut sql = Sql {
            listen: vec![SocketAddr::from((Ipv4Addr::LOCALHOST, PORT))],
            memory: 512 << 20,
            threads: 1,
            events: 100_000,
            query_timeout_s: 300,
            login_timeout_s: 10,
            idle_timeout_s: 3600,
            max_connections: 100,
            login: login(&section),
            tls: tls(&section),
        };
        section.set("listen", &mut sql.listen, |i| {
            Some(i.some(|i| forms::socket(i, PORT)))
        });
        section.set("memory", &mut sql.memory, |i| {
            forms::octets(i, 16 << 20, 1 << 50)
        });
        section.set("threads", &mut sql.threads, |i| {
            i.int(1..=1_024).map(|n| n as usize)
        });
        section.set("events", &mut sql.events, |i| {
            i.int(0..=100_000_000).map(|n| n as usize)
        });
        section.set("query-timeout", &mut sql.query_timeout_s, |i| {
            forms::seconds(i, 1, 7 * 86_400)
        });
        section.set("login-timeout", &mut sql.login_timeout_s, |i| {
            forms::seconds(i, 1, 600)
        });
        section.set("idle-timeout", &mut sql.idle_timeout_s, |i| {
            forms::seconds(i, 1, 366 * 86_400)
        });
        section.set("max-connections", &mut sql.max_connections, |i| {
            i.int(1..=10_000).map(|n| n as usize)
        });
        let open = sql.listen.iter().find(|at| !at.ip().is_loopback());
        if let Some(open) = open {
            check_exposure(&section, open, &sql);
        }
        Some(sql)
    })
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

fn tls(section: &Section<'_>) -> Option<Tls> {
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
    let (user, password) = both(section, ("user", user), (key, password(section)))?;
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
