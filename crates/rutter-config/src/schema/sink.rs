//! Keys of sinks.

use super::{Key, key};

/// `[[sink]]`
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
        "A file with the password; a final line end is ignored.",
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
