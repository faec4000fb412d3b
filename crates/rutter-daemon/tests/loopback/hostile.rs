//! Neighbors and clients that take what they can get: the limits hold, and the others are served.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rutter_api::{Line, PeerRow, Request, StatusRow};
use rutter_net::AfiSafi;
use rutter_wire::attr::{self, code};
use rutter_wire::capability::{
    AddPathFamily, AddPathMode, Capability, GracefulRestart, GracefulRestartFamily,
};
use rutter_wire::refresh::{RouteRefresh, Subtype};
use rutter_wire::{nlri, update};

use crate::support::{Folder, Speaker, member, parse, start, wait_until};
use crate::{ask, two_members};

/// UPDATEs with one prefix each and attributes of their own, of some 4,000 bytes.
fn large_updates(asn: u32, numbers: std::ops::Range<u32>) -> Vec<u8> {
    let mut out = Vec::new();
    for number in numbers {
        let mut attributes = Vec::new();
        attr::write_attr(&mut attributes, 0x40, code::ORIGIN, &[0]);
        let [a, b, c, d] = asn.to_be_bytes();
        let path = [2, 1, a, b, c, d];
        attr::write_attr(&mut attributes, 0x40, code::AS_PATH, &path);
        let next_hop = [198, 51, 100, 7];
        attr::write_attr(&mut attributes, 0x40, code::NEXT_HOP, &next_hop);
        let mut value = vec![7; 3_900];
        value[..4].copy_from_slice(&number.to_be_bytes());
        attr::write_attr(&mut attributes, 0xd0, 99, &value);
        let [_, high, middle, low] = number.to_be_bytes();
        let mut nlri = Vec::new();
        let prefix = format!("{}.{middle}.{low}.0/24", 20 + high);
        nlri::write_ipv4(&mut nlri, None, parse(&prefix));
        let sections = update::Sections {
            withdrawn: &[],
            attributes: &attributes,
            nlri: &nlri,
        };
        update::write(&mut out, &sections);
    }
    out
}

fn status(folder: &Folder) -> StatusRow {
    match ask(folder, Request::Status).into_iter().next() {
        Some(Line::Status(status)) => *status,
        other => panic!("{other:?}"),
    }
}

/// The row of the attacker, AS64501.
fn attacker_row(folder: &Folder) -> PeerRow {
    row(folder, "AS64501")
}

fn row(folder: &Folder, peer: &str) -> PeerRow {
    let peer = peer.into();
    match ask(folder, Request::Peer { peer }).into_iter().next() {
        Some(Line::Peer(row)) => *row,
        other => panic!("{other:?}"),
    }
}

/// Sends more than the limit allows until the session ends. Returns the most that the attacker's routes took, and the table.
fn flood(folder: &Folder, speaker: &mut Speaker, updates: u32) -> (u64, u64) {
    let (mut of_attacker, mut of_table) = (0, 0);
    for start in (0..updates).step_by(64) {
        let asn = speaker.asn.0;
        // The daemon may have closed the connection.
        if !speaker.try_send(&large_updates(asn, start..start + 64)) {
            break;
        }
        of_attacker = attacker_row(folder).session.memory_bytes.max(of_attacker);
        of_table = status(folder).table_bytes.max(of_table);
    }
    (of_attacker, of_table)
}

const MIB: u64 = 1 << 20;

#[test]
fn a_neighbor_cannot_take_more_memory_than_its_limit() {
    let folder = Folder::new("max-memory");
    let limit = "max-memory = { limit = \"4M\" }";
    let members = [member(1, 64501, limit), member(2, 64502, "")].concat();
    let (_daemon, address) = start(&folder, 2, &members);
    let mut honest = Speaker::establish(2, 64502, address);
    honest.announce(&["9.9.9.0/24"], &[]);
    let mut hostile = Speaker::establish(1, 64501, address);
    // 16 MB of attributes.
    let (largest, _) = flood(&folder, &mut hostile, 4_096);
    let notification = hostile.expect_notification();
    assert_eq!((notification.code, notification.subcode), (6, 8));
    assert!(largest < 6 * MIB, "{largest}");
    honest.expect_table(&[]);
    assert_eq!(attacker_row(&folder).session.memory_limit_exceeded, 1);
    while status(&folder).table_bytes > MIB {
        thread::sleep(Duration::from_millis(5));
    }
}

