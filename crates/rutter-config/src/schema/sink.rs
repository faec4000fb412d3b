//! Where a collector's rows go.

use super::{Key, key};

/// `[[sink]]`
pub const SINK: &[Key] = &[
    key(
        "type",
        "`\"postgres\"`, `\"mariadb\"`, `\"kafka\"`",
        "required",
        "What it is; `mariadb` is for MySQL, too. See [sinks.md](sinks.md).",
    ),
    key(
        "name",
        "text",
        "its type",
        "Its name in the log and in metrics.",
    ),
    key(
        "host",
        "name, address or absolute path",
        "`\"127.0.0.1\"`",
        "Databases: the server; or the folder of PostgreSQL's socket, the socket of MariaDB.",
    ),
    key("port", "number", "5432 or 3306", "Databases: its port."),
    key(
        "database",
        "text",
        "`\"rutter\"`",
        "Databases: which one. It must be there; the tables are made by us.",
    ),
    key(
        "user",
        "text",
        "`\"rutter\"`",
        "Databases: who we are to it.",
    ),
    key(
        "password",
        "text",
        "none",
        "Databases: how we prove it. `password-file` keeps it out of this file.",
    ),
    key(
        "password-file",
        "path",
        "none",
        "A file that holds the password; a line end after it does not count.",
    ),
    key(
        "history",
        "true, false",
        "true",
        "Databases: keep every event, not only the current routes.",
    ),
    key(
        "answer-timeout",
        "duration",
        "`\"5m\"`, Kafka: `\"30s\"`",
        "A connection on which a statement or a request is not answered for so long is given up, and another is made.",
    ),
    key(
        "events-retention",
        "duration",
        "for good",
        "Databases: remove events of this collector that are older, such as `\"90d\"`, some at a time.",
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
        "Kafka: follow each withdrawal with a record without a value, so that compaction forgets the route.",
    ),
    key(
        "spool",
        "path",
        "`/var/lib/rutter/spool/NAME`",
        "Folder for rows that the sink has not taken yet.",
    ),
    key(
        "spool-limit",
        "octets, or `\"512M\"`, `\"4G\"`",
        "`\"1G\"`",
        "Most that waits there. When it is full, rows are dropped, a `gap` with its bounds is told, and the state is read anew.",
    ),
    key("interval", "duration", "`\"1s\"`", "Time between batches."),
    key(
        "batch-rows",
        "number",
        "100000",
        "So many rows do not wait for the end of the interval.",
    ),
];
