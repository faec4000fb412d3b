//! `rutter check` looks at what of the disk a configuration names.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A program that is written in one thread cannot be run while a child of another thread still has its file open for
/// writing, as each has from its birth until it is another program: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// A folder of its own with the program in it, gone afterwards.
struct Place(
    PathBuf,
    #[expect(dead_code, reason = "held")] MutexGuard<'static, ()>,
);

impl Place {
    fn new(name: &str) -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = format!("rutter-check-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_rutter"), folder.join("rutter")).unwrap();
        Place(folder, alone)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }

    /// The program that knows TLS, which says so much and fails.
    fn judge(&self, says: &str) {
        let text = format!("#!/bin/sh\necho \"error: $1 {says}\" >&2\nexit 1\n");
        self.write("rutter-collect", &text);
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.0.join("rutter-collect"), executable).unwrap();
    }

    /// Whether it is good, and what is said of a configuration with these sections.
    fn check(&self, sections: &str) -> (bool, String) {
        let folder = self.0.display();
        let head = format!(
            "[router]\nasn = 64500\nrouter-id = \"192.0.2.1\"\n[daemon]\ncontrol-socket = \"{folder}/s\"\n"
        );
        self.write("c.toml", &(head + sections));
        let mut command = Command::new(self.0.join("rutter"));
        command.args(["check", "c.toml"]).current_dir(&self.0);
        let output = command.output().unwrap();
        (
            output.status.success(),
            String::from_utf8(output.stderr).unwrap(),
        )
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const SQL: &str = "[sql]\ntls-certificate = \"cert.pem\"\ntls-key = \"key.pem\"\n";
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\n";
const KEY: &str = "-----BEGIN PRIVATE KEY-----\n";

#[test]
fn certificates_and_keys_are_looked_at() {
    let place = Place::new("tls");
    let (good, said) = place.check(SQL);
    assert!(!good, "{said}");
    let at = |line, key, what| format!("c.toml:{line}: error: {key}: {what}");
    let missing = at("7:19", "sql.tls-certificate", "cannot read cert.pem: ");
    assert!(said.contains(&missing), "{said}");
    let missing = at("8:11", "sql.tls-key", "cannot read key.pem: ");
    assert!(said.contains(&missing), "{said}");

    place.write("cert.pem", KEY);
    place.write("key.pem", "-----BEGIN ENCRYPTED PRIVATE KEY-----\n");
    let (good, said) = place.check(SQL);
    assert!(!good, "{said}");
    assert!(said.contains("cert.pem holds no certificate"), "{said}");
    assert!(said.contains("key.pem is locked by a passphrase"), "{said}");

    place.write("cert.pem", CERTIFICATE);
    place.write("key.pem", CERTIFICATE);
    let (good, said) = place.check(SQL);
    assert!(!good, "{said}");
    assert!(said.contains("key.pem holds no private key"), "{said}");
}

#[test]
fn whoever_knows_tls_says_whether_key_and_certificate_belong_together() {
    let place = Place::new("pair");
    place.write("cert.pem", CERTIFICATE);
    place.write("key.pem", KEY);
    let (good, said) = place.check(SQL);
    assert!(good, "{said}");
    assert!(
        said.contains("c.toml:8:11: warning: sql.tls-key: "),
        "{said}"
    );
    assert!(said.contains("was not looked at"), "{said}");
    place.judge("$2 $3");
    let (good, said) = place.check(SQL);
    assert!(!good, "{said}");
    let wrong = "c.toml:8:11: error: sql.tls-key: check-tls cert.pem key.pem\n";
    assert!(said.contains(wrong), "{said}");
}

#[test]
fn what_may_come_later_is_a_warning() {
    let place = Place::new("later");
    let (good, said) = place.check(
        "[rpki]\nvrps = \"vrps.json\"\n[[sink]]\ntype = \"mariadb\"\nhost = \"/nonexistent/s\"\nspool = \"spool\"\n",
    );
    assert!(good, "{said}");
    assert!(
        said.contains("c.toml:7:8: warning: rpki.vrps: vrps.json: No such"),
        "{said}"
    );
    assert!(
        said.contains("c.toml:10:8: warning: sink.host: cannot find /nonexistent/s"),
        "{said}"
    );
    place.write("vrps.json", "{\"roas\": 7}");
    let (_, said) = place.check("[rpki]\nvrps = \"vrps.json\"\n");
    assert!(said.contains("invalid type"), "{said}");
    place.write("vrps.json", "{\"roas\": []}");
    let (good, said) = place.check("[rpki]\nvrps = \"vrps.json\"\n");
    assert!(good && said.is_empty(), "{said}");
}

#[test]
fn what_is_no_folder_cannot_be_written_to() {
    let place = Place::new("folder");
    place.write("file", "");
    let sections = "[history]\npath = \"file/history\"\n[mrt]\ndirectory = \"file\"\n[[sink]]\n\
                    type = \"postgres\"\nspool = \"file/a/b\"\n";
    let (good, said) = place.check(sections);
    assert!(!good, "{said}");
    for (at, key) in [
        ("7:8", "history.path"),
        ("9:13", "mrt.directory"),
        ("12:9", "sink.spool"),
    ] {
        let start = format!("c.toml:{at}: error: {key}: ");
        let line = said.lines().find(|line| line.starts_with(&start));
        assert!(
            line.is_some_and(|line| line.ends_with("/file is not one")),
            "{key}: {said}"
        );
    }
    let (good, said) = place.check("[mrt]\ndirectory = \"new/mrt\"\n");
    assert!(good && said.is_empty(), "{said}");
    assert!(!Path::new("new").exists());
}

#[test]
fn what_a_route_server_reads_past_is_said() {
    let place = Place::new("collector");
    let (good, said) = place.check("[mrt]\ndirectory = \"mrt\"\n[history]\npath = \"h\"\n[sql]\n");
    assert!(good, "{said}");
    let wanted = "c.toml:8:2: warning: only `rutter collect` serves [sql], [history]; `rutter run` reads past them\n";
    assert!(said.starts_with(wanted), "{said}");
    // Whoever runs it is told the same.
    let text = fs::read_to_string(place.0.join("c.toml")).unwrap();
    place.write(
        "c.toml",
        &text.replace("[daemon]\n", "[daemon]\nlisten = \"127.0.0.1:0\"\n"),
    );
    let wanted = wanted.replace(":8:2:", ":9:2:");
    let mut command = Command::new(place.0.join("rutter"));
    command
        .args(["run", "c.toml", "--end-with-stdin"])
        .current_dir(&place.0);
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains(&wanted), "{said}");
}

#[test]
#[cfg(target_os = "linux")]
fn nobody_makes_folders_among_the_kernels() {
    let place = Place::new("kernel");
    let (good, said) = place.check("[history]\npath = \"/proc/x\"\n");
    assert!(!good, "{said}");
    assert!(said.contains("/proc/x cannot be a folder"), "{said}");
}
