//! `[[sink]]`: databases and brokers that receive all changes.

use std::net::{IpAddr, Ipv6Addr};
use std::path::{Path, PathBuf};

use super::client_tls::{CLIENT_TLS, ClientTls, Way, client_tls};
use super::sasl::{SASL, Sasl, sasl};
use crate::key_rows::{Key, Reload};
use crate::password::{Password, password};
use crate::read::Root;
use crate::toml_values::{Item, Section};
use crate::{PathRole, value_forms};

/// A database or broker that receives all changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sink {
    /// The name in logs and metrics.
    pub name: String,
    /// The kind of sink.
    pub target: SinkTarget,
    /// The folder of rows that the sink has not committed.
    pub spool: PathBuf,
    /// The size limit of the spool, bytes.
    pub spool_limit: u64,
    /// Milliseconds between batches.
    pub interval_ms: u64,
    /// The number of rows that completes a batch early.
    pub batch_rows: usize,
    /// The retention time of events, seconds; `None`: unlimited.
    pub events_retention_s: Option<u64>,
}

/// The kind of sink.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SinkTarget {
    /// PostgreSQL.
    Postgres(Database),
    /// MariaDB or MySQL.
    MariaDb(Database),
    /// Kafka.
    Kafka(Broker),
}

/// The connection to a database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Database {
    /// Name or address of the server, or an absolute path: the folder of PostgreSQL's socket, MariaDB's socket.
    pub host: String,
    /// The TCP port. It is also part of the name of PostgreSQL's socket.
    pub port: u16,
    /// The database, which must exist.
    pub database: String,
    /// The user that connects.
    pub user: String,
    /// The user's password, if it needs one.
    pub password: Option<Password>,
    /// Store all events in addition to the current routes.
    pub history: bool,
    /// The time limit of an answer, after which the connection is closed; seconds.
    pub answer_timeout_s: u64,
    /// Encryption; `None`: plain text.
    pub tls: Option<ClientTls>,
}

/// The connection to a Kafka cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broker {
    /// Some of its brokers, as `host:port`.
    pub brokers: Vec<String>,
    /// The topic, which must exist.
    pub topic: String,
    /// Write a record without a value after each withdrawal, so that compaction removes the route.
    pub tombstones: bool,
    /// The time limit of an answer, seconds.
    pub answer_timeout_s: u64,
    /// Encryption; `None`: plain text.
    pub tls: Option<ClientTls>,
    /// The login, if the brokers want one.
    pub sasl: Option<Sasl>,
}

/// `[[sink]]`. Which keys exist, and some defaults, depend on `type`, so these are no rows of a struct.
pub const SINK: &[Key] = &[
    key(
        "type",
        "`\"postgres\"`, `\"mariadb\"`, `\"kafka\"`",
        "required",
        "The kind of sink; use `mariadb` for MySQL. See [sinks.md](sinks.md).",
    ),
    key("name", "text", "its type", "The name in logs and metrics."),
    key(
        "host",
        "name, address or absolute path",
        "`\"127.0.0.1\"`",
        "Databases: the server, the folder of PostgreSQL's socket, or the socket of MariaDB.",
    ),
    key("port", "number", "5432 or 3306", "Databases: the port."),
    key(
        "database",
        "text",
        "`\"rutter\"`",
        "Databases: the database. It must exist; Rutter creates the tables.",
    ),
    key("user", "text", "`\"rutter\"`", "Databases: the user."),
    key(
        "password",
        "text",
        "none",
        "Databases: the password. `password-file` keeps it out of this file.",
    ),
    key(
        "password-file",
        "path",
        "none",
        "A file with the password; a final line end is ignored. It is read for each connection.",
    ),
    key(
        "history",
        "true, false",
        "true",
        "Databases: store all events in addition to the current routes.",
    ),
    key(
        "answer-timeout",
        "duration",
        "`\"5m\"`, Kafka: `\"30s\"`",
        "The time limit of a statement or request. After it the connection is closed, and a new one is opened.",
    ),
    key(
        "events-retention",
        "duration",
        "unlimited",
        "Databases: remove older events of this collector, such as `\"90d\"`, in small steps.",
    ),
    key(
        "brokers",
        "host:port, or several",
        "required for `kafka`",
        "Kafka: some brokers of the cluster.",
    ),
    key(
        "topic",
        "text",
        "`\"rutter\"`",
        "Kafka: the topic. Several collectors may share it.",
    ),
    key(
        "tombstones",
        "true, false",
        "false",
        "Kafka: write a record without a value after each withdrawal, so that compaction removes the route.",
    ),
    SASL[0],
    SASL[1],
    SASL[2],
    CLIENT_TLS[0],
    CLIENT_TLS[1],
    CLIENT_TLS[2],
    CLIENT_TLS[3],
    CLIENT_TLS[4],
    key(
        "spool",
        "path",
        "`/var/lib/rutter/spool/NAME`",
        "The folder of rows that the sink has not committed.",
    ),
    key(
        "spool-limit",
        "bytes, or `\"512M\"`, `\"4G\"`",
        "`\"1G\"`",
        "The size limit of the spool. When it is full, rows are dropped, a `gap` with its bounds is reported, and the table is loaded again.",
    ),
    key("interval", "duration", "`\"1s\"`", "Time between batches."),
    key(
        "batch-rows",
        "number",
        "100000",
        "A batch ends early when it has this number of rows.",
    ),
];

