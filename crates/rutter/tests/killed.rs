//! `rutter run` dies by SIGKILL in the middle of `rutter reload`, `apply` and `rollback`. A start finds the old
//! configuration or the new one, and every client receives its routes. `RUTTER_KILL_SEED=n` repeats the moments of a run.

#[path = "../../rutter-daemon/tests/loopback/support.rs"]
#[expect(dead_code, reason = "the tests of the daemon use the rest")]
mod support;

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rutter_api::{ApplyOrder, Client, DiffRow, HistoryRow, Line, Request};
use rutter_net::AfiSafi;
use rutter_wire::capability::{Capability, GracefulRestart, GracefulRestartFamily};
use rutter_wire::update;

use support::{Folder, Speaker, member, wait_until};

/// The deaths of each test.
const ROUNDS: u64 = 25;
/// One round in so many has members with Graceful Restart: there a start waits some seconds for all their routes.
const GRACEFUL_EVERY: u64 = 12;
/// A request waits at most so long for its death, microseconds: one of these, because machines differ.
const WAITS_US: [u64; 3] = [4_000, 40_000, 400_000];

/// The number of a member, the prefixes that it announces, and the prefixes that it then holds.
type Member = (u8, &'static [&'static str], &'static [&'static str]);

/// The members by configuration, with the prefixes that each announces and then holds.
const MEMBERS: [[Member; 3]; 2] = [
    [
        (
            1,
            &["9.9.9.0/24", "8.8.8.0/24"],
            &["7.7.7.0/24", "6.6.6.0/24"],
        ),
        (
            2,
            &["7.7.7.0/24"],
            &["9.9.9.0/24", "8.8.8.0/24", "6.6.6.0/24"],
        ),
        (
            3,
            &["6.6.6.0/24"],
            &["9.9.9.0/24", "8.8.8.0/24", "7.7.7.0/24"],
        ),
    ],
    [
        (
            1,
            &["9.9.9.0/24", "8.8.8.0/24"],
            &["7.7.7.0/24", "5.5.5.0/24"],
        ),
        (2, &["7.7.7.0/24"], &["8.8.8.0/24", "5.5.5.0/24"]),
        (4, &["5.5.5.0/24"], &["8.8.8.0/24", "7.7.7.0/24"]),
    ],
];

/// Two configurations: the second one rejects a prefix of member 1, and has member 4 in place of member 3.
fn texts(folder: &Folder, address: SocketAddr) -> [String; 2] {
    let keys = ["", "black-list = [\"9.9.9.0/24\"]\nhold-time = \"60s\""];
    [0, 1].map(|version: usize| {
        let sections = MEMBERS[version].map(|(octet, _, _)| {
            let keys = if octet == 1 { keys[version] } else { "" };
            member(octet, 64_500 + u32::from(octet), keys)
        });
        let text = support::text(folder, 2, &sections.concat());
        text.replace("\"127.0.0.1:0\"", &format!("\"{address}\""))
    })
}

/// Numbers from a seed (xorshift).
struct Random(u64);

impl Random {
    fn new(test: u64) -> Self {
        let seed = std::env::var("RUTTER_KILL_SEED").ok();
        let seed = seed.and_then(|text| text.parse().ok()).unwrap_or(1_u64);
        eprintln!("repeat with RUTTER_KILL_SEED={seed}");
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ test << 32 | 1)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// A change that a death interrupts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Change {
    Reload,
    /// `rutter apply --confirm`, and `rutter confirm`.
    TryOut,
    Rollback,
}

struct Killed {
    folder: Folder,
    address: SocketAddr,
    texts: [String; 2],
    random: Random,
    round: u64,
}

