//! Hand-overs to another process, with sessions that must not notice.

use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rutter_api::{Client, Line, Request};
use rutter_config::{Config, ConfigSource};
use rutter_daemon::{Daemon, Handle, Program};
use rutter_wire::frame::KEEPALIVE;

use crate::support::{Folder, Received, Speaker, member, text, wait_until};

/// The folder of the daemons.
pub(crate) const FOLDER: &str = "RUTTER_TEST_HANDOVER";

/// The first daemon of these tests, in a process of its own. It leaves its process to the next.
#[test]
#[ignore = "other tests run it"]
fn first_daemon() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        let (config, source) = configuration(folder.as_ref());
        let prepared = Daemon::prepare(config, Some(source)).expect("prepare");
        prepared.allow_upgrades(next());
        run(folder.as_ref(), prepared.start().expect("start"));
    }
}

/// A daemon that takes over.
#[test]
#[ignore = "other tests run it"]
fn next_daemon() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let folder: &std::path::Path = folder.as_ref();
    match fs::read_to_string(folder.join("fault"))
        .unwrap_or_default()
        .as_str()
    {
        "crashes" => std::process::exit(3),
        "waits" => {
            fs::write(folder.join("waits"), "").expect("write");
            wait_until("the test goes on", || folder.join("go").exists());
        }
        "hangs" => std::thread::sleep(Duration::from_secs(600)),
        "speaks nonsense" => {
            let stdin = std::os::fd::AsFd::as_fd(&std::io::stdin())
                .try_clone_to_owned()
                .expect("standard input");
            let mut stream = std::os::unix::net::UnixStream::from(stdin);
            stream.write_all(&[77; 100]).expect("write");
            return;
        }
        _ => {}
    }
    let (config, source) = configuration(folder);
    match Daemon::take_over(config, source, next()) {
        Ok(daemon) => run(folder, daemon),
        Err(error) => eprintln!("{error}"),
    }
}

fn next() -> Program {
    program("handover::next_daemon")
}

pub(crate) fn configuration(folder: &std::path::Path) -> (Config, ConfigSource) {
    let file = folder.join("rutter.toml");
    let loaded = Config::load(&file).unwrap_or_else(|errors| panic!("{errors:#?}"));
    (loaded.config, file.into())
}

/// Runs a daemon until it stops or hands over.
fn run(folder: &std::path::Path, daemon: Handle) {
    let address = daemon.listen_addresses()[0].to_string();
    fs::write(folder.join("address.new"), address).expect("write");
    fs::rename(folder.join("address.new"), folder.join("address")).expect("rename");
    let order = daemon.wait_for_stop();
    daemon.stop_as(&order);
}

pub(crate) fn program(test: &str) -> Program {
    Program {
        path: std::env::current_exe().expect("this program"),
        arguments: ["--exact", "--ignored", "--nocapture", test]
            .map(Into::into)
            .into(),
    }
}

/// Starts the first daemon.
fn process(test: &str, folder: &Folder) -> Child {
    let Program { path, arguments } = program(test);
    let mut command = Command::new(path);
    let command = command.args(arguments).env(FOLDER, &folder.0);
    command.spawn().expect("a process")
}

/// Daemons that follow one another.
pub(crate) struct Daemons {
    pub(crate) folder: Folder,
    first: Child,
    pub(crate) address: SocketAddr,
}

impl Daemons {
    fn start(name: &str, threads: usize, more: &str) -> Self {
        Self::start_as("handover::first_daemon", name, threads, more)
    }

    /// The first process is a test.
    pub(crate) fn start_as(test: &str, name: &str, threads: usize, more: &str) -> Self {
        let folder = Folder::new(name);
        let text = text(&folder, threads, more);
        Self::launch(test, folder, &text)
    }

    fn launch(test: &str, folder: Folder, text: &str) -> Self {
        fs::write(folder.0.join("rutter.toml"), text).expect("write the configuration");
        let first = process(test, &folder);
        wait_until("the daemon starts", || folder.0.join("address").exists());
        let address = fs::read_to_string(folder.0.join("address")).expect("read");
        Daemons {
            first,
            address: address.parse().expect("an address"),
            folder,
        }
    }

    pub(crate) fn call(&self, request: Request) -> Result<String, String> {
        let client = Client::connect(&self.folder.0.join("ctl")).map_err(|e| e.to_string())?;
        let mut lines = Vec::new();
        for line in client.call(request).map_err(|e| e.to_string())? {
            let line = line.map_err(|e| e.to_string())?;
            if let Line::Error { message, .. } = line {
                return Err(message);
            }
            lines.push(serde_json::to_string(&line).expect("JSON"));
        }
        Ok(lines.join("\n"))
    }

