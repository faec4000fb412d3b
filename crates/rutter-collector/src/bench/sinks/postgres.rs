//! PostgreSQL and psql.

use std::io::{BufRead as _, BufReader};
use std::net::IpAddr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use postgres::{Client, NoTls};
use rutter_config::Database;

use super::{ComparedDatabase, Url, Visit};
use rutter_sinks::postgres::Postgres;

pub(super) struct Server {
    settings: Database,
    client: Client,
}

/// Converts an error to a string.
fn described<T, E: std::fmt::Display>(result: Result<T, E>) -> Result<T, String> {
    result.map_err(|why| why.to_string())
}

impl Server {
    pub(super) fn connect(url: &Url) -> Result<Self, String> {
        let settings = url.0.clone();
        let mut config = postgres::Config::new();
        config
            .host(&settings.host)
            .port(settings.port)
            .user(&settings.user);
        config.dbname(&settings.database);
        if let Some(password) = &settings.password {
            config.password(password.current()?.reveal());
        }
        let client = described(config.connect(NoTls))?;
        Ok(Self { settings, client })
    }

    fn run(&mut self, sql: &str) -> Result<(), String> {
        described(self.client.batch_execute(sql))
    }

    /// Requests a checkpoint, so that no round writes the pages of an earlier one. Errors are ignored: the user may
    /// lack the privilege.
    fn checkpoint(&mut self) {
        let _ = self.run("CHECKPOINT");
    }

    /// Runs the client's bulk command.
    fn psql(&self, command: &str) -> Result<(), String> {
        let settings = &self.settings;
        let mut psql = Command::new("psql");
        psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", &settings.host])
            .args(["-p", &settings.port.to_string(), "-U", &settings.user])
            .args(["-d", &settings.database, "-c", command]);
        if let Some(password) = &settings.password {
            psql.env(
                "PGPASSWORD",
                String::from_utf8_lossy(password.current()?.reveal()).into_owned(),
            );
        }
        let output = psql.output().map_err(|why| format!("psql: {why}"))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("psql: {}", String::from_utf8_lossy(&output.stderr))),
        }
    }
}

const REMOVE_TABLES: &str = "DROP VIEW IF EXISTS rutter_current, rutter_history;
DROP TABLE IF EXISTS rutter_events, rutter_routes, rutter_peers, rutter_collectors, rutter_schema, rutter_bulk";

impl ComparedDatabase for Server {
    type Store = Postgres;

    fn name(&self) -> &'static str {
        "postgres"
    }

    fn remove_tables(&mut self) -> Result<(), String> {
        self.run(REMOVE_TABLES)?;
        self.checkpoint();
        Ok(())
    }

    fn store(&self) -> Postgres {
        Postgres::new("bench", self.settings.clone())
    }

    fn prepare(&mut self, file: &Path) -> Result<(), String> {
        self.psql(&format!(
            "\\copy (SELECT * FROM rutter_routes ORDER BY peer_id, prefix) TO '{}' BINARY",
            file.display()
        ))
    }

    fn bulk(&mut self, file: &Path) -> Result<Duration, String> {
        self.run("DROP TABLE IF EXISTS rutter_bulk; CREATE TABLE rutter_bulk (LIKE rutter_routes INCLUDING ALL) WITH (fillfactor = 90); TRUNCATE rutter_routes")?;
        self.checkpoint();
        let began = Instant::now();
        self.psql(&format!(
            "\\copy rutter_bulk FROM '{}' BINARY",
            file.display()
        ))?;
        Ok(began.elapsed())
    }

    fn insert_single_rows(&mut self, count: usize) -> Result<Duration, String> {
        let rows = described(self.client.query("SELECT peer_id, prefix::text, as_path, communities FROM rutter_bulk ORDER BY random() LIMIT $1", &[&(count as i64)]))?;
        self.run("TRUNCATE rutter_routes")?;
        let began = Instant::now();
        for row in &rows {
            let (peer, prefix): (i32, &str) = (row.get(0), row.get(1));
            let (path, communities): (&str, Vec<String>) = (row.get(2), row.get(3));
            described(self.client.query_opt(
                "SELECT as_path FROM rutter_routes WHERE peer_id = $1 AND prefix = $2::text::cidr AND path_id = 0",
                &[&peer, &prefix],
            ))?;
            described(self.client.execute(
                "INSERT INTO rutter_routes (peer_id, prefix, path_id, time, as_path, communities, extended_communities,
                     large_communities) VALUES ($1, $2::text::cidr, 0, now(), $3, $4, '{}', '{}')",
                &[&peer, &prefix, &path, &communities],
            ))?;
        }
        Ok(began.elapsed())
    }

    fn rows(&mut self, peer: IpAddr, visit: Visit<'_>) -> Result<(), String> {
        // The rows are read as text, so that the comparison covers the visible values.
        let sql = format!(
            "COPY (SELECT prefix, path_id, origin, as_path, origin_as, host(next_hop), med, local_pref,
                 array_to_string(communities, ' '), array_to_string(extended_communities, ' '),
                 array_to_string(large_communities, ' ')
             FROM rutter_routes WHERE peer_id = (SELECT peer_id FROM rutter_peers WHERE peer_address = '{peer}')
             ORDER BY prefix, path_id) TO STDOUT"
        );
        let out = described(self.client.copy_out(&sql))?;
        for line in BufReader::new(out).lines() {
            visit(&described(line)?)?;
        }
        Ok(())
    }
}
