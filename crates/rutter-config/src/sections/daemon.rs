//! `[daemon]`: settings of the process.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use crate::PathRole;
use crate::key_rows::section;
use crate::toml_values::{Item, Section};
use crate::value_forms;

section! {
    /// Settings of the process.
    pub struct Daemon = "[daemon]" {
        /// I/O threads.
        "threads": "number", default "one per core", reload NextStart
            => threads: usize = 0, read |i| i.int(1..=1024).map(|n| n as usize);
        /// Addresses to listen on for BGP. `[]`: do not listen, and open every session from here.
        "listen": "addresses, each with or without port", default "`[\"0.0.0.0\", \"::\"]`", reload NextStart
            => listen: Vec<SocketAddr> = listen_everywhere(BGP_PORT), or
            /// The default port of `listen` addresses.
            "port": "number", default "179";
        /// The Unix socket for the command line tool. Write permission gives full control of the daemon.
        "control-socket": "path", default "`/run/rutter/rutter.sock`", reload NextStart
            => control_socket: PathBuf = "/run/rutter/rutter.sock".into(), read |i| i.named(PathRole::Socket);
        /// Another Unix socket, whose clients can only read. Every local user may connect, unless the mode of its folder forbids it.
        "read-only-socket": "path", default "none", reload NextStart
            => read_only_socket: Option<PathBuf> = None, read |i| i.named(PathRole::Socket).map(Some);
        /// A file to which a line of JSON is appended for each request to change the daemon: who, what and the outcome. The log has the same.
        "audit-log": "path", default "none", reload AtOnce
            => audit_log: Option<PathBuf> = None, read |i| i.named(PathRole::AppendedFile).map(Some);
        /// The folder for what Rutter must know after a restart: which neighbors keep its routes meanwhile, and the last configurations that ran.
        "state": "path", default "`\"/var/lib/rutter\"`", reload NextStart
            => state: PathBuf = "/var/lib/rutter".into(), read |i| i.named(PathRole::Folder);
        /// The most memory for the table. Above it, stale routes are removed, then the sessions of the members whose routes take the most are reset with Cease, Out of Resources. Neighbors that send much wait.
        "max-memory": "size", default "half of the machine's memory, or of the control group's", reload AtOnce
            => max_memory: Option<u64> = None, read |i| value_forms::octets(i, 16 << 20, 1 << 50).map(Some);
        /// `error`, `warn`, `info`, `debug` or `trace`; or a filter such as `info,rutter_session=debug`. Messages of libraries have a level two steps lower: their warnings appear at `debug`.
        "log": "level", default "`\"info\"`", reload AtOnce
            => log: String = "info".into(), read Item::text;
        /// The format of log lines.
        "log-format": "`\"text\"`, `\"json\"`", default "`\"text\"`", reload NextStart
            => log_format: LogFormat = LogFormat::Text,
            read |i| i.word(&[("text", LogFormat::Text), ("json", LogFormat::Json)]);
        /// Change to this user after the BGP ports are bound, and to its group unless `group` is set.
        "user": "name or number", default "none", reload NextStart
            => user: Option<String> = None, read |i| i.text().map(Some);
        /// Change to this group after the BGP ports are bound.
        "group": "name or number", default "none", reload NextStart
            => group: Option<String> = None, read |i| i.text().map(Some);
    }
}

/// The format of log lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LogFormat {
    /// Text.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

impl Default for Daemon {
    fn default() -> Self {
        Daemon::new()
    }
}

impl Daemon {
    /// Reads `listen` and its default port.
    pub(crate) fn read_listen(&mut self, section: &Section<'_>) {
        let port = section.get("port").and_then(|i| i.int(1..=65535));
        let port = port.map_or(BGP_PORT, |port| port as u16);
        self.listen = listen_everywhere(port);
        section.set("listen", &mut self.listen, |i| {
            Some(i.each(|i| value_forms::socket(i, port)))
        });
    }
}

fn listen_everywhere(port: u16) -> Vec<SocketAddr> {
    vec![
        (Ipv4Addr::UNSPECIFIED, port).into(),
        (Ipv6Addr::UNSPECIFIED, port).into(),
    ]
}

const BGP_PORT: u16 = 179;
