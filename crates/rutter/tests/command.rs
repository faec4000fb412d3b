//! The command as a user runs it: exit codes, messages, and a small demonstration end to end.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

fn rutter(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rutter"));
    command.args(arguments).env_remove("RUTTER_SOCKET");
    command
}

fn run(arguments: &[&str]) -> (i32, String, String) {
    result(rutter(arguments))
}

fn result(mut command: Command) -> (i32, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

/// Creates a temporary folder for a test.
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
        message.contains("similar subcommands exist: 'shadow', 'show'"),
        "{message}"
    );
    assert_eq!(run(&["explain"]).0, 2);
    assert_eq!(run(&["clear", "x", "--soft-in", "--soft-out"]).0, 2);
}

/// As with `2>&1 | head -1`: the exit status is still correct.
#[test]
fn a_closed_output_is_not_an_error() {
    let folder = folder("unheard");
    let file = folder.join("bad.toml");
    fs::write(&file, "[router]\nasn = 0\nnam = 1\n").unwrap();
    let check = ["check", file.to_str().unwrap()];
    for arguments in [
        &check[..],
        &["show", "peers", "--socket", "/nonexistent/socket"],
    ] {
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(theirs);
        let mut command = rutter(arguments);
        let ended = command.stderr(OwnedFd::from(ours)).status().unwrap();
        assert_eq!(ended.code(), Some(1), "{arguments:?}");
    }
    let (ours, theirs) = UnixStream::pair().unwrap();
    drop(theirs);
    let mut clients = rutter(&["bench", "S1", "--print-clients"]);
    let ended = clients.stdout(OwnedFd::from(ours)).status().unwrap();
    assert_eq!(ended.code(), Some(0));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_signal_before_the_configuration_is_read_ends_the_daemon_cleanly() {
    let folder = folder("early");
    let (file, socket) = (folder.join("c.toml"), folder.join("s"));
    assert!(
        Command::new("mkfifo")
            .arg(&file)
            .status()
            .unwrap()
            .success()
    );
    let mut command = rutter(&["run"]);
    command.arg(&file).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    // Blocks until the daemon opens the pipe.
    let mut pipe = fs::File::options().write(true).open(&file).unwrap();
    let kill = format!("kill -TERM {}", child.id());
    let sent = Command::new("/bin/sh").args(["-c", &kill]).status();
    assert!(sent.unwrap().success());
    let text = format!(
        "[router]\nasn = 64500\nrouter-id = \"192.0.2.1\"\n[daemon]\nthreads = 1\n\
         listen = [\"127.0.0.1:0\"]\ncontrol-socket = \"{}\"\n",
        socket.display()
    );
    pipe.write_all(text.as_bytes()).unwrap();
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    let text_out = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{text_out}");
    // SIGTERM is the stop of a daemon that starts again (docs/operating.md).
    assert!(text_out.contains("restarting"), "{text_out}");
    fs::remove_dir_all(folder).unwrap();
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
fn a_demo_converges_and_ends() {
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

/// A demo that stays up.
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

    fn with_input(&self, arguments: &[&str], input: &Path) -> (i32, String, String) {
        let mut command = rutter(arguments);
        command.args(["--socket", &self.socket]);
        command.stdin(fs::File::open(input).unwrap());
        result(command)
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
fn a_demo_can_be_inspected_and_stopped() {
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
    looks_up(&demo, &best);
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

/// Looks up the first address of each best route: in the daemon, in bulk, in rows and in a file.
fn looks_up(demo: &Demo, best: &[serde_json::Value]) {
    let address = |route: &serde_json::Value| {
        let prefix = route["prefix"].as_str().unwrap();
        prefix.split_once('/').unwrap().0.to_owned()
    };
    // The first address of a prefix can be inside a longer one, so compare with the answers of the daemon.
    let addresses: Vec<String> = best.iter().map(address).collect();
    let mut arguments = vec!["lookup"];
    arguments.extend(addresses.iter().map(String::as_str));
    let live = demo.rows(&arguments);
    assert_eq!(live.len(), best.len());
    let same = live.iter().zip(best).filter(|(row, route)| {
        row["prefix"] == route["prefix"] && row["attributes"] == route["attributes"]
    });
    assert!(same.count() * 2 > best.len());

    let input = demo.folder.join("addresses");
    fs::write(&input, addresses.join("\n")).unwrap();
    let (code, bulk, message) = demo.with_input(&["lookup", "-", "--json"], &input);
    assert_eq!(code, 0, "{message}");
    let bulk: Vec<serde_json::Value> = bulk
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(bulk, live);

    let rows: String = addresses.iter().map(|a| format!("x,{a}\n")).collect();
    fs::write(&input, format!("a,ip\n{rows}")).unwrap();
    let (code, enriched, message) = demo.with_input(&["enrich", "--column", "ip"], &input);
    assert_eq!((code, message.as_str()), (0, ""));
    let mut lines = enriched.lines();
    assert_eq!(lines.next(), Some("a,ip,asn,prefix,as_path,next_hop"));
    for (row, line) in live.iter().zip(lines) {
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let attributes = &row["attributes"];
        let expected = format!(
            "x,{},{},{},{},{}",
            text(&row["address"]),
            row["origin-as"],
            text(&row["prefix"]),
            text(&attributes["as-path"]),
            text(&attributes["next-hop"]),
        );
        assert_eq!(line, expected);
    }

    enriches_objects(demo, &live);
    let file = demo.folder.join("table.mmdb");
    let file = file.to_str().unwrap();
    let (code, text_out, message) = demo.ask(&["export", "mmdb", file]);
    assert_eq!(code, 0, "{message}");
    assert!(text_out.contains("500 routes"), "{text_out}");
    let octets = fs::read(file).unwrap();
    assert!(octets.windows(14).any(|w| w == b"\xab\xcd\xefMaxMind.com"));
}

/// JSON lines keep all members, and the new columns equal the answers of the daemon.
fn enriches_objects(demo: &Demo, live: &[serde_json::Value]) {
    let object = |row: &serde_json::Value| format!("{{\"n\":[1],\"ip\":{}}}\n", row["address"]);
    let input = demo.folder.join("flows.jsonl");
    let odd = "{\"ip\":\"192.0.2.300\"}\n{\"n\":\"\\\"ip\\\":1\"}\n";
    let objects: String = live.iter().map(object).collect();
    fs::write(&input, objects + odd).unwrap();
    let (code, text, message) = demo.ask(&["enrich", "-c", "ip", input.to_str().unwrap()]);
    assert_eq!(code, 0, "{message}");
    assert!(
        message.contains("2 rows of 502 with no address in `ip`"),
        "{message}"
    );
    let rows: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows.len(), live.len() + 2);
    for (row, answer) in rows.iter().zip(live) {
        let expected = serde_json::json!({
            "n": [1],
            "ip": answer["address"],
            "asn": answer["origin-as"],
            "prefix": answer["prefix"],
            "as_path": answer["attributes"]["as-path"],
            "next_hop": answer["attributes"]["next-hop"],
        });
        assert_eq!(*row, expected);
    }
    assert_eq!(rows[live.len()]["ip"], "192.0.2.300");
    assert!(rows[live.len()]["asn"].is_null());
    assert_eq!(rows[live.len() + 1]["n"], "\"ip\":1");
}

/// Rows as spreadsheets write them: a byte order mark, quotes inside fields, empty lines, no final line feed.
#[test]
fn unusual_rows_are_preserved() {
    let folder = folder("odd");
    let dump = dump(".gz");
    let input = folder.join("hosts.csv");
    fs::write(
        &input,
        "\u{feff}\"host, name\",ip\r\n24\" rack,192.0.2.1\r\n\r\n\"a\"\"b\n\",198.51.100.1\r\n\"x\",\"192.0.2.2\"",
    )
    .unwrap();
    let file = input.to_str().unwrap();
    let (code, text, message) = run(&["enrich", "-c", "ip", "--mrt", &dump, "--add", "asn", file]);
    assert_eq!((code, message.as_str()), (0, ""));
    assert_eq!(
        text,
        "\u{feff}\"host, name\",ip,asn\r\n24\" rack,192.0.2.1,64500\r\n\r\n\"a\"\"b\n\",198.51.100.1,\r\n\"x\",\"192.0.2.2\",64500\n"
    );
    fs::write(&input, "ip,n\n192.0.2.1,1\n192.0.2.1,\"2\n192.0.2.1,3\n").unwrap();
    let (code, _, message) = run(&["enrich", "-c", "ip", "--mrt", &dump, file]);
    assert_eq!(code, 1);
    assert!(
        message.contains("hosts.csv:3: the row does not end"),
        "{message}"
    );
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_invalid_row_does_not_affect_others() {
    let folder = folder("bad-rows");
    let dump = dump(".gz");
    let input = folder.join("input");
    let fed = |arguments: &[&str], text: &str| {
        fs::write(&input, text).unwrap();
        let mut command = rutter(arguments);
        command.args(["--mrt", &dump]);
        command.stdin(fs::File::open(&input).unwrap());
        result(command)
    };
    let (code, text, message) = fed(&["lookup", "-"], "192.0.2.1\nfoo\n::1\n");
    assert_eq!(code, 0, "{message}");
    assert_eq!(
        text,
        "192.0.2.1\t192.0.2.0/24\tAS64500\t192.0.2.1\t192.0.2.1\t64500\nfoo\tno address\t\t\t\t\n::1\tno route\t\t\t\t\n"
    );
    let expected = "standard input: 1 line of 3 with no IP address, the first is line 2: `foo`\n";
    assert_eq!(message, expected);
    let enrich = ["enrich", "-c", "ip", "--add", "asn"];
    let (code, text, message) = fed(&enrich, "a,ip\n1,192.0.2.1\n2,::1\n3\n4,::1\n");
    assert_eq!(code, 1);
    assert_eq!(text, "a,ip,asn\n1,192.0.2.1,64500\n2,::1,\n");
    assert!(message.contains("standard input:4: "), "{message}");

    let twice = fed(&enrich, "ip,asn\n::1,1\n");
    assert_eq!((twice.0, twice.1.as_str()), (1, ""));
    assert!(twice.2.contains("`asn` already"), "{}", twice.2);
    let objects = ["enrich", "-c", "ip", "--add", "asn", "--format", "json"];
    let (code, text, message) = fed(&objects, "{\"x\":1}\n{\"ip\":7}\n{\"ip\":\"::1\",}\n");
    assert_eq!(code, 1);
    assert_eq!(text, "{\"x\":1,\"asn\":null}\n{\"ip\":7,\"asn\":null}\n");
    assert!(message.contains("standard input:3: "), "{message}");
    let (code, _, message) = fed(&objects, "{\"x\":1}\n{\"ip\":7}\n");
    let expected = "standard input: 2 rows of 2 with no address in `ip`, the first in line 1, which has no such member\n";
    assert_eq!((code, message.as_str()), (0, expected));
    let (code, text, message) = fed(&objects, "{\"x\":1}\n");
    assert_eq!((code, text.as_str()), (1, "{\"x\":1,\"asn\":null}\n"));
    assert!(message.contains("none of the objects"), "{message}");
    fs::remove_dir_all(folder).unwrap();
}

/// Returns an MRT table dump with 192.0.2.0/24 from AS 64500. `end` selects the compression.
fn dump(end: &str) -> String {
    format!("{}/tests/dumps/one.mrt{end}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn dumps_are_read_plain_compressed_and_from_standard_input() {
    let folder = folder("dumps");
    for end in ["", ".gz", ".bz2", ".zst"] {
        let dump = dump(end);
        let (code, text, message) = run(&["lookup", "192.0.2.7", "::1", "--mrt", &dump]);
        assert_eq!(code, 0, "{message}");
        let expected = "192.0.2.7\t192.0.2.0/24\tAS64500\t192.0.2.1\t192.0.2.1\t64500\n::1\tno route\t\t\t\t\n";
        assert_eq!(text, expected, "{dump}");
        let mut piped = rutter(&["lookup", "192.0.2.7", "--mrt", "-", "--json"]);
        piped.stdin(fs::File::open(&dump).unwrap());
        let (code, text, message) = result(piped);
        assert_eq!(code, 0, "{message}");
        let row: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(row["origin-as"], 64_500);
        let file = folder.join("one.mmdb");
        let (code, text_out, message) =
            run(&["export", "mmdb", file.to_str().unwrap(), "--mrt", &dump]);
        assert_eq!(code, 0, "{message}");
        assert!(text_out.contains("1 route"), "{text_out}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_export_replaces_only_its_file() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
    let folder = folder("export");
    let dump = dump(".gz");
    let path = |name: &str| folder.join(name);
    let export = |file: &Path| {
        let result = run(&["export", "mmdb", file.to_str().unwrap(), "--mrt", &dump]);
        assert_eq!(result.0, 0, "{}", result.2);
        result
    };
    fs::write(path("old"), "old").unwrap();
    fs::set_permissions(path("old"), fs::Permissions::from_mode(0o640)).unwrap();
    // Only a privileged process may do this. For others the owner stays the same.
    let _ = chown(path("old"), Some(4242), Some(4343));
    let owner = || {
        let found = fs::metadata(path("old")).unwrap();
        (found.uid(), found.gid())
    };
    let before = owner();
    symlink("old", path("link")).unwrap();
    symlink("new", path("to-nothing")).unwrap();
    export(&path("link"));
    export(&path("to-nothing"));
    let mode = fs::metadata(path("old")).unwrap().permissions().mode();
    assert_eq!((mode & 0o777, owner()), (0o640, before));
    let octets = fs::read(path("old")).unwrap();
    assert!(octets.windows(14).any(|w| w == b"\xab\xcd\xefMaxMind.com"));
    for (link, file) in [("link", "old"), ("to-nothing", "new")] {
        assert_eq!(fs::read_link(path(link)).unwrap(), Path::new(file));
        assert!(fs::metadata(path(file)).unwrap().is_file());
    }
    let mut names: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["link", "new", "old", "to-nothing"]);

    let stdout = rutter(&["export", "mmdb", "-", "--mrt", &dump])
        .output()
        .unwrap();
    assert!(stdout.status.success());
    // They differ in the time of the build.
    assert_eq!(stdout.stdout.len(), octets.len());
    assert!(
        stdout
            .stdout
            .windows(14)
            .any(|w| w == b"\xab\xcd\xefMaxMind.com")
    );
    let text_out = String::from_utf8(stdout.stderr).unwrap();
    assert!(text_out.contains("1 route"), "{text_out}");
    let (code, text_out, _) = export(Path::new("/dev/null"));
    assert_eq!((code, text_out.as_str()), (0, ""));
    let nowhere = path("nowhere").join("file");
    let (code, _, message) = run(&["export", "mmdb", nowhere.to_str().unwrap(), "--mrt", &dump]);
    assert_eq!(code, 1);
    assert!(
        message.contains("nowhere/file: cannot create a file"),
        "{message}"
    );
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn invalid_arguments_are_reported() {
    let folder = folder("lookup");
    let vrps = folder.join("vrps.json");
    fs::write(&vrps, "{}").unwrap();
    let vrps = vrps.to_str().unwrap();
    let error = |arguments: &[&str]| {
        let (code, _, message) = run(arguments);
        assert_eq!(code, 1, "{message}");
        message
    };
    assert!(error(&["lookup", "10.0.0.0/8"]).contains("rutter show route"));
    assert!(error(&["lookup", "-", "::1"]).contains("only argument"));
    assert!(error(&["lookup", "::1", "--socket", "/nonexistent"]).contains("rutter run FILE"));
    assert!(error(&["lookup", "::1", "--mrt", "/nonexistent"]).contains("/nonexistent: "));
    assert!(error(&["lookup", "::1", "--mrt", vrps]).contains("vrps.json"));
    assert!(error(&["enrich", "--column", "a", "/nonexistent"]).contains("/nonexistent: "));
    assert!(error(&["enrich", "--column", "a", "--add", "rov"]).contains("--vrps"));
    let both = error(&["enrich", "--column", "a", "--mrt", "-"]);
    assert!(both.contains("only once"), "{both}");
    assert!(error(&["enrich", "-c", "a", "--delimiter", "ab"]).contains("one byte"));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_benchmark_measures_upgrades_and_stops_the_last_process() {
    let output = rutter(&["bench", "2x100", "--upgrade", "2", "--settle", "0"]).output();
    let output = output.unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    for number in 1..=2 {
        let event = format!("upgrade {number} of 2: longest pause ");
        let line = text.lines().find(|line| line.contains(&event));
        let line = line.unwrap_or_else(|| panic!("{text}"));
        assert!(line.contains(" 0 other UPDATEs, 3 sessions of 3"), "{line}");
    }
}

/// A killed benchmark cannot stop the daemon that it has started.
#[test]
#[cfg(target_os = "linux")]
fn the_daemon_of_a_killed_benchmark_ends() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder("held");
    // This daemon never listens, so the benchmark waits for it.
    let (program, started) = (folder.join("daemon"), folder.join("pid"));
    let script = format!(
        "#!/bin/sh\necho $$ > {}\nexec sleep 1000\n",
        started.display()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = rutter(&["bench", "2x10", "--daemon"]);
    command.arg(format!("bird={}", program.display()));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut benchmark = command.env("TMPDIR", &folder).spawn().unwrap();
    let pid: u32 = loop {
        let text = fs::read_to_string(&started).unwrap_or_default();
        if let Some(pid) = text.strip_suffix('\n') {
            break pid.parse().unwrap();
        }
        assert!(benchmark.try_wait().unwrap().is_none(), "it has ended");
        std::thread::sleep(std::time::Duration::from_millis(10));
    };
    assert!(is_alive(pid));
    benchmark.kill().unwrap();
    benchmark.wait().unwrap();
    let begun = std::time::Instant::now();
    while is_alive(pid) {
        assert!(begun.elapsed().as_secs() < 120, "{pid} goes on");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    fs::remove_dir_all(folder).unwrap();
}

/// Returns whether a process runs. A zombie has ended.
fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| &rest[..1]);
    state.is_some_and(|state| state != "Z" && state != "X")
}

/// The units in packaging/ use existing commands, options and pages.
#[test]
fn units_use_existing_commands() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = |path: String| {
        let read = fs::read_to_string(root.join(&path));
        read.unwrap_or_else(|why| panic!("{path}: {why}"))
    };
    for unit in [
        "rutter.service",
        "rutter-collect.service",
        "rutter-grpc.service",
    ] {
        let unit = text(format!("packaging/{unit}"));
        let values = |key: &str| {
            let lines = unit.lines().filter_map(|line| line.split_once('='));
            let found = lines.filter(|(name, _)| *name == key);
            found.map(|(_, value)| value).collect::<Vec<_>>()
        };
        let started = [values("ExecStartPre"), values("ExecStart")].concat();
        assert!(!started.is_empty());
        for line in started {
            let words: Vec<&str> = line.split(' ').collect();
            let [program, command, arguments @ ..] = &*words else {
                panic!("{line}");
            };
            assert_eq!(*program, "/usr/bin/rutter");
            let help = text(format!("docs/cli/rutter-{command}.txt"));
            for option in arguments.iter().filter(|word| word.starts_with('-')) {
                assert!(help.contains(option), "{line}: {option}");
            }
        }
        for page in values("Documentation").join(" ").split(' ') {
            let page = page.strip_prefix("man:").unwrap();
            let (name, section) = page.trim_end_matches(')').split_once('(').unwrap();
            let page = text(format!("docs/man/{name}.{section}"));
            assert!(page.contains(&format!(".TH {name} {section}")));
        }
    }
}