/// A route server whose table may take 16 MiB, with one honest member.
fn with_table_limit(name: &str) -> (Folder, rutter_daemon::Handle, SocketAddr, Speaker) {
    let folder = Folder::new(name);
    // `start` writes these keys into `[daemon]`.
    let more = format!("max-memory = \"16M\"\n{}", two_members());
    let (daemon, address) = start(&folder, 2, &more);
    let honest = Speaker::establish(2, 64502, address);
    (folder, daemon, address, honest)
}

#[test]
fn the_table_cannot_take_more_memory_than_its_limit() {
    let (folder, _daemon, address, mut honest) = with_table_limit("table-memory");
    honest.announce(&["9.9.9.0/24"], &[]);
    let mut hostile = Speaker::establish(1, 64501, address);
    let (_, largest) = flood(&folder, &mut hostile, 16_384);
    let notification = hostile.expect_notification();
    assert_eq!((notification.code, notification.subcode), (6, 8));
    assert!(largest < 19 * MIB, "{largest}");
    honest.expect_table(&[]);
    assert_eq!(status(&folder).table_limit_exceeded, 1);
}

/// Graceful restart keeps what an attacker announced. It leaves before an honest member loses its session.
#[test]
fn stale_routes_leave_before_a_session_ends() {
    let (folder, _daemon, address, mut honest) = with_table_limit("stale-memory");
    let restart = Capability::GracefulRestart(GracefulRestart {
        restart_state: false,
        notification: false,
        restart_time_s: 600,
        families: vec![GracefulRestartFamily {
            afi_safi: AfiSafi::IPV4_UNICAST,
            forwarding: true,
        }],
    });
    let mut hostile = Speaker::connect(1, 64501, address);
    hostile.open_with(1, 90, &[restart]);
    hostile.send(&large_updates(64501, 0..2_000));
    wait_until("the routes are there", || {
        attacker_row(&folder).families[0].received == 2_000
    });
    drop(hostile);
    wait_until("the session is down", || status(&folder).established == 1);
    assert!(status(&folder).table_bytes > 7 * MIB, "the routes are kept");
    // More than the attacker had, but less than the limit.
    honest.send(&large_updates(64502, 10_000..12_500));
    wait_until("the honest routes are there, without the others", || {
        let received = row(&folder, "AS64502").families[0].received;
        received == 2_500 && status(&folder).table_bytes < 14 * MIB
    });
    let status = status(&folder);
    assert_eq!((status.established, status.table_limit_exceeded), (1, 1));
}

/// Clients of the control socket that read nothing, or send no request, give way.
#[test]
fn idle_clients_do_not_keep_the_operator_from_the_control_socket() {
    let folder = Folder::new("control");
    let (_daemon, _) = start(&folder, 1, &two_members());
    let path = folder.0.join("ctl");
    let followers: Vec<UnixStream> = (0..200)
        .map(|_| {
            let mut follower = UnixStream::connect(&path).expect("control socket");
            // Some are refused at once while all are fresh.
            let _ =
                follower.write_all(b"{\"version\":1,\"request\":{\"log\":{\"follow\":true}}}\n");
            follower
        })
        .collect();
    thread::sleep(Duration::from_secs(5));
    for _ in 0..10 {
        assert_eq!(status(&folder).peers, 2);
    }
    drop(followers);
}

/// The changes that an honest member announces during an attack. Each must reach the other honest member.
const CHANGES: u32 = 20;

/// A route server with one thread, so that all share it, an attacker and two honest members. `attack` sends the messages of
/// one round, over and over; the honest members go on.
fn beside_honest_members(
    name: &str,
    more: &str,
    capabilities: &[Capability],
    attack: impl Fn(u32) -> Vec<u8> + Sync,
) -> (Folder, rutter_daemon::Handle, Speaker) {
    beside_all_members(name, more, capabilities, &[], attack)
}

/// The same with members that read nothing.
fn beside_all_members(
    name: &str,
    more: &str,
    capabilities: &[Capability],
    silent: &[u8],
    attack: impl Fn(u32) -> Vec<u8> + Sync,
) -> (Folder, rutter_daemon::Handle, Speaker) {
    let folder = Folder::new(name);
    let members = [
        member(1, 64501, more),
        member(2, 64502, ""),
        member(3, 64503, ""),
    ];
    let silent_members = silent.iter().map(|last| member(*last, asn_of(*last), ""));
    let members = members.into_iter().chain(silent_members);
    let (daemon, address) = start(&folder, 1, &members.collect::<String>());
    let _silent: Vec<Speaker> = { silent.iter() }
        .map(|last| Speaker::establish(*last, asn_of(*last), address))
        .collect();
    let mut announcer = Speaker::establish(2, 64502, address);
    let mut listener = Speaker::establish(3, 64503, address);
    let mut attacker = Speaker::connect(1, 64501, address);
    attacker.open_with(1, 90, capabilities);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut round = 0;
            while !is_over.load(Ordering::Relaxed) && attacker.try_send(&attack(round)) {
                round += 1;
            }
        });
        let _end = EndOfAttack(&is_over);
        for number in 0..CHANGES {
            let prefix = format!("9.9.{number}.0/24");
            announcer.announce(&[&prefix], &[]);
            listener.receive_until(|s| s.table.contains_key(&parse(&prefix)));
            announcer.withdraw(&[&prefix]);
            listener.receive_until(|s| !s.table.contains_key(&parse(&prefix)));
        }
    });
    assert_eq!(status(&folder).established, 3 + silent.len() as u32);
    (folder, daemon, attacker)
}