    /// The field of the status, or of the only session's row.
    fn field(&self, request: Request, name: &str) -> String {
        let answer = self.call(request).expect("an answer");
        let row = answer.lines().next().expect("a row").to_owned();
        let row: serde_json::Value = serde_json::from_str(&row).expect("JSON");
        row[name].to_string()
    }

    pub(crate) fn pid(&self) -> String {
        self.field(Request::Status, "pid")
    }

    /// Hands over, and waits until the new process answers. Returns the answer of the old one.
    pub(crate) fn upgrade(&self) -> String {
        let before = self.pid();
        let answer = self.call(Request::Upgrade).expect("an upgrade");
        assert!(answer.contains("took over"), "{answer}");
        let old = format!("\"pid\":{before},");
        wait_until("the new process answers", || {
            let status = self.call(Request::Status);
            status.is_ok_and(|status| !status.contains(&old))
        });
        answer
    }

    fn fails_with(&self, fault: &str) -> String {
        fs::write(self.folder.0.join("fault"), fault).expect("write");
        let before = self.pid();
        let error = self.call(Request::Upgrade).expect_err("no upgrade");
        assert_eq!(self.pid(), before);
        error
    }
}

impl Drop for Daemons {
    fn drop(&mut self) {
        let _ = self.call(Request::Shutdown { text: None });
        let until = Instant::now() + Duration::from_secs(10);
        while Instant::now() < until && self.call(Request::Status).is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.first.kill();
        let _ = self.first.wait();
    }
}

/// Receives until a route arrives. Before it only KEEPALIVEs may.
fn expect_only(speaker: &mut Speaker, prefix: &str) {
    loop {
        match speaker.receive() {
            Received::Keepalive => {}
            Received::Update => {
                assert!(
                    speaker.path(prefix).is_some(),
                    "an UPDATE that is no change"
                );
                return;
            }
            other => panic!("{other:?}"),
        }
    }
}

fn members() -> String {
    member(1, 64501, "") + &member(2, 64502, "") + &member(3, 64503, "")
}

/// No section names the AS of the neighbor. Its data are there before its routes are evaluated again.
#[test]
fn routes_of_a_dynamic_neighbor_stay_registered_over_a_hand_over() {
    let folder = Folder::new("handover-irr");
    let list = folder.0.join("as64503.txt");
    fs::write(&list, "7.0.0.0/16 le 24\n").expect("write");
    let more = format!(
        "{}[irr]\nfiles = {{ \"AS64503\" = \"{}\" }}\n[sources]\nstate = \"{}\"\n[[dynamic-neighbor]]\n\
         prefix = \"127.0.1.128/25\"\nimport = \"checks\"\nexport = \"all\"\nnext-hop = \"any\"\n",
        member(2, 64502, "checks = { irr = \"off\" }"),
        list.display(),
        folder.0.join("state").display(),
    );
    let daemons = Daemons::start("handover-dynamic", 2, &more);
    let mut two = Speaker::establish(2, 64502, daemons.address);
    let mut three = Speaker::establish(130, 64503, daemons.address);
    three.announce(&["7.0.0.0/24"], &[]);
    two.expect_table(&["7.0.0.0/24"]);
    two.receive_until(|speaker| speaker.end_of_rib);
    daemons.upgrade();
    three.announce(&["7.0.1.0/24"], &[]);
    expect_only(&mut two, "7.0.1.0/24");
}

/// Anybody may connect while the new process starts.
#[test]
fn a_dynamic_neighbor_that_connects_does_not_end_an_upgrade() {
    let dynamic = "[irr]\nserver = \"127.0.0.1:1\"\n[[dynamic-neighbor]]\nprefix = \"127.0.1.128/25\"\n\
                   import = \"checks\"\nexport = \"all\"\nnext-hop = \"any\"\n";
    let daemons = Daemons::start("handover-stranger", 2, &(members() + dynamic));
    fs::write(daemons.folder.0.join("fault"), "waits").expect("write");
    std::thread::scope(|scope| {
        let upgrade = scope.spawn(|| daemons.upgrade());
        wait_until("the new process starts", || {
            daemons.folder.0.join("waits").exists()
        });
        let _stranger = Speaker::establish(130, 64510, daemons.address);
        // The daemon looks for new neighbors each second.
        std::thread::sleep(Duration::from_secs(3));
        fs::write(daemons.folder.0.join("go"), "").expect("write");
        upgrade.join().expect("an upgrade");
    });
}

