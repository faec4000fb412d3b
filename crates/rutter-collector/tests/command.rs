//! The binary as a user runs it.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

#[test]
fn a_bad_file_is_1_with_every_error() {
    let folder = std::env::temp_dir().join(format!("rutter-collect-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("bad.toml");
    fs::write(&file, "[router]\nasn = 0\n[collector]\nnam = 1\n").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_rutter-collect"))
        .arg("collect")
        .arg(&file)
        .output()
        .unwrap();
    fs::remove_dir_all(folder).unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(message.contains("bad.toml:4:"), "{message}");
    assert!(message.contains("`name`"), "{message}");
}

/// Only one demonstration runs at a time: they use the same ports if these are free.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[test]
fn a_demonstration_collects_every_route() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = std::env::temp_dir().join(format!("rutter-collect-demo-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_rutter-collect"))
        .args([
            "collect",
            "--demo",
            "--once",
            "--feeds",
            "4",
            "--destinations",
            "1000",
        ])
        .arg("--socket")
        .arg(folder.join("s"))
        .output()
        .unwrap();
    fs::remove_dir_all(folder).unwrap();
    let (text, errors) = (output.stdout, String::from_utf8(output.stderr).unwrap());
    let text = String::from_utf8(text).unwrap();
    assert!(output.status.success(), "{errors}");
    assert!(text.contains("Collected 2000 routes of 4 peers"), "{text}");
    assert_eq!(errors, "");
}

/// A demonstration that ends when dropped.
struct Demonstration(Child);

impl Drop for Demonstration {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_demonstration_answers_while_feeds_come_in() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = std::env::temp_dir().join(format!("rutter-collect-asked-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let mut demonstration = Command::new(env!("CARGO_BIN_EXE_rutter-collect"));
    demonstration
        .args("collect --demo --feeds 4 --destinations 100000 --socket".split(' '))
        .arg(folder.join("s"))
        .stdout(Stdio::piped());
    let mut demonstration = Demonstration(demonstration.spawn().unwrap());
    let mut lines = BufReader::new(demonstration.0.stdout.take().unwrap()).lines();
    let mut line = |with: &str| {
        let mut lines = lines.by_ref().map(Result::unwrap);
        lines.find(|line| line.contains(with)).unwrap_or_default()
    };
    // The first output is how to query the collector.
    let port = line("psql -h").split_whitespace().nth(4).map(str::to_owned);
    let parameters = format!(
        "host=127.0.0.1 port={} user=anybody dbname=rutter",
        port.unwrap()
    );
    let mut client = postgres::Client::connect(&parameters, postgres::NoTls).unwrap();
    let mut before = 0;
    while before < 200_000 {
        let row = client.query_one("SELECT count(*) FROM routes", &[]);
        let routes: i64 = row.unwrap().get(0);
        assert!((before..=200_000).contains(&routes), "{routes}");
        before = routes;
    }
    assert!(line("Collected").starts_with("Collected 200000 routes of 4 peers"));
    drop(demonstration);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_demonstration_that_is_interrupted_at_once_ends_in_order() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = std::env::temp_dir().join(format!("rutter-collect-int-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let mut demonstration = Command::new(env!("CARGO_BIN_EXE_rutter-collect"));
    demonstration
        .args("collect --demo --feeds 4 --destinations 400000 --socket".split(' '))
        .arg(folder.join("s"))
        .stdout(Stdio::piped());
    let mut demonstration = Demonstration(demonstration.spawn().unwrap());
    let mut out = BufReader::new(demonstration.0.stdout.take().unwrap());
    let mut output_text = String::new();
    // At this time the table is not generated yet.
    while !output_text.contains("psql -h") {
        assert!(
            out.read_line(&mut output_text).unwrap() > 0,
            "{output_text}"
        );
    }
    let kill = format!("kill -INT {}", demonstration.0.id());
    let sent = Command::new("/bin/sh").args(["-c", &kill]).status();
    assert!(sent.unwrap().success());
    out.read_to_string(&mut output_text).unwrap();
    let status = demonstration.0.wait().unwrap();
    assert!(status.success(), "{status}: {output_text}");
    assert!(!output_text.contains("Collected"), "{output_text}");
    assert!(!folder.join("s").exists());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn no_octets_are_no_table() {
    let folder = std::env::temp_dir().join(format!("rutter-collect-none-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("given.parquet");
    fs::write(&file, []).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_rutter-collect"))
        .args(["sql", "SELECT count(*) FROM given", "--parquet"])
        .arg(&file)
        .output()
        .unwrap();
    fs::remove_dir_all(folder).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(errors.contains("is empty"), "{errors}");
}

#[test]
fn a_key_of_another_certificate_is_named() {
    let folder = std::env::temp_dir().join(format!("rutter-collect-tls-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    for name in ["one", "two"] {
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-nodes", "-days", "1"])
            .args([
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-subj",
                "/CN=here",
            ])
            .args([
                "-keyout",
                &format!("{name}.key"),
                "-out",
                &format!("{name}.pem"),
            ])
            .current_dir(&folder)
            .output();
        let made = made.expect("openssl runs: tools/install-test-deps installs it");
        assert!(made.status.success(), "{made:?}");
    }
    let check = |certificate: &str, key: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rutter-collect"));
        command.args(["check-tls", certificate, key]);
        let output = command.current_dir(&folder).output().unwrap();
        (
            output.status.success(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    assert_eq!(check("one.pem", "one.key"), (true, String::new()));
    let (good, output_text) = check("one.pem", "two.key");
    assert!(
        !good && output_text.contains("it is not the key of one.pem"),
        "{output_text}"
    );
    // The files may be those of a sink.
    assert!(!output_text.contains("SQL"), "{output_text}");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_folder_that_cannot_be_used_is_named_with_what_to_do() {
    let folder = std::env::temp_dir().join(format!("rutter-collect-dir-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (file, wrong) = (folder.join("c.toml"), folder.join("file"));
    fs::write(&wrong, "").unwrap();
    let (socket, wrong) = (folder.join("s"), wrong.display());
    for (section, says, key) in [
        (
            format!("[history]\npath = \"{wrong}\""),
            "history: cannot use the folder",
            "`history.path`",
        ),
        (
            format!("[[sink]]\ntype = \"postgres\"\nspool = \"{wrong}\""),
            "sink postgres: cannot use the spool",
            "`spool` in its [[sink]]",
        ),
        (
            format!("[mrt]\ndirectory = \"{wrong}\""),
            "mrt: cannot write in",
            "`mrt.directory`",
        ),
    ] {
        let text = format!(
            "[router]\nasn = 64500\nrouter-id = \"192.0.2.1\"\n[daemon]\nthreads = 1\n\
             listen = [\"127.0.0.1:0\"]\ncontrol-socket = \"{}\"\n{section}\n",
            socket.display()
        );
        fs::write(&file, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_rutter-collect"));
        let output = command.arg("collect").arg(&file).output().unwrap();
        let output_text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{output_text}");
        let line = output_text.lines().find(|line| line.starts_with("error: "));
        let line = line.unwrap_or_default();
        assert!(line.contains(&format!("{says} {wrong}: ")), "{output_text}");
        assert!(output_text.contains(key), "{output_text}");
    }
    fs::remove_dir_all(&folder).unwrap();
}
