//! `rutter replay`: the routes of the files are in the table of the daemon that receives them.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rutter_config::Config;
use rutter_daemon::{Daemon, Handle};
use rutter_net::{Asn, Family, Prefix};
use rutter_wire::attr::{TRANSITIVE, code, write_attr};
use rutter_wire::mrt::{
    BgpSession, PeerEntry, Route, Timestamp, write_message, write_peer_index_table, write_rib,
};
use rutter_wire::nlri::write_ipv4;
use rutter_wire::update::{Sections, write};

const TIME: u32 = 1_700_000_000;

struct World {
    folder: PathBuf,
    daemon: Handle,
}

impl World {
    fn start(name: &str, more: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("rc-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let text = format!(
            "[router]\nasn = 64500\nrouter-id = \"192.0.2.1\"\n[daemon]\nlisten = [\"127.0.0.1:0\"]\n\
             threads = 2\nlog = \"error\"\ncontrol-socket = \"{}/s\"\n[[dynamic-neighbor]]\n\
             prefix = \"127.0.0.0/8\"\nmode = \"collector\"\n{more}",
            folder.display()
        );
        // Port 0 is for tests, not for files.
        let text = text.replace("127.0.0.1:0", "127.0.0.1:1");
        let mut config = Config::parse(&text, Path::new("test.toml"))
            .unwrap_or_else(|errors| panic!("{errors:#?}"))
            .config;
        config.daemon.listen[0].set_port(0);
        let daemon = Daemon::start(config, None).unwrap();
        World { folder, daemon }
    }

    fn address(&self) -> SocketAddr {
        self.daemon.listen_addresses()[0]
    }