#[test]
fn sessions_survive_several_hand_overs_and_nothing_is_sent_but_changes() {
    let daemons = Daemons::start("handover", 2, &members());
    let mut one = Speaker::establish(1, 64501, daemons.address);
    let mut two = Speaker::establish(2, 64502, daemons.address);
    one.announce(&["7.0.0.0/24", "7.0.1.0/24"], &[]);
    two.announce(&["7.0.0.0/24"], &[65_000]);
    two.expect_table(&["7.0.0.0/24", "7.0.1.0/24"]);
    one.expect_table(&["7.0.0.0/24"]);
    // Later UPDATEs are changes.
    for speaker in [&mut one, &mut two] {
        speaker.receive_until(|speaker| speaker.end_of_rib);
    }
    let established = daemons.field(
        Request::Peer {
            peer: "AS64501".into(),
        },
        "established-count",
    );
    for round in 0..3 {
        daemons.upgrade();
        let (first, second) = (format!("7.1.{round}.0/24"), format!("7.2.{round}.0/24"));
        one.announce(&[&first], &[]);
        expect_only(&mut two, &first);
        two.announce(&[&second], &[]);
        expect_only(&mut one, &second);
    }
    let now = daemons.field(
        Request::Peer {
            peer: "AS64501".into(),
        },
        "established-count",
    );
    assert_eq!(established, now);
    // The withdrawal reveals the next route: the new process knows all candidates.
    one.withdraw(&["7.0.0.0/24", "7.0.1.0/24"]);
    let left = ["7.1.0.0/24", "7.1.1.0/24", "7.1.2.0/24"];
    two.expect_table(&left);
    // A member that comes later receives what both announced.
    let mut three = Speaker::establish(3, 64503, daemons.address);
    three.receive_until(|speaker| speaker.end_of_rib);
    assert_eq!(three.table.len(), 3 + 3 + 1);
}

#[test]
fn a_message_that_has_arrived_in_part_is_completed_in_the_new_process() {
    let daemons = Daemons::start("handover-part", 1, &members());
    let mut one = Speaker::establish(1, 64501, daemons.address);
    let mut two = Speaker::establish(2, 64502, daemons.address);
    one.send(&KEEPALIVE[..7]);
    let messages = |daemons: &Daemons| {
        daemons.field(
            Request::Peer {
                peer: "AS64501".into(),
            },
            "received",
        )
    };
    let before = messages(&daemons);
    wait_until("the part is read", || {
        let now = messages(&daemons);
        now != before || now.contains("\"bytes\"")
    });
    daemons.upgrade();
    one.send(&KEEPALIVE[7..]);
    one.announce(&["7.0.0.0/24"], &[]);
    two.expect_table(&["7.0.0.0/24"]);
}

#[test]
fn a_client_that_reads_nothing_during_the_hand_over_misses_nothing() {
    let daemons = Daemons::start("handover-slow", 2, &members());
    let mut one = Speaker::establish(1, 64501, daemons.address);
    let mut two = Speaker::establish(2, 64502, daemons.address);
    two.receive_until(|speaker| speaker.end_of_rib);
    let prefix = |number: u32| format!("20.{}.{}.0/24", number / 256, number % 256);
    // More than the sockets between them take: each route is a message of its own.
    for round in 0..40_u32 {
        for number in 0..2_000 {
            one.announce(&[&prefix(number)], &[65_000 + round]);
        }
    }
    daemons.upgrade();
    one.withdraw(&[&prefix(7)]);
    let last = prefix(1_999);
    two.receive_until(|speaker| {
        speaker.origin(&last) == Some(65_039) && speaker.path(&prefix(7)).is_none()
    });
    assert_eq!(two.table.len(), 1_999);
    for number in (0..2_000).filter(|number| *number != 7) {
        assert_eq!(two.origin(&prefix(number)), Some(65_039), "{number}");
    }
}

