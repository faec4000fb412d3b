//! `rutter grpc` with real clients: Python's grpcio and Go's grpc, both with generated code.

mod clients;
mod stage;

use std::fs;
use std::path::Path;

use rutter_interop::{Lab, Route, Speaker, eventually};

use clients::{Python, go};
use stage::{Grpc, Stage, routes};

/// The tokens `monitor`, `read` and `control`, each with the role of its name.
fn token_file(lab: &Lab) -> String {
    let file = lab.folder("tokens").join("tokens");
    let line = |role: &str| format!("{role} {} # the {role}er\n", stage::sha256(role.as_bytes()));
    let text: String = ["monitor", "read", "control"].map(line).concat();
    fs::write(&file, text).expect("a file");
    file.display().to_string()
}

#[test]
fn python_calls_every_method_that_reads() {
    let stage = Stage::new();
    let mut grpc = Grpc::start(&stage.lab, &stage.rutter, &[]);
    let python = Python::new(&stage.lab);
    let members = [stage.lab.address(2), stage.lab.address(3)].map(|one| one.to_string());
    python.run("reads.py", &[&grpc.address, &members[0], &members[1]]);
    grpc.process.check_alive().unwrap();
}

#[test]
fn the_example_of_the_guide_runs() {
    let stage = Stage::new();
    let grpc = Grpc::start(&stage.lab, &stage.rutter, &[]);
    let mut example = Python::new(&stage.lab).start_example(&grpc.address);
    example.shows("45.11.2.128/25 prefix-length");
    assert!(example.text().contains(" Established\n"));
    // The stream is open once the member has gone often enough.
    eventually("the example shows a session that goes down", || {
        stage
            .rutter
            .ask(&["clear", &stage.lab.address(3).to_string()])?;
        let text = example.text();
        let last = text.lines().last().unwrap_or_default();
        match last.contains("2103") || last.contains("reset") || last.contains("Reset") {
            true => Ok(()),
            false => Err(text),
        }
    });
}

#[test]
fn go_calls_the_server() {
    let stage = Stage::new();
    let tokens = token_file(&stage.lab);
    let control = stage.rutter.socket().display().to_string();
    let arguments = ["--token-file", &tokens, "--control-socket", &control];
    let grpc = Grpc::start(&stage.lab, &stage.rutter, &arguments);
    go(
        &stage.lab,
        &[&grpc.address, &stage.lab.address(3).to_string()],
    );
}

#[test]
fn a_client_with_the_role_changes_the_daemon_and_nobody_else() {
    let mut stage = Stage::new();
    let (lab, rutter) = (&stage.lab, &stage.rutter);
    let tokens = token_file(lab);
    let control = rutter.socket().display().to_string();
    let arguments = ["--token-file", &tokens, "--control-socket", &control];
    let grpc = Grpc::start(lab, rutter, &arguments);
    let text = fs::read_to_string(rutter.config_file()).expect("the configuration");
    let (valid, wrong) = (
        lab.folder("config").join("valid"),
        lab.folder("config").join("wrong"),
    );
    let member = lab.address(3).to_string();
    let described = text.replace("asn = 2103\n", "asn = 2103\ndescription = \"The second\"\n");
    assert_ne!(described, text);
    fs::write(&valid, described).expect("a file");
    fs::write(&wrong, format!("no-such-key = 1\n{text}")).expect("a file");
    let (valid, wrong) = (valid.display().to_string(), wrong.display().to_string());
    Python::new(lab).run("control.py", &[&grpc.address, &member, &valid, &wrong]);
    // The log of the daemon names the client and the owner of its token.
    let log = stage.rutter.process().log();
    let line = log.lines().find(|line| line.contains("clear hard"));
    let line = line.unwrap_or_else(|| panic!("no audit line in {log}"));
    assert!(line.contains("for gRPC client 127."), "{line}");
    assert!(line.contains("(the controler)"), "{line}");
}

