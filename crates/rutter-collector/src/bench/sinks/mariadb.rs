//! MariaDB and its client.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::net::IpAddr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, Opts, OptsBuilder, Row, Value};
use rutter_config::Database;
use tokio::runtime::{Builder, Runtime};

use super::{ComparedDatabase, Url, Visit};
use rutter_sinks::mariadb::MariaDb;

pub(super) struct Server {
    settings: Database,
    runtime: Runtime,
    conn: Conn,
}

fn described<T, E: std::fmt::Display>(result: Result<T, E>) -> Result<T, String> {
    result.map_err(|why| why.to_string())
}

impl Server {
    pub(super) fn connect(url: &Url) -> Result<Self, String> {
        let settings = url.0.clone();
        let options = OptsBuilder::default()
            .prefer_socket(false)
            .ip_or_hostname(&settings.host)
            .tcp_port(settings.port)
            .user(Some(&settings.user))
            .pass(password(&settings))
            .db_name(Some(&settings.database));
        let runtime = described(Builder::new_current_thread().enable_all().build())?;
        let conn = described(runtime.block_on(Conn::new(Opts::from(options))))?;
        Ok(Self {
            settings,
            runtime,
            conn,
        })
    }

    fn run(&mut self, sql: &str) -> Result<(), String> {
        described(self.runtime.block_on(self.conn.query_drop(sql)))
    }

    /// Visits each row of a query, as LOAD DATA reads it.
    fn each_line(
        &mut self,
        sql: &str,
        mut visit: impl FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<(), String> {
        self.runtime.block_on(async {
            let mut rows = described(self.conn.query_iter(sql).await)?;
            while let Some(row) = described(rows.next().await)? {
                visit(&line(row))?;
            }
            Ok(())
        })
    }

    /// Runs the client's bulk command.
    fn client(&self, command: &str) -> Result<(), String> {
        let settings = &self.settings;
        let mut client = Command::new("mariadb");
        client
            .args([
                "--no-defaults",
                "--local-infile=1",
                "--protocol=tcp",
                "-h",
                &settings.host,
            ])
            .args(["-P", &settings.port.to_string(), "-u", &settings.user])
            .args(["-D", &settings.database, "-e", command]);
        if let Some(password) = password(settings) {
            client.env("MYSQL_PWD", password);
        }
        let output = client.output().map_err(|why| format!("mariadb: {why}"))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!(
                "mariadb: {}",
                String::from_utf8_lossy(&output.stderr)
            )),
        }
    }
}

fn password(settings: &Database) -> Option<String> {
    let password = settings.password.as_ref()?;
    let secret = password.current().ok()?;
    Some(String::from_utf8_lossy(secret.reveal()).into_owned())
}

impl ComparedDatabase for Server {
    type Store = MariaDb;

    fn name(&self) -> &'static str {
        "mariadb"
    }

    fn remove_tables(&mut self) -> Result<(), String> {
        self.run("DROP VIEW IF EXISTS rutter_current, rutter_history")?;
        self.run(
            "DROP TABLE IF EXISTS rutter_events, rutter_routes, rutter_peers, rutter_collectors,
                 rutter_schema, rutter_bulk",
        )
    }

    fn store(&self) -> MariaDb {
        MariaDb::new("bench", self.settings.clone())
    }

    fn prepare(&mut self, file: &Path) -> Result<(), String> {
        let mut out = BufWriter::new(described(File::create(file))?);
        let sql = "SELECT * FROM rutter_routes ORDER BY peer_id, network, length";
        self.each_line(sql, |line| described(out.write_all(line)))?;
        described(out.flush())
    }

    fn bulk(&mut self, file: &Path) -> Result<Duration, String> {
        self.run("DROP TABLE IF EXISTS rutter_bulk")?;
        self.run("CREATE TABLE rutter_bulk LIKE rutter_routes")?;
        self.run("TRUNCATE TABLE rutter_routes")?;
        let began = Instant::now();
        self.client(&format!(
            "LOAD DATA LOCAL INFILE '{}' INTO TABLE rutter_bulk CHARACTER SET binary",
            file.display()
        ))?;
        Ok(began.elapsed())
    }

    fn insert_single_rows(&mut self, count: usize) -> Result<Duration, String> {
        let Self { runtime, conn, .. } = self;
        let sql = "SELECT * FROM rutter_bulk ORDER BY rand() LIMIT ?";
        let rows: Vec<Row> = described(runtime.block_on(conn.exec(sql, (count,))))?;
        let select = "SELECT as_path FROM rutter_routes
            WHERE peer_id = ? AND network = ? AND length = ? AND path_id = ?";
        let insert =
            "INSERT INTO rutter_routes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        let began = Instant::now();
        for row in rows {
            let values = row.unwrap();
            let key = values[..4].to_vec();
            let _: Option<Row> = described(runtime.block_on(conn.exec_first(select, key)))?;
            described(runtime.block_on(conn.exec_drop(insert, values)))?;
        }
        Ok(began.elapsed())
    }

    fn rows(&mut self, peer: IpAddr, visit: Visit<'_>) -> Result<(), String> {
        let sql = format!(
            "SELECT prefix, path_id, origin, as_path, origin_as, next_hop, med, local_pref, communities,
                 extended_communities, large_communities
             FROM rutter_routes WHERE peer_id = (SELECT peer_id FROM rutter_peers WHERE peer_address = '{peer}')
             ORDER BY network, length, path_id"
        );
        self.each_line(&sql, |line| {
            visit(String::from_utf8_lossy(line).trim_end_matches('\n'))
        })
    }
}

/// Returns a row as LOAD DATA reads it.
fn line(row: Row) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, value) in row.unwrap().into_iter().enumerate() {
        if index > 0 {
            out.push(b'\t');
        }
        match value {
            Value::NULL => out.extend_from_slice(b"\\N"),
            Value::Bytes(octets) => octets.iter().for_each(|octet| escape(&mut out, *octet)),
            other => out.extend_from_slice(other.as_sql(true).trim_matches('\'').as_bytes()),
        }
    }
    out.push(b'\n');
    out
}

fn escape(out: &mut Vec<u8>, octet: u8) {
    match octet {
        b'\t' => out.extend_from_slice(b"\\t"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\\' => out.extend_from_slice(b"\\\\"),
        0 => out.extend_from_slice(b"\\0"),
        other => out.push(other),
    }
}