const fn key(
    name: &'static str,
    form: &'static str,
    default: &'static str,
    text: &'static str,
) -> Key {
    Key::new(name, form, default, text, Reload::NextCollect)
}

#[derive(Clone, Copy, PartialEq)]
enum Type {
    Postgres,
    MariaDb,
    Kafka,
}

const TYPES: &[(&str, Type)] = &[
    ("postgres", Type::Postgres),
    ("mariadb", Type::MariaDb),
    ("kafka", Type::Kafka),
];

pub(crate) fn sinks(root: &Root<'_>) -> Vec<Sink> {
    let mut sinks: Vec<Sink> = Vec::new();
    root.each_of("sink", &[SINK], |section| {
        let Some(sink) = sink(&section) else {
            return;
        };
        if sinks.iter().any(|other| other.name == sink.name) {
            section.complain(
                "name",
                format!("there are two sinks `{}`", sink.name),
                "give each its own name",
            );
        }
        if sinks.iter().any(|other| other.spool == sink.spool) {
            section.complain(
                "spool",
                format!("two sinks share the folder {}", sink.spool.display()),
                "give each its own folder",
            );
        }
        sinks.push(sink);
    });
    sinks
}

fn sink(section: &Section<'_>) -> Option<Sink> {
    let kind = section.require("type", "\"postgres\"")?;
    let kind = kind.word(TYPES)?;
    only_for_some(section, kind);
    let word = TYPES.iter().find(|(_, other)| *other == kind);
    let mut name = word.map_or("", |(word, _)| word).to_owned();
    section.set("name", &mut name, sink_name);
    let mut sink = Sink {
        target: match kind {
            Type::Postgres => SinkTarget::Postgres(database(section, 5432)),
            Type::MariaDb => SinkTarget::MariaDb(database(section, 3306)),
            Type::Kafka => SinkTarget::Kafka(broker(section)?),
        },
        spool: PathBuf::from("/var/lib/rutter/spool").join(&name),
        name,
        spool_limit: 1 << 30,
        interval_ms: 1000,
        batch_rows: 100_000,
        events_retention_s: None,
    };
    section.set("spool", &mut sink.spool, |i| i.named(PathRole::Folder));
    if section.get("spool").is_none() {
        section.name_default("spool", PathRole::Folder, &sink.spool);
    }
    section.set("spool-limit", &mut sink.spool_limit, |i| {
        value_forms::octets(i, 1 << 20, 1 << 50)
    });
    section.set("interval", &mut sink.interval_ms, |i| {
        value_forms::seconds(i, 1, 3600).map(|s| s * 1000)
    });
    section.set("batch-rows", &mut sink.batch_rows, |i| {
        i.int(1..=10_000_000).map(|n| n as usize)
    });
    section.set("events-retention", &mut sink.events_retention_s, |i| {
        value_forms::seconds(i, 60, 100 * 365 * 86_400).map(Some)
    });
    Some(sink)
}

/// Reports keys that do not apply to a sink of this type.
fn only_for_some(section: &Section<'_>, kind: Type) {
    let other_types = match kind {
        Type::Kafka => &[
            "host",
            "port",
            "database",
            "user",
            "password",
            "password-file",
            "history",
            "events-retention",
        ][..],
        Type::Postgres | Type::MariaDb => &[
            "brokers",
            "topic",
            "tombstones",
            "sasl-mechanism",
            "sasl-user",
            "sasl-password-file",
        ][..],
    };
    for key in other_types {
        if let Some(item) = section.get(key) {
            item.error(
                format!("`{key}` does not apply to a sink of this type"),
                "remove it, or change `type`",
            );
        }
    }
}