#[test]
fn a_certificate_of_the_client_has_a_role() {
    let stage = Stage::new();
    let lab = &stage.lab;
    let folder = lab.folder("tls");
    stage::certificates(&folder);
    let certificate = fs::read(folder.join("client.der")).expect("a certificate");
    let tokens = folder.join("tokens");
    let line = format!("monitor {} # the portal\n", stage::sha256(&certificate));
    fs::write(&tokens, line).expect("a file");
    let path = |name: &str| folder.join(name).display().to_string();
    let [tokens, crt, key, ca] = ["tokens", "server.crt", "server.key", "ca.crt"].map(path);
    let tls = [
        "--tls-cert",
        &crt,
        "--tls-key",
        &key,
        "--client-ca",
        &ca,
        "--token-file",
        &tokens,
    ];
    let grpc = Grpc::start(lab, &stage.rutter, &tls);
    Python::new(lab).run("tls.py", &[&grpc.address, &folder.display().to_string()]);
}

/// Lines of `watch.py` without the numbers.
fn kinds(text: &str) -> Vec<&str> {
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.map(|(_, rest)| rest).collect()
}

#[test]
fn a_client_watches_changes_and_misses_none_when_it_comes_back() {
    let mut stage = Stage::new();
    let mut grpc = Grpc::start(&stage.lab, &stage.rutter, &[]);
    let python = Python::new(&stage.lab);
    let pause = stage.lab.folder("watch").join("pause");
    let mut watcher = python.start("watch.py", &[&grpc.address, "0", &path(&pause)]);
    watcher.shows("place -");
    stage
        .first
        .announce(&[Route::new("45.12.0.0/24", "10.77.0.2", &[2_102])]);
    let text = watcher.shows("best 45.12.0.0/24");
    assert!(kinds(&text).contains(&"announced 45.12.0.0/24"), "{text}");
    let last = text.lines().last().and_then(|line| line.split_once(' '));
    let number = last.map(|(number, _)| number.to_owned()).expect("a number");
    watcher.stop();
    stage
        .first
        .withdraw(&["45.12.0.0/24".parse().expect("a prefix")]);
    let mut watcher = python.start("watch.py", &[&grpc.address, &number, &path(&pause)]);
    let text = watcher.shows("best 45.12.0.0/24");
    assert!(kinds(&text).contains(&"withdrawn 45.12.0.0/24"), "{text}");
    watcher.stop();
    // A number that the daemon does not keep is an error with the numbers that are lost.
    let mut watcher = python.start("watch.py", &[&grpc.address, "7", &path(&pause)]);
    watcher.shows("error OUT_OF_RANGE the changes 8 to ");
    // The end of the daemon is one too. Afterwards the server answers again.
    let mut watcher = python.start("watch.py", &[&grpc.address, "0", &path(&pause)]);
    watcher.shows("place -");
    stage.rutter.kill();
    watcher.shows("error UNAVAILABLE");
    stage.rutter.run_again();
    let mut watcher = python.start("watch.py", &[&grpc.address, "0", &path(&pause)]);
    watcher.shows("place -");
    grpc.process.check_alive().unwrap();
}

#[test]
fn a_stream_of_changes_ends_with_its_token() {
    let stage = Stage::new();
    let tokens = token_file(&stage.lab);
    let mut grpc = Grpc::start(&stage.lab, &stage.rutter, &["--token-file", &tokens]);
    let python = Python::new(&stage.lab);
    let pause = path(&stage.lab.folder("watch").join("pause"));
    let arguments = |token| [grpc.address.clone(), "0".into(), pause.clone(), token];
    let watch = |token: &str| {
        let arguments = arguments(token.to_owned());
        let mut watcher = python.start("watch.py", &arguments.each_ref().map(String::as_str));
        watcher.shows("place -");
        watcher
    };
    let (mut reads, mut controls) = (watch("read"), watch("control"));
    let text = fs::read_to_string(&tokens).expect("the tokens");
    let lines = text.lines().filter(|line| !line.starts_with("read "));
    let rest: String = lines.map(|line| format!("{line}\n")).collect();
    fs::write(&tokens, rest.replace("control ", "monitor ")).expect("a file");
    grpc.process.signal("HUP");
    reads.shows("error UNAUTHENTICATED");
    controls.shows("error PERMISSION_DENIED");
    grpc.process.check_alive().unwrap();
}