/// The AS of the member with this last octet of its address.
fn asn_of(last: u8) -> u32 {
    64_500 + u32::from(last)
}

/// Ends the attack when it is dropped, also if the honest members failed.
struct EndOfAttack<'a>(&'a AtomicBool);

impl Drop for EndOfAttack<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// An UPDATE of AS64501 with these NLRI.
fn announcement(nlri: &[u8]) -> Vec<u8> {
    announcement_with(&[], nlri)
}

/// The same with more attributes, which are encoded.
fn announcement_with(more: &[u8], nlri: &[u8]) -> Vec<u8> {
    let mut attributes = Vec::new();
    attr::write_attr(&mut attributes, 0x40, code::ORIGIN, &[0]);
    let path = [2, 1, 0, 0, 0xfb, 0xf5];
    attr::write_attr(&mut attributes, 0x40, code::AS_PATH, &path);
    let next_hop = [198, 51, 100, 7];
    attr::write_attr(&mut attributes, 0x40, code::NEXT_HOP, &next_hop);
    attributes.extend_from_slice(more);
    let mut out = Vec::new();
    let sections = update::Sections {
        withdrawn: &[],
        attributes: &attributes,
        nlri,
    };
    update::write(&mut out, &sections);
    out
}

/// An UPDATE that withdraws these NLRI.
fn withdrawal(nlri: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let sections = update::Sections {
        withdrawn: nlri,
        attributes: &[],
        nlri: &[],
    };
    update::write(&mut out, &sections);
    out
}

fn refresh(afi_safi: AfiSafi, subtype: Subtype) -> Vec<u8> {
    let mut out = Vec::new();
    RouteRefresh { afi_safi, subtype }.encode(&mut out);
    out
}

#[test]
fn sweeps_in_a_loop_do_not_stop_honest_members() {
    let one_cycle = |round: u32| {
        let mut nlri = Vec::new();
        nlri::write_ipv4(&mut nlri, None, parse(&format!("8.8.{}.0/24", round % 256)));
        [
            refresh(AfiSafi::IPV4_UNICAST, Subtype::Begin),
            announcement(&nlri),
            refresh(AfiSafi::IPV4_UNICAST, Subtype::End),
        ]
        .concat()
    };
    let capabilities = [Capability::EnhancedRouteRefresh];
    let (folder, _daemon, _attacker) =
        beside_honest_members("sweeps", "", &capabilities, |round| {
            one_cycle(round).repeat(20)
        });
    assert!(
        attacker_row(&folder)
            .session
            .received
            .messages
            .route_refresh
            > 0
    );
}

#[test]
fn messages_that_are_logged_do_not_stop_honest_members() {
    let message = refresh(AfiSafi::IPV6_UNICAST, Subtype::Request).repeat(200);
    let (folder, _daemon, _attacker) =
        beside_honest_members("log-lines", "", &[], |_| message.clone());
    let lines = ask(&folder, Request::Log { follow: false });
    assert!(lines.len() < 100, "{}", lines.len());
}

#[test]
fn paths_without_end_are_not_kept_and_do_not_stop_honest_members() {
    let paths = |round: u32| {
        let mut nlri = Vec::new();
        for path_id in round * 400..(round + 1) * 400 {
            nlri::write_ipv4(&mut nlri, Some(path_id), parse("8.8.8.0/24"));
        }
        announcement(&nlri)
    };
    let offer = AddPathFamily {
        afi_safi: AfiSafi::IPV4_UNICAST,
        mode: AddPathMode::Send,
    };
    let capabilities = [Capability::AddPath(vec![offer])];
    let more = "add-path = { receive = true }";
    // After 100 rounds the same paths come again.
    let (folder, _daemon, _attacker) =
        beside_honest_members("paths", more, &capabilities, |round| paths(round % 100));
    let row = attacker_row(&folder);
    assert!(row.families[0].received <= 1_024, "{:?}", row.families);
    assert!(row.families[0].accepted <= 256, "{:?}", row.families);
}

