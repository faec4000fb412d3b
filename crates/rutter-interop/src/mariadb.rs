//! MariaDB with its own folder and port.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::certificates::{Authority, Certificate};
use crate::lab::{Lab, eventually};
use crate::postgres::{as_user, copy_for, give_to};
use crate::process::{Process, output_of, program};

/// A server whose data survive its process.
pub struct MariaDb {
    folder: PathBuf,
    port: u16,
    /// Whether it offers TLS.
    tls: bool,
    process: Option<Process>,
}

impl MariaDb {
    /// Creates an empty database `rutter`, a user `rutter` with a password, and starts the server.
    pub fn start(lab: &Lab) -> MariaDb {
        let folder = lab.folder("my");
        give_to(&folder, "mysql");
        let mut server = MariaDb {
            port: lab.port(),
            folder,
            tls: false,
            process: None,
        };
        let mut install = as_user("mysql", &program("mariadb-install-db"));
        install
            .args([
                "--no-defaults",
                "--skip-test-db",
                "--auth-root-authentication-method=normal",
            ])
            .arg(format!(
                "--datadir={}",
                server.folder.join("data").display()
            ));
        output_of(&mut install).unwrap_or_else(|why| panic!("mariadb-install-db: {why}"));
        server.run();
        for statement in [
            "CREATE DATABASE rutter",
            "CREATE USER rutter@'127.0.0.1' IDENTIFIED BY 'sesame'",
            "GRANT ALL ON rutter.* TO rutter@'127.0.0.1'",
        ] {
            let done = server.ask("mysql", statement);
            done.unwrap_or_else(|why| panic!("{statement}: {why}"));
        }
        server
    }

    /// Starts the server again.
    pub fn run(&mut self) {
        let mut command = as_user("mysql", &program("mariadbd"));
        command
            .arg("--no-defaults")
            .arg(format!("--datadir={}", self.folder.join("data").display()))
            // A starting server removes temporary files, which in a shared folder may belong to another server.
            .arg(format!("--tmpdir={}", self.folder.join("data").display()))
            .arg(format!("--socket={}", self.socket().display()))
            .arg(format!("--port={}", self.port))
            .arg("--bind-address=127.0.0.1")
            // Written data survive a killed process; the tests never cut the power.
            .args([
                "--innodb-flush-log-at-trx-commit=2",
                "--innodb-buffer-pool-size=128M",
            ]);
        let file = |name: &str| self.folder.join(name).display().to_string();
        match self.tls {
            true => command
                .arg(format!("--ssl-cert={}", file("server.crt")))
                .arg(format!("--ssl-key={}", file("server.key")))
                .arg(format!("--ssl-ca={}", file("clients.crt"))),
            false => command.arg("--skip-ssl"),
        };
        self.process = Some(Process::start("mariadbd", &self.folder, &mut command));
        eventually("mariadbd answers", || {
            self.ask("mysql", "SELECT 1").map(drop)
        });
    }

    /// Kills the server.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill();
        }
    }

    /// Suspends the server: it accepts connections, but does not answer.
    pub fn freeze(&mut self) {
        self.process.iter_mut().for_each(Process::freeze);
    }

    /// Resumes the server after [`MariaDb::freeze`].
    pub fn thaw(&mut self) {
        self.process.iter_mut().for_each(Process::thaw);
    }

    /// Offers TLS, with this certificate. Certificates of clients must be signed by `clients`. A server that offered TLS
    /// before replaces its certificate.
    pub fn serve_tls(&mut self, certificate: &Certificate, clients: &Authority) {
        for (from, to) in [
            (&certificate.certificate, "server.crt"),
            (&certificate.key, "server.key"),
            (&clients.file(), "clients.crt"),
        ] {
            copy_for(from, &self.folder.join(to), "mysql");
        }
        if self.tls {
            self.query("FLUSH SSL");
            return;
        }
        self.tls = true;
        self.kill();
        self.run();
    }

    /// Its socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join("sock")
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder of its data and its log.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Rows of a query in database `rutter`, columns separated by `|`.
    pub fn query(&self, sql: &str) -> Vec<String> {
        self.try_query(sql)
            .unwrap_or_else(|why| panic!("{sql}: {why}"))
    }

    /// Like [`MariaDb::query`], with errors returned.
    pub fn try_query(&self, sql: &str) -> Result<Vec<String>, String> {
        self.ask("rutter", sql)
    }

    fn ask(&self, database: &str, sql: &str) -> Result<Vec<String>, String> {
        let mut client = Command::new(program("mariadb"));
        client
            .args([
                "--no-defaults",
                "-N",
                "-B",
                "-u",
                "root",
                "-D",
                database,
                "-e",
                sql,
            ])
            .arg(format!("--socket={}", self.socket().display()));
        let text = output_of(&mut client)?;
        Ok(text.lines().map(|line| line.replace('\t', "|")).collect())
    }
}