#[test]
fn a_client_that_reads_nothing_costs_little_and_learns_what_it_missed() {
    let mut stage = Stage::new();
    let mut grpc = Grpc::start(&stage.lab, &stage.rutter, &[]);
    let python = Python::new(&stage.lab);
    let pause = stage.lab.folder("watch").join("pause");
    let mut watcher = python.start("watch.py", &[&grpc.address, "0", &path(&pause)]);
    watcher.shows("place -");
    let before = grpc.memory_kib();
    fs::write(&pause, "").expect("a file");
    // The daemon keeps 65,536 changes, and each route that comes or goes is two.
    let many = routes(8_000);
    stage.first.announce(&many[30..]);
    let all = stage::ACCEPTED + many.len() as u64 - 30;
    stage.has(all);
    for _ in 0..3 {
        for (command, accepted) in [("disable", 0), ("enable", all)] {
            stage
                .first
                .birdc(&[command, "target"])
                .expect("BIRD answers");
            stage.has(accepted);
        }
    }
    let grown = grpc.memory_kib().saturating_sub(before);
    assert!(
        grown < 40_000,
        "{grown} KiB more for a client that reads nothing"
    );
    fs::remove_file(&pause).expect("the file");
    let text = watcher.shows("error OUT_OF_RANGE");
    assert!(text.contains("are not kept any more"), "{text}");
    // It was sent everything before, in order.
    let numbers = text
        .lines()
        .filter_map(|line| line.split(' ').next()?.parse().ok());
    let numbers: Vec<u64> = numbers.collect();
    assert!(
        numbers.len() > 100 && numbers.is_sorted(),
        "{}",
        numbers.len()
    );
    grpc.process.check_alive().unwrap();
}

#[test]
fn a_daemon_that_hangs_is_not_healthy_and_calls_end_with_the_reason() {
    let mut stage = Stage::new();
    let mut grpc = Grpc::start(&stage.lab, &stage.rutter, &[]);
    let python = Python::new(&stage.lab);
    let members = [stage.lab.address(2), stage.lab.address(3)].map(|one| one.to_string());
    let reads = [grpc.address.as_str(), &members[0], &members[1]];
    python.run("reads.py", &reads);
    stage.rutter.process().freeze();
    python.run("hangs.py", &[&grpc.address]);
    stage.rutter.process().thaw();
    stage.has(stage::ACCEPTED);
    eventually("the daemon is healthy again", || {
        python.result("reads.py", &reads)
    });
    grpc.process.check_alive().unwrap();
}

#[test]
fn too_many_watching_clients_are_refused_and_others_are_answered() {
    let stage = Stage::new();
    let grpc = Grpc::start(&stage.lab, &stage.rutter, &[]);
    let python = Python::new(&stage.lab);
    let pause = path(&stage.lab.folder("watch").join("pause"));
    let mut watchers: Vec<_> = (0..5)
        .map(|_| python.start("watch.py", &[&grpc.address, "0", &pause]))
        .collect();
    let refused = eventually("one of five is refused", || {
        let texts = watchers.iter_mut().map(|one| one.text());
        let texts: Vec<_> = texts.collect();
        let refused = texts
            .iter()
            .filter(|text| text.contains("RESOURCE_EXHAUSTED"));
        let watching = texts.iter().filter(|text| text.contains("place"));
        match (refused.count(), watching.count()) {
            (1, 4) => Ok(1),
            (refused, watching) => Err(format!("{refused} refused, {watching} watching")),
        }
    });
    assert_eq!(refused, 1);
    let members = [stage.lab.address(2), stage.lab.address(3)].map(|one| one.to_string());
    drop(watchers.pop());
    drop(watchers);
    eventually("a place is free", || {
        python.result("reads.py", &[&grpc.address, &members[0], &members[1]])
    });
}

fn path(path: &Path) -> String {
    path.display().to_string()
}
