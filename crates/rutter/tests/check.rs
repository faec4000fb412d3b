//! `rutter check` checks the files and folders that a configuration names.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Serialises the tests. A program file that one thread writes cannot run while a child of another thread still has it
/// open for writing, between fork and exec.
static ALONE: Mutex<()> = Mutex::new(());

/// A temporary folder with a copy of the program.
struct TestFolder(
    PathBuf,
    #[expect(dead_code, reason = "held")] MutexGuard<'static, ()>,
);

impl TestFolder {
    fn new(name: &str) -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = format!("rutter-check-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_rutter"), folder.join("rutter")).unwrap();
        TestFolder(folder, alone)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }

    /// Writes a collector program that prints this message and fails.
    fn write_collector_program(&self, message: &str) {
        let text = format!("#!/bin/sh\necho \"error: $1 {message}\" >&2\nexit 1\n");
        self.write("rutter-collect", &text);
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.0.join("rutter-collect"), executable).unwrap();
    }

    fn rutter(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.0.join("rutter"));
        command.args(arguments).current_dir(&self.0);
        command
    }

    /// Runs a command with this file as standard input. Returns standard output and standard error.
    fn with_input(&self, arguments: &[&str], name: &str) -> (String, String) {
        let input = fs::File::open(self.0.join(name)).unwrap();
        let output = self.rutter(arguments).stdin(input).output().unwrap();
        [output.stdout, output.stderr]
            .map(|text| String::from_utf8(text).unwrap())
            .into()
    }

    /// Checks a configuration with these sections. Returns whether it is valid, and standard error.
    fn check(&self, sections: &str) -> (bool, String) {
        let folder = self.0.display();
        let head = format!(
            "[router]\nasn = 64500\nrouter-id = \"192.0.2.1\"\n[daemon]\ncontrol-socket = \"{folder}/s\"\n"
        );
        self.write("c.toml", &(head + sections));
        let output = self.rutter(&["check", "c.toml"]).output().unwrap();
        (
            output.status.success(),
            String::from_utf8(output.stderr).unwrap(),
        )
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const SQL: &str = "[sql]\ntls-certificate = \"cert.pem\"\ntls-key = \"key.pem\"\n";
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\n";
const KEY: &str = "-----BEGIN PRIVATE KEY-----\n";

#[test]
fn lists_of_as_sets_are_read() {
    let folder = TestFolder::new("lists");
    folder.write("origins", "192.0.2.0/24 AS64501\n");
    folder.write("prefixes", "192.0.2.0/24\n");
    folder.write("wrong", "192.0.2.0/24\n192.0.2/24\n");
    let check = |file: &str| {
        let files = format!("[irr.files]\n\"AS-FOO\" = \"{file}\"\n");
        folder.check(&files)
    };
    let (valid, text) = check("origins");
    assert!(valid && !text.contains("AS numbers"), "{text}");
    let (valid, text) = check("prefixes");
    assert!(
        valid && text.contains("so the origins of the AS-SET come from a server"),
        "{text}"
    );
    let (valid, text) = check("wrong");
    assert!(valid && text.contains("line 2"), "{text}");
}

#[test]
fn certificates_and_keys_are_checked() {
    let place = TestFolder::new("tls");
    let (good, stderr) = place.check(SQL);
    assert!(!good, "{stderr}");
    let at = |line, key, what| format!("c.toml:{line}: error: {key}: {what}");
    let missing = at("7:19", "sql.tls-certificate", "cannot read cert.pem: ");
    assert!(stderr.contains(&missing), "{stderr}");
    let missing = at("8:11", "sql.tls-key", "cannot read key.pem: ");
    assert!(stderr.contains(&missing), "{stderr}");

    place.write("cert.pem", KEY);
    for encrypted in [
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\n",
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n",
    ] {
        place.write("key.pem", encrypted);
        let (good, stderr) = place.check(SQL);
        assert!(!good, "{stderr}");
        assert!(
            stderr.contains("cert.pem does not contain a certificate"),
            "{stderr}"
        );
        assert!(stderr.contains("key.pem is encrypted"), "{stderr}");
        let remedy = "`openssl pkey -in key.pem -out NEW`";
        assert!(stderr.contains(remedy), "{stderr}");
    }

    place.write("cert.pem", CERTIFICATE);
    place.write("key.pem", CERTIFICATE);
    let (good, stderr) = place.check(SQL);
    assert!(!good, "{stderr}");
    assert!(
        stderr.contains("key.pem does not contain a private key"),
        "{stderr}"
    );
}

#[test]
fn the_collector_program_compares_key_and_certificate() {
    let place = TestFolder::new("pair");
    place.write("cert.pem", CERTIFICATE);
    place.write("key.pem", KEY);
    let (good, stderr) = place.check(SQL);
    assert!(good, "{stderr}");
    assert!(
        stderr.contains("c.toml:8:11: warning: sql.tls-key: "),
        "{stderr}"
    );
    assert!(stderr.contains("was not compared"), "{stderr}");
    place.write_collector_program("$2 $3");
    let (good, stderr) = place.check(SQL);
    assert!(!good, "{stderr}");
    let wrong = "c.toml:8:11: error: sql.tls-key: check-tls cert.pem key.pem\n";
    assert!(stderr.contains(wrong), "{stderr}");
}

#[test]
fn the_files_of_each_sink_are_checked() {
    let place = TestFolder::new("sink-tls");
    let sink = |kind: &str, name: &str| {
        place.write(&format!("{name}.pem"), CERTIFICATE);
        place.write(&format!("{name}.key"), KEY);
        format!(
            "[[sink]]\ntype = \"{kind}\"\nspool = \"{kind}\"\ntls-ca-file = \"ca-{name}.pem\"\n\
             tls-certificate = \"{name}.pem\"\ntls-key = \"{name}.key\"\n"
        )
    };
    let sinks = sink("postgres", "a") + &sink("mariadb", "b");
    place.write("ca-a.pem", KEY);
    place.write_collector_program("$2 $3");
    let (good, stderr) = place.check(&sinks);
    assert!(!good, "{stderr}");
    for finding in [
        "c.toml:9:15: error: sink.tls-ca-file: ca-a.pem does not contain a certificate",
        "c.toml:11:11: error: sink.tls-key: check-tls a.pem a.key",
        "c.toml:15:15: error: sink.tls-ca-file: cannot read ca-b.pem: ",
        "c.toml:17:11: error: sink.tls-key: check-tls b.pem b.key",
    ] {
        assert!(stderr.contains(finding), "{finding} is not in {stderr}");
    }
}

#[test]
fn missing_files_that_may_appear_later_are_warnings() {
    let place = TestFolder::new("later");
    let (good, stderr) = place.check(
        "[rpki]\nvrps = \"vrps.json\"\n[[sink]]\ntype = \"mariadb\"\nhost = \"/nonexistent/s\"\nspool = \"spool\"\n",
    );
    assert!(good, "{stderr}");
    assert!(
        stderr.contains("c.toml:7:8: warning: rpki.vrps: vrps.json: No such"),
        "{stderr}"
    );
    assert!(
        stderr.contains("c.toml:10:8: warning: sink.host: cannot find /nonexistent/s"),
        "{stderr}"
    );
    place.write("vrps.json", "{\"roas\": 7}");
    let (_, stderr) = place.check("[rpki]\nvrps = \"vrps.json\"\n");
    assert!(stderr.contains("invalid type"), "{stderr}");
    place.write("vrps.json", "{\"roas\": []}");
    let (good, stderr) = place.check("[rpki]\nvrps = \"vrps.json\"\n");
    assert!(good && stderr.is_empty(), "{stderr}");
}

#[test]
fn dumps_with_another_form_are_warnings() {
    let place = TestFolder::new("dumps");
    let irr = "[irr]\nserver = \"whois.example.net\"\narin-whois = \"arin.json\"\nregistro-br = \"br.txt\"\n\
               peeringdb = \"pdb.json\"\n";
    place.write("arin.json", "{\"json_schema\": \"9\"}");
    place.write("br.txt", "AS64500|holder\n");
    place.write("pdb.json", "{\"data\": []}");
    let (good, stderr) = place.check(irr);
    assert!(good, "{stderr}");
    for (key, part) in [
        (
            "irr.arin-whois",
            "arin.json: line 1: missing field `source`",
        ),
        (
            "irr.registro-br",
            "br.txt: line 1: the line has fewer than 3 fields",
        ),
        ("irr.peeringdb", "pdb.json has no entries that Rutter uses"),
    ] {
        let finding = format!("warning: {key}: {part}");
        assert!(stderr.contains(&finding), "{finding}\n{stderr}");
    }
    place.write("br.txt", "AS64500|holder|1|192.0.2.0/24\n");
    let (_, stderr) = place.check(irr);
    assert!(!stderr.contains("registro-br"), "{stderr}");
}

#[test]
fn a_file_is_not_a_folder() {
    let place = TestFolder::new("folder");
    place.write("file", "");
    let sections = "[history]\npath = \"file/history\"\n[mrt]\ndirectory = \"file\"\n[[sink]]\n\
                    type = \"postgres\"\nspool = \"file/a/b\"\n";
    let (good, stderr) = place.check(sections);
    assert!(!good, "{stderr}");
    for (at, key) in [
        ("7:8", "history.path"),
        ("9:13", "mrt.directory"),
        ("12:9", "sink.spool"),
    ] {
        let start = format!("c.toml:{at}: error: {key}: ");
        let line = stderr.lines().find(|line| line.starts_with(&start));
        assert!(
            line.is_some_and(|line| line.ends_with("/file is not one")),
            "{key}: {stderr}"
        );
    }
    let (good, stderr) = place.check("[mrt]\ndirectory = \"new/mrt\"\n");
    assert!(good && stderr.is_empty(), "{stderr}");
    assert!(!Path::new("new").exists());
}

#[test]
fn sections_that_a_route_server_ignores_are_reported_by_run_alone() {
    let place = TestFolder::new("collector");
    let (good, stderr) =
        place.check("[mrt]\ndirectory = \"mrt\"\n[history]\npath = \"h\"\n[sql]\n");
    // The file may be that of a collector.
    assert!(good && stderr.is_empty(), "{stderr}");
    let output = place.rutter(&["check", "c.toml"]).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(
        stdout.starts_with("c.toml: valid for `rutter collect`; AS64500"),
        "{stdout}"
    );
    let text = place.read("c.toml");
    place.write(
        "c.toml",
        &text.replace("[daemon]\n", "[daemon]\nlisten = \"127.0.0.1:0\"\n"),
    );
    let wanted = "c.toml:9:2: warning: only `rutter collect` serves [sql], [history]; `rutter run` ignores them\n";
    let mut command = place.rutter(&["run", "c.toml", "--end-with-stdin"]);
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains(wanted), "{stderr}");
}

