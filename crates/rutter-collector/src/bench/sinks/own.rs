//! Database servers that the benchmark starts. Each has its own folder and port, and is removed afterwards.

use std::env;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Url;

/// A folder that is removed when dropped.
pub(super) struct Scratch(PathBuf);

impl Scratch {
    /// Creates a folder of this name.
    pub(super) fn make(inside: &Path, name: &str) -> Result<Self, String> {
        let folder = inside.join(name);
        let made = fs::create_dir_all(inside).and_then(|()| fs::create_dir(&folder));
        made.map_err(|why| format!("{}: {why}", folder.display()))?;
        Ok(Scratch(folder))
    }

    /// The path of the folder.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A database server that we started.
pub(super) struct OwnServer {
    url: Url,
    child: Child,
    /// The signal that stops the server without waiting for its clients.
    signal: &'static str,
    folder: Scratch,
}

impl OwnServer {
    /// Starts PostgreSQL as `initdb` configures it.
    pub(super) fn postgres(inside: &Path) -> Result<Self, String> {
        let (folder, port) = (data_folder(inside, "postgres")?, free_port()?);
        let mut initdb = as_user("postgres", &program("initdb")?);
        initdb.args(["-A", "trust", "-U", "rutter", "-D"]);
        run(initdb.arg(folder.path().join("data")))?;
        let mut server = as_user("postgres", &program("postgres")?);
        server.arg("-D").arg(folder.path().join("data"));
        server.arg("-k").arg(folder.path());
        server.args(["-h", "127.0.0.1", "-p", &port.to_string()]);
        let url = format!("postgres://rutter@127.0.0.1:{port}/postgres");
        Self::start(server, &url, "INT", folder)
    }

    /// Starts MariaDB with its defaults, but with a buffer pool large enough for the table.
    pub(super) fn mariadb(inside: &Path) -> Result<Self, String> {
        let (folder, port) = (data_folder(inside, "mysql")?, free_port()?);
        let data = format!("--datadir={}", folder.path().join("data").display());
        let mut install = as_user("mysql", &program("mariadb-install-db")?);
        install.args(["--no-defaults", "--auth-root-authentication-method=normal"]);
        run(install.arg(&data))?;
        let mut server = as_user("mysql", &program("mariadbd")?);
        server.arg("--no-defaults").arg(&data);
        // A starting server removes temporary files that look like its own. In a shared folder they may belong to
        // another server.
        server.arg(data.replace("--datadir", "--tmpdir"));
        server.arg(format!("--socket={}", folder.path().join("s").display()));
        server.args([&format!("--port={port}"), "--bind-address=127.0.0.1"]);
        server.arg(BUFFER_POOL);
        let url = format!("mariadb://root@127.0.0.1:{port}/test");
        Self::start(server, &url, "TERM", folder)
    }

    fn start(
        mut server: Command,
        url: &str,
        signal: &'static str,
        folder: Scratch,
    ) -> Result<Self, String> {
        let failed = |why: std::io::Error| format!("{server:?}: {why}");
        let log = fs::File::create(folder.path().join("log")).map_err(failed)?;
        let second = log.try_clone().map_err(failed)?;
        server.stdin(Stdio::null()).stdout(log).stderr(second);
        let child = server.spawn().map_err(|why| format!("{server:?}: {why}"))?;
        Ok(OwnServer {
            url: url.parse()?,
            child,
            signal,
            folder,
        })
    }

    /// Waits until the server answers.
    pub(super) fn connect<T>(
        &mut self,
        connect: impl Fn(&Url) -> Result<T, String>,
    ) -> Result<T, String> {
        let end = Instant::now() + TIMEOUT;
        loop {
            let why = match connect(&self.url) {
                Ok(server) => return Ok(server),
                Err(why) => why,
            };
            let alive = matches!(self.child.try_wait(), Ok(None));
            if !alive || Instant::now() >= end {
                let log = fs::read_to_string(self.folder.path().join("log"));
                return Err(format!("{why}\n{}", log.unwrap_or_default()));
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        let id = self.child.id().to_string();
        let _ = Command::new("kill").args(["-s", self.signal, &id]).status();
        let end = Instant::now() + TIMEOUT;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() >= end {
                let _ = self.child.kill();
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The size of MariaDB's buffer pool. With the default of 128 MB the benchmark would measure the disk.
const BUFFER_POOL: &str = "--innodb-buffer-pool-size=1G";
/// The maximum time that a server may take to start and to stop.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Creates a folder that belongs to the server's user.
fn data_folder(inside: &Path, user: &str) -> Result<Scratch, String> {
    let folder = Scratch::make(inside, user)?;
    if is_root() {
        let id = |what: &str| -> Result<u32, String> {
            let text = run(Command::new("id").args([what, user]))?;
            text.trim()
                .parse()
                .map_err(|_| format!("id {what}: {text}"))
        };
        let given = chown(folder.path(), Some(id("-u")?), Some(id("-g")?));
        given.map_err(|why| format!("{}: {why}", folder.path().display()))?;
    }
    Ok(folder)
}

/// Returns a command that ends with this process. As root it switches to `user`, because database servers refuse to run
/// as root.
fn as_user(user: &str, program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "INT"]);
    if is_root() {
        command.args(["--reuid", user, "--regid", user, "--clear-groups"]);
    }
    command.arg("--").arg(program);
    command
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0)
}

/// Returns a port that was free a moment ago.
fn free_port() -> Result<u16, String> {
    let socket = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let address = socket.map_err(|why| format!("no port is free: {why}"))?;
    Ok(address.port())
}

/// Finds a program. Debian keeps PostgreSQL's programs outside of `PATH`.
fn program(name: &str) -> Result<PathBuf, String> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let versions = versions.flatten().map(|version| version.path().join("bin"));
    let newest = versions.filter(|bin| bin.join(name).exists()).max();
    let path = env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let mut folders = newest
        .into_iter()
        .chain(env::split_paths(&path))
        .chain(usual);
    let found = folders.find(|folder| folder.join(name).exists());
    found.map(|folder| folder.join(name)).ok_or_else(|| {
        format!(
            "{name} is not installed: install postgresql and mariadb-server, or name a database"
        )
    })
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|why| format!("{command:?}: {why}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => {
            let described = String::from_utf8_lossy(&output.stderr);
            Err(format!("{command:?}: {}\n{described}", output.status))
        }
    }
}