/// A running `rutter run`, which dies by SIGKILL.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Killed {
    fn new(name: &str, test: u64) -> Self {
        let folder = Folder::new(name);
        // Nobody else takes this port of 127.0.0.1 while the daemon is down: the kernel gives others out first.
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let texts = texts(&folder, address);
        fs::write(folder.0.join("rutter.toml"), &texts[0]).expect("write");
        Killed {
            folder,
            address,
            texts,
            random: Random::new(test),
            round: 0,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.0.join(name)
    }

    fn start(&self) -> Process {
        let log = fs::File::create(self.path("log")).expect("a log");
        let mut command = Command::new(env!("CARGO_BIN_EXE_rutter"));
        command.arg("run").arg(self.path("rutter.toml"));
        let child = command.stdout(Stdio::null()).stderr(log).spawn();
        let process = Process(child.expect("rutter run"));
        let socket = self.path("ctl");
        wait_until("the daemon answers", || Client::connect(&socket).is_ok());
        process
    }

    /// The answer without its last line, if the daemon lives long enough to complete it without an error.
    fn ask(&self, request: Request) -> Option<Vec<Line>> {
        let client = Client::connect(&self.path("ctl")).ok()?;
        let lines: Result<Vec<Line>, _> = client.call(request).ok()?.collect();
        let mut lines = lines.ok()?;
        match lines.pop()? {
            Line::Done(_) => Some(lines),
            Line::Error { message, .. } => panic!("round {}: {message}", self.round),
            _ => None,
        }
    }

    /// The version of the daemon's own file, which is whole.
    fn own_version(&self) -> usize {
        let text = fs::read_to_string(self.path("rutter.toml")).expect("read");
        let version = self.texts.iter().position(|whole| *whole == text);
        version.unwrap_or_else(|| panic!("round {}: half a file:\n{text}", self.round))
    }

    /// Checks what a start found: this version is in force, and its history can be read.
    fn check_start(&self, version: usize) {
        let file = Some(self.path("rutter.toml"));
        let diff = self.ask(Request::Diff { file, routes: None });
        let Some([Line::Diff(row)]) = diff.as_deref() else {
            panic!("round {}: {diff:?}", self.round);
        };
        assert_eq!(**row, DiffRow::default(), "round {}", self.round);
        let rows = self.history();
        assert!(rows.last().is_some_and(|row| row.running));
        assert!(rows.iter().rev().skip(1).all(|row| !row.running));
        assert!(rows.is_sorted_by(|one, next| one.number < next.number));
        assert_eq!(self.own_version(), version);
    }

    fn history(&self) -> Vec<HistoryRow> {
        let rows = self.ask(Request::History).expect("the history");
        let row = |line| match line {
            Line::History(row) => row,
            other => panic!("{other:?}"),
        };
        rows.into_iter().map(row).collect()
    }

    /// The members come, announce their routes and receive exactly those of this version.
    fn members(&self, version: usize, is_graceful: bool) -> Vec<Speaker> {
        let capability = Capability::GracefulRestart(GracefulRestart {
            restart_state: false,
            notification: false,
            restart_time_s: 60,
            families: vec![GracefulRestartFamily {
                afi_safi: AfiSafi::IPV4_UNICAST,
                forwarding: true,
            }],
        });
        let capabilities = if is_graceful {
            vec![capability]
        } else {
            Vec::new()
        };
        let mut end_of_rib = Vec::new();
        update::write_end_of_rib(&mut end_of_rib, AfiSafi::IPV4_UNICAST);
        let members = &MEMBERS[version];
        let mut speakers: Vec<Speaker> = Vec::new();
        for (octet, announced, _) in members {
            let asn = 64_500 + u32::from(*octet);
            let mut speaker = Speaker::connect(*octet, asn, self.address);
            speaker.open_with(*octet, 90, &capabilities);
            // In order: a prefix that should be rejected would be there with the next one.
            announced
                .iter()
                .for_each(|prefix| speaker.announce(&[prefix], &[]));
            speaker.send(&end_of_rib);
            speakers.push(speaker);
        }
        for (speaker, (_, _, held)) in speakers.iter_mut().zip(members) {
            speaker.expect_table(held);
            speaker.receive_until(|speaker| speaker.end_of_rib);
            speaker.expect_table(held);
        }
        speakers
    }

    /// Makes a change. Returns whether the daemon has answered that it is done.
    fn change(&self, change: Change, next: usize) -> bool {
        let next_file = self.path("next.toml");
        match change {
            Change::Reload => self.ask(Request::Reload).is_some(),
            Change::Rollback => self.ask(Request::Rollback { number: None }).is_some(),
            Change::TryOut => {
                fs::write(&next_file, &self.texts[next]).expect("write");
                let order = ApplyOrder {
                    file: next_file,
                    text_bytes: None,
                    text: None,
                    confirm_s: Some(600),
                    max_loss: None,
                };
                self.ask(Request::Apply(order)).is_some() && self.ask(Request::Confirm).is_some()
            }
        }
    }

    /// One start, one change, one death.
    fn round(&mut self, change: Change, held: usize) -> usize {
        let process = self.start();
        self.check_start(held);
        let speakers = self.members(held, self.round.is_multiple_of(GRACEFUL_EVERY));
        let next = 1 - held;
        if change == Change::Reload {
            // As an editor does that replaces the file.
            fs::write(self.path("edited"), &self.texts[next]).expect("write");
            fs::rename(self.path("edited"), self.path("rutter.toml")).expect("rename");
        }
        let most_us = WAITS_US[self.random.below(3) as usize];
        let wait = Duration::from_micros(self.random.below(most_us));
        let is_done = std::thread::scope(|scope| {
            let answer = scope.spawn(|| self.change(change, next));
            std::thread::sleep(wait);
            drop(process);
            answer.join().expect("an answer or none")
        });
        drop(speakers);
        let found = self.own_version();
        assert!(
            !is_done || found == next,
            "round {}: {change:?} was confirmed and lost",
            self.round
        );
        found
    }

    fn run(&mut self, change: Change) {
        let mut held = 0;
        let mut outcomes = [0; 2];
        for round in 0..ROUNDS {
            self.round = round;
            let found = self.round(change, held);
            outcomes[usize::from(found != held)] += 1;
            held = found;
        }
        let _process = self.start();
        self.check_start(held);
        self.members(held, false);
        eprintln!("{change:?}: old {}, new {}", outcomes[0], outcomes[1]);
    }
}

#[test]
fn a_death_during_a_reload_leaves_a_whole_configuration() {
    Killed::new("killed-reload", 1).run(Change::Reload);
}

#[test]
fn a_death_during_an_applied_change_leaves_the_old_or_the_new_one() {
    Killed::new("killed-apply", 2).run(Change::TryOut);
}

#[test]
fn a_death_during_a_rollback_leaves_the_old_or_the_new_one() {
    let mut killed = Killed::new("killed-rollback", 3);
    // There must be a configuration before the first one of the test.
    let process = killed.start();
    fs::write(killed.path("rutter.toml"), &killed.texts[1]).expect("write");
    killed.ask(Request::Reload).expect("a reload");
    fs::write(killed.path("rutter.toml"), &killed.texts[0]).expect("write");
    killed.ask(Request::Reload).expect("a reload");
    drop(process);
    killed.run(Change::Rollback);
}