#[test]
fn standard_input_is_checked_and_compared() {
    let place = TestFolder::new("stdin");
    place.check("");
    let (stdout, stderr) = place.with_input(&["check", "-"], "c.toml");
    assert!(
        stdout.starts_with("standard input: valid; AS64500"),
        "{stdout}{stderr}"
    );
    place.write("wrong.toml", &(place.read("c.toml") + "no-such-key = 1\n"));
    let (_, stderr) = place.with_input(&["check", "-"], "wrong.toml");
    assert!(
        stderr.starts_with("standard input:6:1: error: "),
        "{stderr}"
    );
    let neighbor =
        "[[neighbor]]\nasn = 64501\naddress = \"192.0.2.7\"\nimport = \"all\"\nexport = \"all\"\n";
    place.write("new.toml", &(place.read("c.toml") + neighbor));
    let new = place.with_input(&["diff", "-", "--against", "c.toml"], "new.toml");
    let file = place.with_input(&["diff", "new.toml", "--against", "c.toml"], "new.toml");
    assert_eq!(new, file);
    assert!(new.0.contains("192.0.2.7"), "{new:?}");
    let back = place.with_input(&["diff", "c.toml", "--against", "-"], "new.toml");
    assert!(back.0 != new.0 && !back.0.is_empty(), "{back:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn folders_on_kernel_file_systems_are_refused() {
    let place = TestFolder::new("kernel");
    let (good, stderr) = place.check("[history]\npath = \"/proc/x\"\n");
    assert!(!good, "{stderr}");
    assert!(stderr.contains("/proc/x cannot be a folder"), "{stderr}");
}

/// A session that should be signed never runs without signatures.
#[test]
fn tcp_ao_is_accepted_where_the_kernel_has_it_and_refused_elsewhere() {
    let folder = TestFolder::new("tcp-ao");
    folder.write("key", "a key of a neighbor\n");
    let sections = "[[neighbor]]\nasn = 64501\naddress = \"192.0.2.2\"\nimport = \"all\"\nexport = \"all\"\n\
                    tcp-ao = [{ send-id = 1, receive-id = 1, key-file = \"key\" }]\n";
    let (is_valid, errors) = folder.check(sections);
    match is_valid {
        true => assert_eq!(errors, ""),
        false => {
            assert!(
                errors.contains("tcp-ao: this kernel has no TCP-AO"),
                "{errors}"
            );
            assert!(errors.contains("key-file"), "{errors}");
            assert!(errors.contains("CONFIG_TCP_AO"), "{errors}");
        }
    }
}