    fn replay(&self, bytes: &[u8], arguments: &[&str]) -> Child {
        let file = self.folder.join("file");
        fs::write(&file, bytes).unwrap();
        Command::new(env!("CARGO_BIN_EXE_rutter-collect"))
            .arg("replay")
            .arg(file)
            .args(["--to", &self.address().to_string()])
            .args(arguments)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Returns `AS prefix#path path` of every route.
    fn routes(&self) -> Vec<String> {
        let snapshot = self.daemon.rib().snapshot();
        let mut routes = Vec::new();
        for family in Family::ALL {
            for destination in snapshot.destinations(family) {
                for route in &destination.routes {
                    let peer = snapshot.peer(route.peer).unwrap();
                    routes.push(format!(
                        "{} {}#{} {}",
                        peer.neighbor.remote_asn,
                        destination.prefix,
                        route.path_id,
                        route.attrs.attributes().as_path().unwrap()
                    ));
                }
            }
        }
        routes.sort();
        routes
    }

    fn expect(&self, expected: &[&str]) {
        let begun = Instant::now();
        while self.routes() != expected {
            let now = self.routes();
            let patience = Duration::from_secs(120);
            assert!(
                begun.elapsed() < patience,
                "{now:#?} instead of {expected:#?}"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn end(self, mut replay: Child) {
        replay.kill().unwrap();
        replay.wait().unwrap();
        self.expect(&[]);
        self.daemon.stop("the test is over");
        fs::remove_dir_all(self.folder).unwrap();
    }
}

fn prefix(text: &str) -> Prefix {
    text.parse().unwrap()
}

fn block(asns: &[u32], as4: bool) -> Vec<u8> {
    let mut path = vec![2, asns.len() as u8];
    for asn in asns {
        match as4 {
            true => path.extend_from_slice(&asn.to_be_bytes()),
            false => path.extend_from_slice(&(*asn as u16).to_be_bytes()),
        }
    }
    let mut out = Vec::new();
    write_attr(&mut out, TRANSITIVE, code::ORIGIN, &[0]);
    write_attr(&mut out, TRANSITIVE, code::AS_PATH, &path);
    write_attr(&mut out, TRANSITIVE, code::NEXT_HOP, &[198, 51, 100, 7]);
    out
}

/// Returns a dump of two peers with the same two prefixes. With Add-Path, the second peer has several paths.
fn table(add_path: bool) -> Vec<u8> {
    let peer = |address: &str, asn| PeerEntry {
        bgp_id: 9,
        address: address.parse().unwrap(),
        asn: Asn(asn),
    };
    let peers = [peer("192.0.2.11", 64501), peer("192.0.2.12", 200_000)];
    let mut out = Vec::new();
    write_peer_index_table(&mut out, TIME, 1, "", &peers);
    let (near, far) = (block(&[64501, 64502], true), block(&[200_000], true));
    let v6: std::net::Ipv6Addr = "2001:db8::11".parse().unwrap();
    let v6 = v6.octets();
    let route = |peer_index, path_id, attributes, next_hop| Route {
        peer_index,
        originated_s: TIME,
        path_id,
        attributes,
        next_hop,
    };
    let v4 = &[198, 51, 100, 7][..];
    let (a, b) = (route(0, 0, &near, v4), route(1, 1, &far, v4));
    write_rib(
        &mut out,
        TIME,
        0,
        prefix("203.0.113.0/24"),
        add_path,
        [a, b],
    );
    let (a, b) = (route(0, 0, &near, &v6), route(1, 2, &far, &v6));
    write_rib(
        &mut out,
        TIME,
        1,
        prefix("2001:db8:1::/48"),
        add_path,
        [a, b],
    );
    out
}

#[test]
fn one_peer_of_a_table() {
    let world = World::start("one", "");
    let replay = world.replay(&table(false), &["--peer", "192.0.2.11"]);
    world.expect(&[
        "64501 2001:db8:1::/48#0 64501 64502",
        "64501 203.0.113.0/24#0 64501 64502",
    ]);
    world.end(replay);
}

#[test]
fn a_session_for_each_peer_with_path_identifiers() {
    let world = World::start("each", "add-path = { receive = true }\n");
    let replay = world.replay(&table(true), &["--each-from", "127.7.0.0/16"]);
    world.expect(&[
        "200000 2001:db8:1::/48#2 200000",
        "200000 203.0.113.0/24#1 200000",
        "64501 2001:db8:1::/48#0 64501 64502",
        "64501 203.0.113.0/24#0 64501 64502",
    ]);
    world.end(replay);
}

/// Returns a log of two routes with two-octet AS numbers. One route is withdrawn 100 seconds later.
fn log() -> Vec<u8> {
    let session = BgpSession {
        peer_asn: Asn(64501),
        local_asn: Asn(64500),
        interface: 0,
        peer: "192.0.2.11".parse().unwrap(),
        local: "192.0.2.1".parse().unwrap(),
        as4: false,
    };
    let nlri = |texts: &[&str]| {
        let mut out = Vec::new();
        for text in texts {
            if let Prefix::V4(prefix) = prefix(text) {
                write_ipv4(&mut out, None, prefix);
            }
        }
        out
    };
    let update = |withdrawn: &[&str], announced: &[&str]| {
        let attributes = match announced {
            [] => Vec::new(),
            _ => block(&[64501, 64502], false),
        };
        let mut out = Vec::new();
        let sections = Sections {
            withdrawn: &nlri(withdrawn),
            attributes: &attributes,
            nlri: &nlri(announced),
        };
        write(&mut out, &sections);
        out
    };
    let mut bytes = Vec::new();
    let both = update(&[], &["203.0.113.0/24", "192.0.2.0/24"]);
    write_message(&mut bytes, Timestamp::Seconds(TIME), &session, false, &both);
    let gone = update(&["192.0.2.0/24"], &[]);
    write_message(
        &mut bytes,
        Timestamp::Seconds(TIME + 100),
        &session,
        false,
        &gone,
    );
    bytes
}

#[test]
fn a_log_with_two_octet_as_numbers_at_a_speed() {
    let world = World::start("log", "");
    let replay = world.replay(&log(), &["--asn", "64777", "--speed", "1000"]);
    world.expect(&["64777 203.0.113.0/24#0 64501 64502"]);
    world.end(replay);
}

#[test]
fn a_signal_ends_a_replay_that_waits() {
    let world = World::start("signal", "");
    let arguments = ["--asn", "64777", "--speed", "recorded"];
    let replay = world.replay(&log(), &arguments);
    world.expect(&[
        "64777 192.0.2.0/24#0 64501 64502",
        "64777 203.0.113.0/24#0 64501 64502",
    ]);
    let kill = format!("kill -TERM {}", replay.id());
    let sent = Command::new("/bin/sh").args(["-c", &kill]).status();
    assert!(sent.unwrap().success());
    let output = replay.wait_with_output().unwrap();
    let output_text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{output_text}");
    assert!(
        output_text.contains("stopped after 2 routes"),
        "{output_text}"
    );
    world.expect(&[]);
    world.daemon.stop("the test is over");
    fs::remove_dir_all(world.folder).unwrap();
}

#[test]
fn an_unreachable_target_is_reported() {
    let world = World::start("nobody", "");
    let mut child = Command::new(env!("CARGO_BIN_EXE_rutter-collect"));
    let file = world.folder.join("file");
    fs::write(&file, table(false)).unwrap();
    let child = child.arg("replay").arg(&file).args(["--to", "127.0.0.1:9"]);
    let output = child.output().unwrap();
    let output_text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        output_text.contains("127.0.0.1:9: cannot connect"),
        "{output_text}"
    );
    let mut ended = world.replay(&table(false), &["--peer", "192.0.2.11", "--end"]);
    assert!(ended.wait().unwrap().success());
    world.daemon.stop("the test is over");
    fs::remove_dir_all(world.folder).unwrap();
}

#[test]
fn files_without_updates_are_reported() {
    let world = World::start("nothing", "");
    let output_text = |bytes: &[u8], arguments: &[&str]| {
        let output = world.replay(bytes, arguments).wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(output_text(b"", &[]).contains("the files have no routes"));
    let text = output_text(&[0xff; 20], &[]);
    assert!(text.contains("this is not an MRT file"), "{text}");
    assert!(text.contains("no route that can be read"), "{text}");
    let other = output_text(&table(false), &["--peer", "192.0.2.99"]);
    assert!(other.contains("no route of 192.0.2.99"), "{other}");
    // A truncated file is played up to its end.
    let whole = table(false);
    let arguments = ["--peer", "192.0.2.11", "--end"];
    let text = output_text(&whole[..whole.len() - 1], &arguments);
    assert!(text.contains("1 route to"), "{text}");
    assert!(text.contains("ends inside the record"), "{text}");
    world.daemon.stop("the test is over");
    fs::remove_dir_all(world.folder).unwrap();
}
