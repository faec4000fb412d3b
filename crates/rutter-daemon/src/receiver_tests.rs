//! The shares of neighbors in a turn, and sessions that wait for the sweeper, without threads: the test says when which part
//! of a turn runs.

use std::io::Write as _;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;

use mio::Poll;
use rutter_config::Config;
use rutter_net::{AfiSafi, Asn, Family};
use rutter_wire::attr::{self, code};
use rutter_wire::capability::Capability;
use rutter_wire::frame::KEEPALIVE;
use rutter_wire::open::Open;
use rutter_wire::update;

use super::*;
use crate::commands::CommandRunner;
use crate::daemon::Daemon;
use crate::mailbox::Command;
use crate::neighbor_settings::NeighborSettings;
use crate::peer_table::Change;

/// One I/O thread that does only what the test asks for, with three members.
struct World {
    folder: PathBuf,
    driver: SessionDriver,
    receiver: Receiver,
    listener: TcpListener,
    _poll: Poll,
}

/// AS64501, AS64502 and AS64503.
const MEMBERS: [[u8; 4]; 3] = [[127, 0, 1, 1], [127, 0, 1, 2], [127, 0, 1, 3]];

impl World {
    fn new(name: &str) -> Self {
        let name = format!("rutter-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.display();
        let text = format!(
            "[exchange]\nasn = 64500\nrouter-id = \"192.0.2.1\"\nlan = [\"127.0.1.0/24\"]\n\
             [daemon]\nlisten = [\"127.0.0.1:0\"]\nthreads = 1\nlog = \"error\"\n\
             control-socket = \"{path}/ctl\"\nstate = \"{path}\"\n[checks]\nnext-hop = \"any\"\n\
             [defaults]\npassive = true\nidle-hold-time = 1\n\
             [[member]]\nasn = 64501\naddress = [\"127.0.1.1\"]\n\
             [[member]]\nasn = 64502\naddress = [\"127.0.1.2\"]\n\
             [[member]]\nasn = 64503\naddress = [\"127.0.1.3\"]\n"
        );
        let config = Config::parse(&text, "test".as_ref()).expect("a configuration");
        let (shared, polls) = Daemon::prepare(config.config, None)
            .expect("a daemon")
            .without_threads();
        let poll = polls.into_iter().next().expect("a thread");
        let registry = poll.registry().try_clone().expect("a registry");
        let config = Arc::clone(&shared.config.read());
        for neighbor in &config.neighbors {
            shared.run_peer(NeighborSettings::new(&config, neighbor), Change::Live);
        }
        let mut driver = SessionDriver::new(Arc::clone(&shared), 0, registry);
        for command in shared.threads[0].mailbox.take() {
            CommandRunner(&mut driver).run(command);
        }
        let mut world = World {
            folder,
            driver,
            receiver: Receiver::default(),
            listener: TcpListener::bind("127.0.0.1:0").expect("a port"),
            _poll: poll,
        };
        world.wait();
        world
    }

    /// Waits longer than the idle hold of a neighbor that flaps. Sessions would not survive it.
    fn wait(&mut self) {
        self.driver.now_ms += 3_600_000;
        while let Some(slot) = self.driver.next_due() {
            self.driver.tick(slot);
        }
    }

    /// A member connects and sends these messages, all of them before the daemon reads.
    fn connect(&mut self, member: usize, messages: &[u8]) -> TcpStream {
        let to = self.listener.local_addr().expect("an address");
        let mut client = TcpStream::connect(to).expect("connect");
        let (stream, _) = self.listener.accept().expect("accept");
        stream.set_nonblocking(true).expect("a socket");
        client.write_all(messages).expect("send");
        let remote = IpAddr::from(MEMBERS[member]);
        CommandRunner(&mut self.driver).run(Command::Accepted { remote, stream });
        client
    }

    /// Reads as in one turn. The sockets need not report that they are readable.
    fn read(&mut self) {
        for member in 0..MEMBERS.len() {
            for id in ConnectionId::ALL {
                let slot = self.slot(member);
                self.driver.queue_read(ConnectionKey { slot, id });
            }
        }
        self.receiver.start_turn();
        self.receiver.read_sockets(&mut self.driver, false);
    }

    fn slot(&self, member: usize) -> usize {
        let slot = self.driver.peers.find(MEMBERS[member].into());
        slot.expect("the member")
    }

    fn is_established(&self, member: usize) -> bool {
        let peer = self.driver.peers.get(self.slot(member));
        peer.is_some_and(|peer| peer.established.is_some())
    }

    /// The prefixes in the table, also of routes that wait to be removed.
    fn destinations(&self) -> u64 {
        let rows = self.driver.shared.rib.memory();
        let what = "ipv4 destinations with up to two routes";
        let row = rows.iter().find(|row| row.what == what);
        row.expect("the row").count
    }

    fn received_routes(&self, member: usize) -> u32 {
        let peer = self.driver.peers.get(self.slot(member));
        let id = peer.and_then(|peer| peer.id).expect("an id in the table");
        self.driver.shared.rib.counts(id)[Family::Ipv4Unicast].received
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// OPEN and KEEPALIVE of a member.
fn open(member: usize) -> Vec<u8> {
    let asn = Asn(64_501 + member as u32);
    let capabilities = vec![
        Capability::MultiProtocol(AfiSafi::IPV4_UNICAST),
        Capability::FourOctetAs(asn),
    ];
    let mut out = Vec::new();
    Open::new(asn, 90, 0x0a00_0001 + member as u32, capabilities).encode(&mut out);
    out.extend_from_slice(&KEEPALIVE);
    out
}

/// An UPDATE of a member that announces these /24s, at most some hundred.
fn announcement(member: usize, numbers: std::ops::Range<u32>) -> Vec<u8> {
    let mut attributes = Vec::new();
    attr::write_attr(&mut attributes, 0x40, code::ORIGIN, &[0]);
    let path = [2, 1, 0, 0, 0xfb, 0xf5 + member as u8];
    attr::write_attr(&mut attributes, 0x40, code::AS_PATH, &path);
    attr::write_attr(&mut attributes, 0x40, code::NEXT_HOP, &[198, 51, 100, 7]);
    let nlri = |number: u32| {
        let [_, high, middle, low] = number.to_be_bytes();
        [24, 20 + high, middle, low]
    };
    let sections = update::Sections {
        withdrawn: &[],
        attributes: &attributes,
        nlri: &numbers.flat_map(nlri).collect::<Vec<u8>>(),
    };
    let mut out = Vec::new();
    update::write(&mut out, &sections);
    out
}

#[test]
fn a_session_waits_until_routes_of_former_sessions_are_removed() {
    let mut world = World::new("flaps");
    let slot = world.slot(0);
    let messages = |number: u32| [open(0), announcement(0, number..number + 1)].concat();
    let mut number = 0;
    while !world.driver.must_wait(slot) {
        assert!(number < 8, "as many sessions as one likes, without a sweep");
        let client = world.connect(0, &messages(number));
        world.read();
        assert!(world.is_established(0), "session {number}");
        number += 1;
        drop(client);
        world.read();
        world.read();
        assert!(!world.is_established(0), "session {number}");
        world.wait();
    }
    assert!(number > 1, "a second session need not wait for the sweep");
    assert_eq!(world.destinations(), u64::from(number));

    let client = world.connect(0, &messages(number));
    world.read();
    assert!(!world.is_established(0), "the session waits");
    assert!(!world.driver.read_queue.is_empty(), "it is read later");
    let mut steps = 0;
    while world.driver.must_wait(slot) {
        world.driver.sweep();
        steps += 1;
        assert!(steps < 1_000, "the sweep ends the wait");
    }
    world.read();
    assert!(world.is_established(0), "the wait is over");
    while world.driver.is_sweeping() {
        world.driver.sweep();
    }
    assert_eq!(world.destinations(), 1, "only its own route is left");
    drop(client);
}

/// Two members send prefixes without end, and another sends one at a time.
#[test]
fn a_turn_has_few_steps_and_begins_with_neighbors_that_send_little() {
    const EACH: u32 = 500;
    const MANY: u32 = 60 * EACH;
    let mut world = World::new("shares");
    let mut clients = [0, 1, 2].map(|member| world.connect(member, &open(member)));
    world.read();
    assert!((0..3).all(|member| world.is_established(member)));
    for heavy in [0, 2] {
        let announced = |at: u32| announcement(heavy, at * EACH..(at + 1) * EACH);
        let many: Vec<u8> = (0..60).flat_map(announced).collect();
        clients[heavy].write_all(&many).expect("send");
    }
    let counts = |world: &World| [0, 1, 2].map(|member| world.received_routes(member));
    // The turns for which each of the two has waited.
    let mut waits = [0; 3];
    let mut turns = 0;
    while counts(&world)[0].min(counts(&world)[2]) < MANY {
        let before = counts(&world);
        let one = announcement(1, turns..turns + 1);
        clients[1].write_all(&one).expect("send");
        world.read();
        let after = counts(&world);
        assert_eq!(after[1], before[1] + 1, "turn {turns}");
        turns += 1;
        for heavy in [0, 2] {
            waits[heavy] = match before[heavy] == after[heavy] && after[heavy] < MANY {
                true => waits[heavy] + 1,
                false => 0,
            };
        }
        assert!(waits.iter().all(|wait| *wait <= 2), "{waits:?}");
        let new = after[0] + after[2] - before[0] - before[2];
        // Single changes are known only after the first of them.
        let most = match turns {
            1 => 2 * MAX_STEPS_IN_BULK,
            _ => MAX_STEPS,
        };
        assert!(new < most as u32 + EACH, "turn {turns}: {new}");
        assert!(turns < 200, "it goes on");
    }
    assert!(turns > 5, "{turns}");
}