fn database(section: &Section<'_>, port: u16) -> Database {
    let mut database = Database {
        host: "127.0.0.1".into(),
        port,
        database: "rutter".into(),
        user: "rutter".into(),
        password: None,
        history: true,
        answer_timeout_s: 300,
        tls: None,
    };
    section.set("host", &mut database.host, host);
    section.set("port", &mut database.port, |i| {
        i.int(1..=65_535).map(|n| n as u16)
    });
    section.set("database", &mut database.database, Item::name);
    section.set("user", &mut database.user, Item::name);
    section.set("history", &mut database.history, Item::bool);
    section.set(
        "answer-timeout",
        &mut database.answer_timeout_s,
        answer_timeout,
    );
    database.password = password(section);
    database.tls = client_tls(section, way_to(&database.host));
    database
}

/// Returns the way to a host.
fn way_to(host: &str) -> Way {
    let is_loopback = |host: &str| host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
    match host {
        path if path.starts_with('/') => Way::Socket,
        "localhost" => Way::Loopback,
        host if is_loopback(host) => Way::Loopback,
        _ => Way::Network,
    }
}

/// Reads the host of a database. An absolute path names a socket.
fn host(item: &Item<'_>) -> Option<String> {
    let host = item.name()?;
    if host.starts_with('/') {
        item.name_path(PathRole::ForeignSocket, Path::new(&host));
    } else if host.contains(['/', '@', ' '])
        || host.contains(char::is_control)
        || host.contains(':') && host.parse::<Ipv6Addr>().is_err()
    {
        item.error(
            // Do not quote the value: it may contain a password.
            "this is not a host",
            "write only its name or address; use the keys `port`, `user`, `password-file` and `database`",
        );
        return None;
    }
    Some(host)
}

fn broker(section: &Section<'_>) -> Option<Broker> {
    let mut tombstones = false;
    section.set("tombstones", &mut tombstones, Item::bool);
    let brokers = section.require("brokers", "[\"192.0.2.7:9092\"]")?;
    let mut topic = "rutter".to_owned();
    section.set("topic", &mut topic, Item::name);
    let mut answer_timeout_s = 30;
    section.set("answer-timeout", &mut answer_timeout_s, answer_timeout);
    let brokers = brokers.some(broker_address);
    let all_here = brokers.iter().all(|broker| {
        let host = broker.rsplit_once(':').map_or("", |(host, _)| host);
        way_to(host.trim_matches(['[', ']'])) == Way::Loopback
    });
    let way = if all_here {
        Way::Loopback
    } else {
        Way::Network
    };
    let tls = client_tls(section, way);
    if tls.is_some() && brokers.iter().any(|broker| broker.starts_with('[')) {
        section.complain(
            "brokers",
            "an IPv6 address does not work with TLS here",
            "write the names of the brokers",
        );
    }
    Some(Broker {
        sasl: sasl(section, way, tls.is_some()),
        brokers,
        topic,
        tombstones,
        answer_timeout_s,
        tls,
    })
}

fn answer_timeout(item: &Item<'_>) -> Option<u64> {
    value_forms::seconds(item, 1, 86_400)
}

/// Reads the name of a sink, which is also the name of a folder.
fn sink_name(item: &Item<'_>) -> Option<String> {
    let name = item.name()?;
    if name.contains('/') || name.starts_with('.') {
        item.error(
            format!("`{name}` is not a valid folder name"),
            "write a name without `/` and without a leading `.`",
        );
        return None;
    }
    Some(name)
}

fn broker_address(item: &Item<'_>) -> Option<String> {
    let text = item.name()?;
    let port = text
        .rsplit_once(':')
        .and_then(|(_, port)| port.parse().ok());
    if text.contains(['/', '@', ' ']) {
        item.error(
            "this is not the address of a broker",
            "write a host and a port like \"192.0.2.7:9092\"",
        );
        return None;
    }
    if port.is_none_or(|port: u16| port == 0) {
        item.error(
            format!("`{text}` has no port"),
            "write a host and a port like \"192.0.2.7:9092\"",
        );
        return None;
    }
    Some(text)
}
