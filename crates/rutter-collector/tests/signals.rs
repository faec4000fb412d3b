//! A signal that arrives before the collector runs: during the load of MRT files, or before it reads the configuration.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rutter_ingest::replay::Speaker;
use rutter_net::{Asn, Prefix};
use rutter_sinks::{Block, Disk, Spool};
use rutter_wire::attr::{TRANSITIVE, code, write_attr};
use rutter_wire::mrt::{PeerEntry, Route, write_peer_index_table, write_rib};

/// A timeout longer than every step of these tests.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A folder that is removed when dropped.
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn new(name: &str) -> Self {
        let folder = format!("rutter-signals-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(&folder).unwrap();
        Folder { path: folder }
    }

    /// Returns the configuration of a collector with an archive and a database that does not answer. It accepts
    /// sessions at a port that is free at its start.
    fn configuration(&self) -> String {
        let folder = self.path.display();
        format!(
            "[router]\nasn = 64500\nrouter-id = \"192.0.2.1\"\n[daemon]\nthreads = 1\n\
             listen = [\"127.77.1.1:0\"]\ncontrol-socket = \"{folder}/s\"\n\
             [history]\npath = \"{folder}/history\"\n\
             [[sink]]\ntype = \"postgres\"\nport = 1\nspool = \"{folder}/spool\"\n\
             [[dynamic-neighbor]]\nprefix = \"127.0.0.0/8\"\nmode = \"collector\"\n"
        )
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// A process that ends when dropped.
struct Rutter(Child);

impl Rutter {
    fn start(arguments: &[&str], file: &Path, more: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rutter-collect"));
        command.args(arguments).arg(file).args(more);
        command.env_remove("RUTTER_SOCKET");
        command.stdin(Stdio::piped()).stderr(Stdio::piped());
        Rutter(command.stdout(Stdio::piped()).spawn().unwrap())
    }

    fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.0.id());
        let sent = Command::new("/bin/sh").args(["-c", &kill]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits for the end of the process. Returns its exit status and output.
    fn end(mut self) -> (ExitStatus, String) {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < TIMEOUT, "it does not end");
            thread::sleep(Duration::from_millis(5));
        };
        let mut output_text = String::new();
        let stderr = self.0.stderr.take();
        stderr.unwrap().read_to_string(&mut output_text).unwrap();
        (status, output_text)
    }
}