#[test]
fn routes_that_flap_and_empty_updates_do_not_stop_honest_members() {
    let mut nlri = Vec::new();
    nlri::write_ipv4(&mut nlri, None, parse("8.8.8.0/24"));
    let mut round = announcement(&nlri);
    round.extend(withdrawal(&nlri));
    round.extend(announcement(&[]));
    let round = round.repeat(50);
    let (_folder, _daemon, _attacker) = beside_honest_members("flaps", "", &[], |_| round.clone());
}

/// A malformed attribute withdraws the route (RFC 7606) and is logged.
#[test]
fn malformed_routes_in_a_loop_do_not_stop_honest_members() {
    let mut nlri = Vec::new();
    nlri::write_ipv4(&mut nlri, None, parse("8.8.8.0/24"));
    let mut communities = Vec::new();
    attr::write_attr(&mut communities, 0xc0, code::COMMUNITIES, &[0; 3]);
    let round = [announcement(&nlri), announcement_with(&communities, &nlri)];
    let round = round.concat().repeat(50);
    let (folder, _daemon, _attacker) =
        beside_honest_members("malformed", "", &[], |_| round.clone());
    let lines = ask(&folder, Request::Log { follow: false });
    assert!(lines.len() < 100, "{}", lines.len());
}

#[test]
fn routes_with_many_audiences_do_not_stop_honest_members() {
    let round = |round: u32| {
        let mut value = Vec::new();
        // Not to one of the members, and not to many ASes that nobody has.
        for to in (300_000 + round..300_300 + round).chain([64_502 + round % 3]) {
            let parts = [64_500, 0, to].map(u32::to_be_bytes);
            value.extend(parts.concat());
        }
        let mut actions = Vec::new();
        attr::write_attr(&mut actions, 0xd0, code::LARGE_COMMUNITIES, &value);
        let mut nlri = Vec::new();
        nlri::write_ipv4(&mut nlri, None, parse(&format!("8.8.{}.0/24", round % 256)));
        announcement_with(&actions, &nlri)
    };
    let more = "[communities]\nnot-to-peer = \"self:0:peer\"";
    let (_folder, _daemon, _attacker) = beside_honest_members("audiences", more, &[], round);
}

/// Each UPDATE has other action communities, and none of them concerns a member.
#[test]
fn small_routes_with_new_actions_do_not_stop_honest_members() {
    let update = |number: u32| {
        let parts = [64_500, 0, 300_000 + number].map(u32::to_be_bytes);
        let mut actions = Vec::new();
        attr::write_attr(&mut actions, 0xc0, code::LARGE_COMMUNITIES, &parts.concat());
        let mut nlri = Vec::new();
        nlri::write_ipv4(
            &mut nlri,
            None,
            parse(&format!("8.8.{}.0/24", number % 256)),
        );
        announcement_with(&actions, &nlri)
    };
    let more = "[communities]\nnot-to-peer = \"self:0:peer\"";
    let (_folder, _daemon, _attacker) =
        beside_honest_members("small-audiences", more, &[], |round| {
            (round * 50..(round + 1) * 50).flat_map(update).collect()
        });
}

/// The log of members that read nothing becomes marks.
#[test]
fn withdrawals_that_others_do_not_read_do_not_stop_honest_members() {
    let round = |round: u32| {
        let mut nlri = Vec::new();
        for number in (0..900).map(|at| (round * 900 + at) % 0x20_0000) {
            let [_, high, middle, low] = number.to_be_bytes();
            let prefix = format!("{}.{middle}.{low}.0/24", 32 + high);
            nlri::write_ipv4(&mut nlri, None, parse(&prefix));
        }
        [announcement(&nlri), withdrawal(&nlri)].concat()
    };
    let (_folder, _daemon, _attacker) = beside_all_members("unread", "", &[], &[4, 5], round);
}

