//! PostgreSQL with its own folder and port.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::certificates::{Authority, Certificate};
use crate::lab::{Lab, eventually, write_file};
use crate::process::{Process, output_of, program};

/// A server whose data survive its process.
pub struct Postgres {
    folder: PathBuf,
    port: u16,
    process: Option<Process>,
}

impl Postgres {
    /// Creates an empty database `rutter` and starts the server.
    pub fn start(lab: &Lab) -> Postgres {
        let folder = lab.folder("pg");
        give_to(&folder, "postgres");
        let mut server = Postgres {
            port: lab.port(),
            folder,
            process: None,
        };
        let data = server.folder.join("data");
        let mut initdb = as_user("postgres", &bin("initdb"));
        initdb
            .args(["-A", "trust", "-U", "postgres", "-N", "-D"])
            .arg(&data);
        output_of(&mut initdb).unwrap_or_else(|why| panic!("initdb: {why}"));
        server.run();
        server.query_in("postgres", "CREATE DATABASE rutter");
        server
    }

    /// Starts the server again.
    pub fn run(&mut self) {
        self.process = Some(self.start_process());
        eventually("postgres answers", || {
            // The children of a killed server end a moment later, and a new server does not start beside them.
            let alive = self.process.as_mut().map(Process::check_alive);
            if !matches!(alive, Some(Ok(()))) {
                self.process = Some(self.start_process());
            }
            self.ask("postgres", "SELECT 1").map(drop)
        });
    }

    fn start_process(&self) -> Process {
        let mut command = as_user("postgres", &bin("postgres"));
        command
            .arg("-D")
            .arg(self.folder.join("data"))
            .arg("-k")
            .arg(&self.folder)
            // Written data survive a killed process; the tests never cut the power.
            .args(["-c", "fsync=off"])
            .args(["-p", &self.port.to_string(), "-h", "127.0.0.1"]);
        Process::start("postgres", &self.folder, &mut command)
    }

    /// Kills the server and all its children.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill();
        }
    }

    /// Suspends the server: it accepts connections, but does not answer.
    pub fn freeze(&mut self) {
        self.process.iter_mut().for_each(Process::freeze);
    }

    /// Resumes the server after [`Postgres::freeze`].
    pub fn thaw(&mut self) {
        self.process.iter_mut().for_each(Process::thaw);
    }

    /// Lets user `rutter` connect over TLS only, with a password and a certificate that `clients` signed. `certificate` is
    /// that of the server; it also replaces an earlier one.
    pub fn serve_tls(&self, certificate: &Certificate, clients: &Authority) {
        let file = |name: &str| self.folder.join(name);
        for (from, to) in [
            (&certificate.certificate, "server.crt"),
            (&certificate.key, "server.key"),
            (&clients.file(), "clients.crt"),
        ] {
            copy_for(from, &file(to), "postgres");
        }
        write_file(&file("data/pg_hba.conf"), ONLY_TLS);
        for (setting, value) in [
            ("ssl", "on".to_owned()),
            ("ssl_cert_file", file("server.crt").display().to_string()),
            ("ssl_key_file", file("server.key").display().to_string()),
            ("ssl_ca_file", file("clients.crt").display().to_string()),
        ] {
            self.query(&format!("ALTER SYSTEM SET {setting} = '{value}'"));
        }
        self.query("SELECT pg_reload_conf()");
    }

    /// Folder of its socket.
    pub fn socket(&self) -> &Path {
        &self.folder
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Rows of a query in database `rutter`, columns separated by `|`.
    pub fn query(&self, sql: &str) -> Vec<String> {
        self.query_in("rutter", sql)
    }

    /// Like [`Postgres::query`], with errors returned.
    pub fn try_query(&self, sql: &str) -> Result<Vec<String>, String> {
        self.ask("rutter", sql)
    }

    fn query_in(&self, database: &str, sql: &str) -> Vec<String> {
        self.ask(database, sql)
            .unwrap_or_else(|why| panic!("{sql}: {why}"))
    }

    fn ask(&self, database: &str, sql: &str) -> Result<Vec<String>, String> {
        let port = self.port.to_string();
        let mut psql = Command::new(program("psql"));
        psql.args(["-X", "-q", "-A", "-t", "-h", "127.0.0.1", "-U", "postgres"])
            .args([
                "-v",
                "ON_ERROR_STOP=1",
                "-p",
                &port,
                "-d",
                database,
                "-c",
                sql,
            ]);
        let text = output_of(&mut psql)?;
        Ok(text.lines().map(str::to_owned).collect())
    }
}

const ONLY_TLS: &str = "local all all trust
hostssl all rutter 127.0.0.1/32 scram-sha-256 clientcert=verify-ca
host all rutter 127.0.0.1/32 reject
host all all 127.0.0.1/32 trust
";

/// Copies a file, readable for the user of a database alone.
pub(crate) fn copy_for(from: &Path, to: &Path, user: &str) {
    let copied =
        fs::copy(from, to).and_then(|_| fs::set_permissions(to, fs::Permissions::from_mode(0o600)));
    copied.unwrap_or_else(|why| panic!("cannot write {}: {why}", to.display()));
    give_to(to, user);
}

/// The path of a program of the newest installed version.
fn bin(name: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let newest = versions.map(|version| version.path().join("bin").join(name));
    let newest = newest.filter(|path| path.exists()).max();
    newest.unwrap_or_else(|| panic!("{name} is not installed: run tools/install-test-deps"))
}

/// Databases refuse to run as root; as root, they run as the user of their package.
pub(crate) fn as_user(user: &str, program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("/usr/bin/setpriv");
    let (reuid, regid) = (format!("--reuid={user}"), format!("--regid={user}"));
    command
        .args([&reuid, &regid, "--clear-groups"])
        .arg(program);
    command
}

/// Makes the database's user the owner of a folder.
pub(crate) fn give_to(folder: &Path, user: &str) {
    if is_root() {
        let id = |what: &str| -> u32 {
            let id = output_of(Command::new("/usr/bin/id").args([what, user]));
            let id = id.unwrap_or_else(|why| panic!("{why}"));
            id.trim().parse().expect("a number")
        };
        chown(folder, Some(id("-u")), Some(id("-g")))
            .unwrap_or_else(|why| panic!("cannot give {} away: {why}", folder.display()));
    }
}

fn is_root() -> bool {
    let id = output_of(Command::new("/usr/bin/id").arg("-u"));
    id.is_ok_and(|id| id.trim() == "0")
}
