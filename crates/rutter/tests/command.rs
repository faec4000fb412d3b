//! The command as a user runs it: exit codes, messages, and a small demonstration end to end.

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

fn rutter(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rutter"));
    command.args(arguments).env_remove("RUTTER_SOCKET");
    command
}

fn run(arguments: &[&str]) -> (i32, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = rutter(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

/// A folder of its own for a test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("rutter-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn a_wrong_command_line_is_2() {
    let (code, _, message) = run(&["shwo"]);
    assert_eq!(code, 2);
    assert!(
        message.contains("similar subcommand exists: 'show'"),
        "{message}"
    );
    assert_eq!(run(&["explain"]).0, 2);
    assert_eq!(run(&["clear", "x", "--soft-in", "--soft-out"]).0, 2);
}

#[test]
fn without_a_daemon_it_says_how_to_start_one() {
    let (code, _, message) = run(&["show", "peers", "--socket", "/nonexistent/socket"]);
    assert_eq!(code, 1);
    assert!(message.contains("rutter run FILE"), "{message}");
}

#[test]
fn a_bad_file_is_1_with_every_error() {
    let folder = folder("check");
    let file = folder.join("bad.toml");
    fs::write(&file, "[exchange]\nasn = 0\nlann = []\n").unwrap();
    let file = file.to_str().unwrap();
    let (code, _, message) = run(&["check", file]);
    assert_eq!(code, 1);
    assert!(message.contains("bad.toml:3:"), "{message}");
    let (code, rows, _) = run(&["check", file, "--json"]);
    assert_eq!(code, 1);
    assert!(rows.lines().count() > 1, "{rows}");
    for row in rows.lines() {
        let row: serde_json::Value = serde_json::from_str(row).unwrap();
        assert_eq!(row["kind"], "config-error");
    }
    assert_eq!(run(&["run", file]).0, 1);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn two_files_are_compared_without_a_daemon() {
    let folder = folder("diff");
    let head = "[exchange]\nasn = 3333\nrouter-id = \"192.0.2.1\"\nlan = \"192.0.2.0/24\"\n";
    let member = "[[member]]\nasn = 1101\naddress = \"192.0.2.11\"\n";
    let (old, new) = (folder.join("old.toml"), folder.join("new.toml"));
    fs::write(&old, head).unwrap();
    fs::write(&new, format!("{head}{member}")).unwrap();
    let (old, new) = (old.to_str().unwrap(), new.to_str().unwrap());
    let (code, text, message) = run(&["diff", new, "--against", old]);
    assert_eq!(
        (code, text.as_str()),
        (0, "+ neighbor 192.0.2.11\n"),
        "{message}"
    );
    assert_eq!(run(&["diff", old, "--against", old]).1, "no difference\n");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_demonstration_converges_and_ends() {
    let folder = folder("once");
    let socket = folder.join("s");
    let socket = socket.to_str().unwrap();
    let size = [
        "--destinations",
        "2000",
        "--speakers",
        "4",
        "--threads",
        "2",
    ];
    let mut arguments = vec!["demo", "--once", "--json", "--socket", socket];
    arguments.extend(size);
    let (code, row, message) = run(&arguments);
    assert_eq!(code, 0, "{message}");
    let row: serde_json::Value = serde_json::from_str(&row).unwrap();
    assert_eq!(row["exact-clients"], 5, "{row}");
    assert_eq!(row["routes"], 5000, "{row}");
    assert!(!fs::exists(socket).unwrap());
    fs::remove_dir_all(folder).unwrap();
}

/// A demonstration that stays up, and what it has printed so far.
struct Demo {
    child: Child,
    socket: String,
    folder: PathBuf,
}

impl Demo {
    fn start(name: &str) -> Self {
        let folder = folder(name);
        let socket = folder.join("s").to_str().unwrap().to_owned();
        let mut child = rutter(&["demo", "--destinations", "500", "--speakers", "3"])
            .args(["--socket", &socket])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut out = child.stdout.take().unwrap();
        let mut seen = Vec::new();
        let mut byte = [0];
        while !String::from_utf8_lossy(&seen).contains("Ctrl-C ends it.") {
            assert_eq!(out.read(&mut byte).unwrap(), 1, "it ended early");
            seen.push(byte[0]);
        }
        Demo {
            child,
            socket,
            folder,
        }
    }

    fn ask(&self, arguments: &[&str]) -> (i32, String, String) {
        let mut all = arguments.to_vec();
        all.extend(["--socket", &self.socket]);
        run(&all)
    }

    fn rows(&self, arguments: &[&str]) -> Vec<serde_json::Value> {
        let mut all = arguments.to_vec();
        all.push("--json");
        let (code, text, message) = self.ask(&all);
        assert_eq!(code, 0, "{message}");
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

#[test]
fn a_demonstration_can_be_looked_at_and_stopped() {
    let mut demo = Demo::start("look");
    assert_eq!(demo.rows(&["show", "peers"]).len(), 4);
    let best = demo.rows(&["show", "routes", "--best"]);
    assert_eq!(best.len(), 500);
    assert_eq!(demo.rows(&["show", "routes"]).len(), 1250);
    let prefix = best[0]["prefix"].as_str().unwrap();
    let routes = demo.rows(&["show", "route", prefix]);
    assert_eq!(routes[0]["attributes"], best[0]["attributes"]);
    let explain = &demo.rows(&["explain", prefix])[0];
    assert_eq!(
        explain["candidates"].as_array().unwrap().len(),
        routes.len()
    );
    assert_eq!(explain["clients"].as_array().unwrap().len(), 4);
    assert!(demo.rows(&["show", "rejected"]).is_empty());
    assert!(!demo.rows(&["show", "attributes"]).is_empty());
    assert!(!demo.rows(&["show", "memory"]).is_empty());
    assert!(!demo.rows(&["log"]).is_empty());
    assert!(
        demo.ask(&["clear", "speaker-01", "--soft-out"])
            .1
            .contains("1 session")
    );
    assert_eq!(demo.ask(&["clear", "nobody"]).0, 1);
    assert_eq!(demo.ask(&["reload"]).1, "no difference\nnothing changed\n");
    assert_eq!(demo.ask(&["stop", "--text", "enough"]).0, 0);
    assert!(demo.child.wait().unwrap().success());
    fs::remove_dir_all(&demo.folder).unwrap();
}