/// Unlike the paths of one prefix, those of many prefixes stay below all limits.
#[test]
fn new_paths_of_many_prefixes_do_not_stop_honest_members() {
    let paths = |path_id: u32| {
        let mut nlri = Vec::new();
        for prefix in 0..100 {
            nlri::write_ipv4(
                &mut nlri,
                Some(path_id),
                parse(&format!("8.8.{prefix}.0/24")),
            );
        }
        nlri
    };
    let offer = AddPathFamily {
        afi_safi: AfiSafi::IPV4_UNICAST,
        mode: AddPathMode::Both,
    };
    let capabilities = [Capability::AddPath(vec![offer])];
    let more = "add-path = { receive = true, send = true }";
    let (_folder, _daemon, _attacker) =
        beside_honest_members("path-churn", more, &capabilities, |round| {
            let old = withdrawal(&paths(round.wrapping_sub(100)));
            [announcement(&paths(round)), old].concat()
        });
}

/// A change of one path concerns all paths of its prefix.
#[test]
fn changes_of_crowded_prefixes_do_not_stop_honest_members() {
    let paths = |round: u32| {
        let mut nlri = Vec::new();
        for prefix in 0..250 {
            let prefix = parse(&format!("8.8.{prefix}.0/24"));
            nlri::write_ipv4(&mut nlri, Some(round % 256), prefix);
        }
        let mut exit = Vec::new();
        attr::write_attr(&mut exit, 0x80, code::MULTI_EXIT_DISC, &round.to_be_bytes());
        announcement_with(&exit, &nlri)
    };
    let offer = AddPathFamily {
        afi_safi: AfiSafi::IPV4_UNICAST,
        mode: AddPathMode::Both,
    };
    let capabilities = [Capability::AddPath(vec![offer])];
    let more = "add-path = { receive = true, send = true }";
    let (_folder, _daemon, _attacker) =
        beside_honest_members("crowded", more, &capabilities, paths);
}

/// The time for which a neighbor is remembered because of its faults.
const FAULTS_FORGOTTEN: Duration = Duration::from_secs(60);

/// Addresses that once connected are remembered because of their faults. They do not keep others out.
#[test]
fn idle_dynamic_neighbors_give_way_to_one_that_connects() {
    let folder = Folder::new("dynamic-places");
    let section = "[[dynamic-neighbor]]\nprefix = \"127.0.1.128/25\"\nasn = [64503]\nlimit = 3\n\
                   import = \"all\"\nexport = \"all\"\n";
    let (_daemon, address) = start(&folder, 2, &format!("{}{section}", two_members()));
    let mut honest = Speaker::establish(130, 64503, address);
    for last in [131, 132] {
        let mut hostile = Speaker::connect(last, 64505, address);
        hostile.send_open(last);
        assert_eq!(hostile.expect_notification().code, 2);
    }
    let dynamic = || {
        let lines = ask(&folder, Request::Peers);
        let is_dynamic = |line: &&Line| matches!(line, Line::Peer(peer) if peer.session.dynamic);
        lines.iter().filter(is_dynamic).count()
    };
    assert_eq!(dynamic(), 3);
    let (begin, mut late) = (Instant::now(), None);
    wait_until("another is admitted", || {
        let mut speaker = Speaker::connect(140, 64503, address);
        // A connection that is refused is closed at once.
        let is_admitted = speaker.is_greeted(140);
        late = is_admitted.then_some(speaker);
        is_admitted
    });
    assert!(begin.elapsed() < FAULTS_FORGOTTEN, "it waited for them");
    let mut late = late.expect("a session");
    late.announce(&["9.9.9.0/24"], &[]);
    honest.expect_table(&["9.9.9.0/24"]);
    assert_eq!(dynamic(), 3);
    // Those with a session stay: the next one finds the place of the other hostile address.
    wait_until("the next is admitted", || {
        Speaker::connect(141, 64503, address).is_greeted(141)
    });
    honest.announce(&["8.8.8.0/24"], &[]);
    late.expect_table(&["8.8.8.0/24"]);
}

/// Half-open requests, and connections without one, give way.
#[test]
fn half_open_requests_do_not_keep_prometheus_from_the_metrics() {
    let folder = Folder::new("half-open");
    let more = format!("[metrics]\nlisten = \"127.0.0.1:0\"\n{}", two_members());
    let (daemon, _) = start(&folder, 1, &more);
    let metrics = daemon.metrics_address().expect("[metrics]");
    let half_open: Vec<TcpStream> = (0..64)
        .map(|_| {
            let mut stream = TcpStream::connect(metrics).expect("connect");
            stream.write_all(b"GET /metr").expect("half a request");
            stream
        })
        .collect();
    thread::sleep(Duration::from_secs(5));
    for _ in 0..5 {
        let mut stream = TcpStream::connect(metrics).expect("connect");
        let request = b"GET /metrics HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";
        stream.write_all(request).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.contains("rutter_table_memory_limit_bytes"));
    }
    drop(half_open);
}