impl Drop for Rutter {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The number of routes. It exceeds one read and one commit.
const ROUTES: u32 = 40_000;

fn table() -> Vec<u8> {
    let mut out = Vec::new();
    let peer = PeerEntry {
        bgp_id: 9,
        address: "192.0.2.11".parse().unwrap(),
        asn: Asn(64501),
    };
    write_peer_index_table(&mut out, 1_700_000_000, 1, "", &[peer]);
    let mut attributes = Vec::new();
    write_attr(&mut attributes, TRANSITIVE, code::ORIGIN, &[0]);
    write_attr(
        &mut attributes,
        TRANSITIVE,
        code::AS_PATH,
        &[2, 1, 0, 0, 251, 245],
    );
    write_attr(
        &mut attributes,
        TRANSITIVE,
        code::NEXT_HOP,
        &[198, 51, 100, 7],
    );
    for number in 0..ROUTES {
        let [_, high, middle, low] = number.to_be_bytes();
        let prefix: Prefix = format!("10.{high}.{middle}.{low}/32").parse().unwrap();
        let route = Route {
            peer_index: 0,
            originated_s: 1_700_000_000,
            path_id: 0,
            attributes: &attributes[..],
            next_hop: &[198, 51, 100, 7][..],
        };
        write_rib(&mut out, 1_700_000_000, number, prefix, false, [route]);
    }
    out
}

/// Returns the bytes of all files in a folder.
fn octets(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files
        .filter_map(|file| Some(file.metadata().ok()?.len()))
        .sum()
}

/// Returns the kinds of the rows of a spool, in order.
fn spooled(folder: &Path) -> Vec<String> {
    let whole = octets(folder);
    let mut spool = Spool::open(Disk::open(folder).unwrap(), 1 << 30).unwrap();
    assert!(spool.damage().is_empty(), "the spool is damaged");
    assert_eq!(octets(folder), whole, "a frame was torn off");
    let mut cursor = spool.seek(None, 0).unwrap();
    let mut kinds = Vec::new();
    while let Some((block, next)) = spool.next(cursor).unwrap() {
        let entries = Block::decode(&block).unwrap().entries;
        kinds.extend(entries.iter().map(|entry| entry.kind.name().to_owned()));
        cursor = next;
    }
    kinds
}

/// Returns the lines `kind,rows` of an archive.
fn archived(folder: &Path) -> Vec<String> {
    let query = "SELECT kind, count(*) FROM events GROUP BY 1 ORDER BY 1";
    let output = Command::new(env!("CARGO_BIN_EXE_rutter-collect"))
        .args(["sql", query, "--csv", "--history"])
        .arg(folder)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().skip(1).map(str::to_owned).collect()
}

fn ends_in_order(signal: &str) {
    let folder = Folder::new(signal);
    let file = folder.path.join("c.toml");
    fs::write(&file, folder.configuration()).unwrap();
    let mut rutter = Rutter::start(&["collect"], &file, &["--mrt", "-"]);
    // The standard input stays open: the load continues until a signal ends it.
    let mut stdin = rutter.0.stdin.take().unwrap();
    stdin.write_all(&table()).unwrap();
    let (begun, spool) = (Instant::now(), folder.path.join("spool"));
    while octets(&spool) < 20_000 {
        assert!(begun.elapsed() < TIMEOUT, "nothing comes in");
        thread::sleep(Duration::from_millis(5));
    }
    rutter.signal(signal);
    let (status, output_text) = rutter.end();
    drop(stdin);
    assert!(status.success(), "{status}: {output_text}");
    assert!(
        output_text.contains("stopped while MRT files were loaded"),
        "{output_text}"
    );
    let kinds = spooled(&spool);
    assert_eq!(kinds.first().map(String::as_str), Some("start"));
    assert_eq!(kinds.last().map(String::as_str), Some("stop"));
    let announced = kinds.iter().filter(|kind| *kind == "announce").count();
    assert!(announced > 0);
    let rows = archived(&folder.path.join("history"));
    assert!(rows.contains(&format!("announce,{announced}")), "{rows:?}");
    assert!(rows.contains(&"stop,1".to_owned()), "{rows:?}");
}

#[test]
fn a_load_that_is_terminated_is_flushed() {
    ends_in_order("TERM");
}

#[test]
fn a_load_that_is_interrupted_is_flushed() {
    ends_in_order("INT");
}

/// Starts a process that reads its configuration from a pipe. The signal arrives before the configuration.
fn before_the_configuration(name: &str, signal: &str) -> (Folder, Rutter) {
    let folder = Folder::new(name);
    let file = folder.path.join("c.toml");
    let made = Command::new("mkfifo").arg(&file).status().unwrap();
    assert!(made.success());
    let rutter = Rutter::start(&["collect"], &file, &[]);
    // The open returns once the other side reads.
    let mut pipe = File::options().write(true).open(&file).unwrap();
    rutter.signal(signal);
    let text = folder.configuration();
    let real = folder.path.join("real.toml");
    fs::write(&real, &text).unwrap();
    fs::rename(real, file).unwrap();
    pipe.write_all(text.as_bytes()).unwrap();
    (folder, rutter)
}

#[test]
fn a_signal_before_the_configuration_is_read_ends_it() {
    let (_folder, rutter) = before_the_configuration("early", "TERM");
    let (status, output_text) = rutter.end();
    assert!(status.success(), "{status}: {output_text}");
}

/// Returns the address at which a collector accepts sessions, from its output at the start.
fn listens_at(output_text: &str) -> SocketAddr {
    let (_, address) = output_text.split_once("listen=[").expect("it has started");
    let (address, _) = address.split_once(']').expect("one address");
    address.parse().expect("an address")
}

#[test]
fn an_early_hangup_reloads_once_it_runs_and_peers_receive_a_cease() -> io::Result<()> {
    let (_folder, mut rutter) = before_the_configuration("hup", "HUP");
    let mut output_text = String::new();
    let mut stderr = rutter.0.stderr.take().unwrap();
    let mut octets = [0; 4096];
    while !output_text.contains("configuration reloaded") {
        let count = stderr.read(&mut octets)?;
        assert!(count > 0, "it has ended: {output_text}");
        output_text.push_str(&String::from_utf8_lossy(&octets[..count]));
    }
    rutter.0.stderr = Some(stderr);
    let peer = Speaker::connect(listens_at(&output_text), None, Asn(64501), 7).unwrap();
    // Ctrl-C is a goodbye; SIGTERM is the stop of a collector that starts again.
    rutter.signal("INT");
    let (status, output_text) = rutter.end();
    assert!(status.success(), "{status}: {output_text}");
    let begun = Instant::now();
    let why = loop {
        if let Some(why) = peer.ended() {
            break why;
        }
        assert!(begun.elapsed() < TIMEOUT, "the peer hears nothing");
        thread::sleep(Duration::from_millis(5));
    };
    assert!(why.contains("the collector is being shut down"), "{why}");
    Ok(())
}
