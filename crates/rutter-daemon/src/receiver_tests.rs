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
use rutter_wire::capability::{Capability, GracefulRestart, GracefulRestartFamily};
use rutter_wire::frame::KEEPALIVE;
use rutter_wire::open::Open;
use rutter_wire::update;

use super::*;
use crate::commands::CommandRunner;
use crate::daemon::Daemon;
use crate::mailbox::Command;
use crate::neighbor_settings::NeighborSettings;
use crate::peer_table::Change;
use crate::transmitter::Transmitter;

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
        Self::with(name, "")
    }

    /// With more settings of the first member.
    fn with(name: &str, settings: &str) -> Self {
        let name = format!("rutter-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.display();
        let text = format!(
            "[exchange]\nasn = 64500\nrouter-id = \"192.0.2.1\"\nlan = [\"127.0.1.0/24\"]\n\
             [daemon]\nlisten = [\"127.0.0.1:0\"]\nthreads = 1\nlog = \"error\"\n\
             control-socket = \"{path}/ctl\"\nstate = \"{path}\"\n[checks]\nnext-hop = \"any\"\ninvalid-asns = false\n\
             [defaults]\npassive = true\nidle-hold-time = 1\n\
             [[member]]\nasn = 64501\naddress = [\"127.0.1.1\"]\n{settings}\
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
        // Otherwise a message waits until the one before is acknowledged.
        client.set_nodelay(true).expect("a socket");
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

    /// Reads the first member's messages, which take several turns: this client's single change makes the shares small.
    fn commit_in_parts(&mut self, single: &mut TcpStream) {
        let one = announcement(2, 10_000..10_001);
        single.write_all(&one).expect("send");
        self.read();
        let slot = self.slot(0);
        self.driver.uncommitted_on(slot).expect("routes wait");
        while self.driver.uncommitted_on(slot).is_some() {
            self.read();
        }
        self.read();
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
        Capability::GracefulRestart(GracefulRestart {
            restart_state: false,
            notification: true,
            restart_time_s: 120,
            families: vec![GracefulRestartFamily {
                afi_safi: AfiSafi::IPV4_UNICAST,
                forwarding: true,
            }],
        }),
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

/// An UPDATE of a member with long attributes of its own.
fn long_announcement(member: usize, number: u32) -> Vec<u8> {
    let mut attributes = Vec::new();
    attr::write_attr(&mut attributes, 0x40, code::ORIGIN, &[0]);
    let [a, b] = (number as u16).to_be_bytes();
    let path = [2, 2, 0, 0, 0xfb, 0xf5 + member as u8, 0, 3, a, b];
    attr::write_attr(&mut attributes, 0x40, code::AS_PATH, &path);
    attr::write_attr(&mut attributes, 0x40, code::NEXT_HOP, &[198, 51, 100, 7]);
    attr::write_attr(&mut attributes, 0xd0, 99, &[7; 3_900]);
    let [_, high, middle, low] = number.to_be_bytes();
    let sections = update::Sections {
        withdrawn: &[],
        attributes: &attributes,
        nlri: &[24, 20 + high, middle, low],
    };
    let mut out = Vec::new();
    update::write(&mut out, &sections);
    out
}

const HIDDEN: u32 = 1_000;

/// Members 0 and 1 announce the same prefixes, and those of member 1 have long attributes. All others receive the routes of
/// member 0.
fn hide_long_routes(world: &mut World) -> [TcpStream; 3] {
    let mut clients = [0, 1, 2].map(|member| world.connect(member, &open(member)));
    world.read();
    assert!((0..3).all(|member| world.is_established(member)));
    let mut transmitter = Transmitter::default();
    for _ in 0..10 {
        for (member, id) in (0..3).flat_map(|member| ConnectionId::ALL.map(|id| (member, id))) {
            let slot = world.slot(member);
            let key = ConnectionKey { slot, id };
            if let Some(one) = world.driver.peers.connection_mut(key) {
                one.writable = true;
            }
        }
        world.driver.write_queue.push_all();
        transmitter.write_sockets(&mut world.driver);
    }
    for number in 0..HIDDEN {
        let long = long_announcement(1, number);
        clients[1].write_all(&long).expect("send");
        world.read();
    }
    for half in [0..HIDDEN / 2, HIDDEN / 2..HIDDEN] {
        let short = announcement(0, half);
        clients[0].write_all(&short).expect("send");
    }
    for _ in 0..100 {
        world.read();
    }
    let received = [0, 1].map(|member| world.received_routes(member));
    assert_eq!(received, [HIDDEN; 2]);
    clients
}

/// Withdraws all of [`hide_long_routes`] in one message.
fn withdrawal_of_all() -> Vec<u8> {
    withdrawal(0..HIDDEN)
}

fn withdrawal(numbers: std::ops::Range<u32>) -> Vec<u8> {
    let withdrawn = numbers.flat_map(|number| {
        let [_, high, middle, low] = number.to_be_bytes();
        [24, 20 + high, middle, low]
    });
    let sections = update::Sections {
        withdrawn: &withdrawn.collect::<Vec<u8>>(),
        attributes: &[],
        nlri: &[],
    };
    let mut out = Vec::new();
    update::write(&mut out, &sections);
    out
}

/// A member withdraws its routes in one message, and others with long attributes take their places.
#[test]
fn a_message_that_sends_long_attributes_of_others_takes_many_turns() {
    let mut world = World::new("long");
    let mut clients = hide_long_routes(&mut world);
    let mut messages = withdrawal_of_all();
    // The session must not handle it at once, because then all UPDATEs before would have to be in the table.
    messages.extend(KEEPALIVE);
    messages.extend(announcement(0, 5_000..5_001));
    clients[0].write_all(&messages).expect("send");
    let mut turns = 0;
    loop {
        let one = announcement(2, 10_000 + turns..10_001 + turns);
        clients[2].write_all(&one).expect("send");
        let before = world.received_routes(0);
        world.read();
        turns += 1;
        assert_eq!(world.received_routes(2), turns);
        let left = world.received_routes(0);
        if before <= 1 {
            assert_eq!(left, 1, "the later message");
            break;
        }
        // Single changes are known only after the first of them.
        let most = if turns == 1 { 400 } else { 200 };
        assert!(before - left < most, "turn {turns}: {before}, then {left}");
        assert!(turns < 500, "it goes on");
    }
    assert!(turns > 5, "{turns}");
}

/// A member withdraws routes and announces as many others, which its limit just allows.
#[test]
fn a_limit_is_checked_when_all_changes_of_a_neighbor_are_in_the_table() {
    let limit = format!("max-prefix = {{ v4 = {HIDDEN}, action = \"shutdown\" }}\n");
    let mut world = World::with("limit", &limit);
    let mut clients = hide_long_routes(&mut world);
    for half in [0..HIDDEN / 2, HIDDEN / 2..HIDDEN] {
        let others = half.start + 2 * HIDDEN..half.end + 2 * HIDDEN;
        let messages = [withdrawal(half), announcement(0, others)].concat();
        clients[0].write_all(&messages).expect("send");
        world.commit_in_parts(&mut clients[2]);
        assert!(world.is_established(0));
        assert_eq!(world.received_routes(0), HIDDEN);
    }
    let more = announcement(0, 4 * HIDDEN..4 * HIDDEN + 1);
    clients[0].write_all(&more).expect("send");
    world.read();
    assert!(!world.is_established(0), "the limit holds");
}

/// The session of a member ends while routes that it has withdrawn wait.
fn end_in_the_middle(name: &str, end: impl FnOnce(&mut World, ConnectionKey)) -> World {
    end_in_the_middle_of(&withdrawal_of_all(), name, end)
}

fn end_in_the_middle_of(
    withdrawals: &[u8],
    name: &str,
    end: impl FnOnce(&mut World, ConnectionKey),
) -> World {
    let mut world = World::new(name);
    let mut clients = hide_long_routes(&mut world);
    clients[0].write_all(withdrawals).expect("send");
    // Single changes of another make the shares small.
    let one = announcement(2, 10_000..10_001);
    clients[2].write_all(&one).expect("send");
    world.read();
    let slot = world.slot(0);
    let id = world.driver.uncommitted_on(slot).expect("routes wait");
    end(&mut world, ConnectionKey { slot, id });
    world
}

#[test]
fn a_connection_that_is_lost_ends_when_its_routes_are_in_the_table() {
    let mut left = HIDDEN;
    let mut world = end_in_the_middle("lost", |world, key| {
        let cause = EndCause::Failed(std::io::ErrorKind::BrokenPipe.into());
        world.driver.connection_ended(key, cause);
    });
    while world.is_established(0) {
        let before = std::mem::replace(&mut left, world.received_routes(0));
        assert!(before - left < HIDDEN / 2, "{before}, then {left}");
        assert!(left > 0, "it goes on");
        world.read();
    }
    assert_eq!(world.received_routes(0), 0, "nothing is left to remove");
}

#[test]
fn routes_of_a_lost_connection_stay_over_a_restart_when_its_hold_timer_is_due_first() {
    let half = withdrawal(0..HIDDEN / 2);
    let mut world = end_in_the_middle_of(&half, "due", |world, key| {
        let cause = EndCause::Failed(std::io::ErrorKind::ConnectionReset.into());
        world.driver.connection_ended(key, cause);
        assert!(world.is_established(0), "its routes wait");
        world.driver.now_ms += 90_000;
        while let Some(slot) = world.driver.next_due() {
            world.driver.tick(slot);
        }
        let deadline = world.driver.deadlines.next_deadline();
        assert!(deadline.is_some_and(|at| at > world.driver.now_ms));
    });
    while world.is_established(0) {
        world.read();
    }
    while world.driver.is_sweeping() {
        world.driver.sweep();
    }
    assert_eq!(world.received_routes(0), HIDDEN / 2);
}

/// The new connection ends the session, whose routes stay over the restart. All of them at once would take long.
#[test]
fn a_connection_that_replaces_a_session_waits_until_the_routes_of_the_old_one_are_in_the_table() {
    let half = withdrawal(0..HIDDEN / 2);
    let mut second = None;
    let mut world = end_in_the_middle_of(&half, "replaced", |world, _| {
        world.driver.now_ms += 60_000;
        second = Some(world.connect(0, &open(0)));
    });
    let slot = world.slot(0);
    let mut left = world.received_routes(0);
    assert!(left > HIDDEN / 2, "some wait");
    while world.driver.uncommitted_on(slot).is_some() {
        CommandRunner(&mut world.driver).accept_delayed();
        assert!(world.is_established(0));
        assert!(world.driver.has_delayed_connections());
        world.read();
        let before = std::mem::replace(&mut left, world.received_routes(0));
        assert!(before - left < HIDDEN / 4, "{before}, then {left}");
    }
    CommandRunner(&mut world.driver).accept_delayed();
    assert!(!world.driver.has_delayed_connections());
    assert!(!world.is_established(0), "the session is replaced");
    assert_eq!(world.received_routes(0), HIDDEN / 2, "they stay");
    while !world.is_established(0) {
        while world.driver.is_sweeping() {
            world.driver.sweep();
        }
        world.read();
    }
}

/// Both sides connected at the same time, or the neighbor gave the new connection up.
#[test]
fn a_connection_that_would_not_replace_the_session_does_not_do_so_later() {
    for (age_ms, is_closed) in [(0, false), (60_000, true)] {
        let name = format!("stays-{age_ms}");
        let mut world = end_in_the_middle(&name, |world, _| {
            world.driver.now_ms += age_ms;
            let second = world.connect(0, &[]);
            assert_eq!(world.driver.has_delayed_connections(), is_closed);
            drop(second);
        });
        let slot = world.slot(0);
        while world.driver.uncommitted_on(slot).is_some() {
            world.read();
        }
        world.driver.now_ms += 10_000;
        CommandRunner(&mut world.driver).accept_delayed();
        assert!(!world.driver.has_delayed_connections());
        assert!(world.is_established(0));
    }
}

fn expire_send_hold(world: &mut World, key: ConnectionKey) {
    let connection = key.id;
    let blocked = Input::WriteBlocked { connection };
    world.driver.handle(key.slot, blocked);
    world.driver.now_ms += 480_000;
    while let Some(slot) = world.driver.next_due() {
        world.driver.tick(slot);
    }
}

/// Its other timers must not wait for the routes then.
#[test]
fn a_session_goes_on_if_its_neighbor_reads_again_while_its_routes_wait() {
    let mut world = end_in_the_middle("reads-again", |world, key| {
        expire_send_hold(world, key);
        // As each turn in which its routes wait: that restarts the hold timer.
        world.driver.updates_received(key.slot, 0);
        let connection = key.id;
        let drained = Input::WriteDrained { connection };
        world.driver.handle(key.slot, drained);
        let keepalive = Timer::Keepalive(connection);
        assert!(world.driver.is_due(key.slot, keepalive));
        world.driver.tick(key.slot);
        assert!(!world.driver.is_due(key.slot, keepalive));
        assert_eq!(world.driver.uncommitted_on(key.slot), Some(key.id));
    });
    let slot = world.slot(0);
    while world.driver.uncommitted_on(slot).is_some() {
        world.read();
    }
    assert!(world.is_established(0));
}

/// The neighbor keeps routes after a NOTIFICATION, and so do we (RFC 8538). All of them at once would take long.
#[test]
fn a_session_whose_neighbor_reads_nothing_ends_when_its_routes_are_in_the_table() {
    let half = withdrawal(0..HIDDEN / 2);
    let mut world = end_in_the_middle_of(&half, "unread", expire_send_hold);
    let mut left = world.received_routes(0);
    assert!(left > HIDDEN / 2, "some wait");
    while world.is_established(0) {
        world.read();
        let before = std::mem::replace(&mut left, world.received_routes(0));
        assert!(before - left < HIDDEN / 4, "{before}, then {left}");
    }
    while world.driver.is_sweeping() {
        world.driver.sweep();
    }
    assert_eq!(world.received_routes(0), HIDDEN / 2, "they stay");
}

#[test]
fn routes_that_wait_end_with_their_session() {
    let mut world = end_in_the_middle("ends", |world, key| {
        let input = Input::Reset {
            reason: rutter_session::ResetReason::Administrative,
            text: "",
        };
        world.driver.handle(key.slot, input);
    });
    assert!(!world.is_established(0));
    while world.driver.is_sweeping() {
        world.driver.sweep();
    }
    assert_eq!(world.received_routes(0), 0);
    assert_eq!(world.received_routes(1), HIDDEN);
}

#[test]
fn routes_that_wait_come_into_the_table_before_another_process_takes_over() {
    let world = end_in_the_middle("passed", |world, _| world.driver.commit_all());
    assert_eq!(world.received_routes(0), 0);
    assert_eq!(world.driver.uncommitted_on(world.slot(0)), None);
}