/// The table is passed while it changes.
#[test]
fn routes_that_change_during_an_upgrade_arrive() {
    const COUNT: usize = 20_000;
    let daemons = Daemons::start("handover-busy", 2, &members());
    let mut one = Speaker::establish(1, 64501, daemons.address);
    let mut two = Speaker::establish(2, 64502, daemons.address);
    let name = |number: usize| format!("20.{}.{}.0/24", number / 256, number % 256);
    let names: Vec<String> = (0..COUNT).map(name).collect();
    for some in names.chunks(500) {
        let some: Vec<&str> = some.iter().map(String::as_str).collect();
        one.announce(&some, &[65_000]);
    }
    two.receive_until(|speaker| speaker.table.len() == COUNT);
    let mut expected = vec![Some(65_000); COUNT];
    std::thread::scope(|scope| {
        let upgrades = scope.spawn(|| (0..2).for_each(|_| drop(daemons.upgrade())));
        let two = &mut two;
        scope.spawn(move || two.receive_until(|speaker| speaker.path("7.0.0.0/24").is_some()));
        let mut number = 0;
        for round in 0.. {
            for _ in 0..20 {
                number = (number + 7_919) % COUNT;
                expected[number] = (round % 5 > 0).then_some(65_000 + round % 400);
                match expected[number] {
                    Some(asn) => one.announce(&[&names[number]], &[asn]),
                    None => one.withdraw(&[&names[number]]),
                }
            }
            if upgrades.is_finished() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        one.announce(&["7.0.0.0/24"], &[]);
    });
    // A client that lagged receives destinations in the order of the table, not of their changes.
    two.receive_until(|speaker| {
        let mut all = names.iter().zip(&expected);
        all.all(|(name, expected)| speaker.origin(name) == *expected)
    });
}

#[test]
fn a_new_process_that_fails_leaves_the_old_one_running() {
    let daemons = Daemons::start("handover-fails", 2, &members());
    let mut one = Speaker::establish(1, 64501, daemons.address);
    let mut two = Speaker::establish(2, 64502, daemons.address);
    two.receive_until(|speaker| speaker.end_of_rib);
    let faults = [
        ("crashes", "it ended"),
        ("speaks nonsense", "kind of record"),
    ];
    for (round, (fault, error)) in faults.into_iter().enumerate() {
        let answer = daemons.fails_with(fault);
        assert!(answer.contains(error), "{answer}");
        let prefix = format!("7.1.{round}.0/24");
        one.announce(&[&prefix], &[]);
        expect_only(&mut two, &prefix);
    }
    fs::remove_file(daemons.folder.0.join("fault")).expect("remove");
    daemons.upgrade();
    one.announce(&["7.0.0.0/24"], &[]);
    expect_only(&mut two, "7.0.0.0/24");
}

/// A supervisor starts the daemon again at once. The process that was to take over has copies of the sockets.
#[test]
fn a_killed_daemon_starts_again_while_its_successor_has_yet_to_end() {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let listen = free.expect("a port").to_string();
    let folder = Folder::new("handover-orphan");
    let text = text(&folder, 1, &members()).replace("127.0.0.1:0", &listen);
    let first = "handover::first_daemon";
    let mut daemons = Daemons::launch(first, folder, &text);
    let file = |name: &str| daemons.folder.0.join(name);
    fs::write(file("fault"), "waits").expect("write");
    std::thread::scope(|scope| {
        let upgrade = scope.spawn(|| daemons.call(Request::Upgrade));
        wait_until("the successor starts", || file("waits").exists());
        let kill = format!("kill -9 {}", daemons.first.id());
        let killed = Command::new("/bin/sh").args(["-c", &kill]).status();
        assert!(killed.expect("a shell").success());
        upgrade.join().expect("no panic").expect_err("no upgrade");
    });
    fs::remove_file(file("address")).expect("remove");
    let again = process(first, &daemons.folder);
    // It tries to listen for so long.
    std::thread::sleep(Duration::from_millis(500));
    fs::write(file("go"), "").expect("write");
    wait_until("the daemon starts again", || file("address").exists());
    assert_eq!(daemons.pid(), again.id().to_string());
    let _ = daemons.first.wait();
    daemons.first = again;
}

#[test]
fn a_file_that_is_not_in_force_is_refused() {
    let daemons = Daemons::start("handover-file", 1, &members());
    let file = daemons.folder.0.join("rutter.toml");
    // A change that a reload cannot bring about is none for an upgrade either, except the number of threads.
    let text = fs::read_to_string(&file).expect("read");
    let other_id = text.replace("router-id = \"192.0.2.1\"", "router-id = \"192.0.2.9\"");
    fs::write(&file, other_id).expect("write");
    let error = daemons.call(Request::Upgrade).expect_err("no upgrade");
    assert!(error.contains("`router-id` differs"), "{error}");
    fs::write(&file, text.replace("threads = 1", "threads = 2")).expect("write");
    daemons.upgrade();

    let mut more = fs::OpenOptions::new()
        .append(true)
        .open(&file)
        .expect("open");
    more.write_all(member(4, 64504, "").as_bytes())
        .expect("write");
    let error = daemons.call(Request::Upgrade).expect_err("no upgrade");
    let hint = format!("`rutter diff {}`, and reload first", file.display());
    assert!(error.contains(&hint), "{error}");
    fs::write(&file, "nonsense").expect("write");
    let error = daemons.call(Request::Upgrade).expect_err("no upgrade");
    let hint = format!("`rutter check {}`", file.display());
    assert!(error.contains(&hint), "{error}");
}
