//! End-to-end tests of the daemon: real sockets on loopback and simple BGP speakers, all in this process.

mod access;
mod apply;
mod archive;
mod birdwatcher;
mod bmp;
mod control;
mod events;
mod handover;
mod hostile;
mod process;
mod reload;
mod restart;
mod sources;
mod station_handover;
mod support;
mod web;

use std::net::TcpListener;
use std::time::{Duration, Instant};

use rutter_api::{Client, Line, Request};
use rutter_net::{AfiSafi, Asn};
use rutter_wire::attr;
use rutter_wire::capability::Capability;
use rutter_wire::frame::KEEPALIVE;
use rutter_wire::refresh::{RouteRefresh, Subtype};
use support::{Folder, Received, Speaker, member, start, start_with, text};

fn two_members() -> String {
    format!("{}{}", member(1, 64501, ""), member(2, 64502, ""))
}

#[test]
fn routes_go_from_one_member_to_the_other_unchanged() {
    for threads in [1, 3] {
        let folder = Folder::new("exchange");
        let (daemon, address) = start(&folder, threads, &two_members());
        let mut one = Speaker::establish(1, 64501, address);
        let mut two = Speaker::establish(2, 64502, address);
        one.announce(&["8.8.8.0/24", "9.9.9.0/24"], &[65010, 65011]);
        two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);
        let path = [Asn(64501), Asn(65010), Asn(65011)];
        assert_eq!(two.path("8.8.8.0/24"), Some(&path[..]));
        one.withdraw(&["8.8.8.0/24"]);
        two.expect_table(&["9.9.9.0/24"]);
        // A client does not receive its own best route.
        two.announce(&["1.1.1.0/24"], &[]);
        one.expect_table(&["1.1.1.0/24"]);
        drop(one);
        two.expect_table(&[]);
        daemon.stop("test over");
    }
}

#[test]
fn a_late_client_receives_the_table_and_end_of_rib() {
    let folder = Folder::new("late");
    let (_daemon, address) = start(&folder, 2, &two_members());
    let mut one = Speaker::establish(1, 64501, address);
    let prefixes: Vec<String> = (0..200).map(|i| format!("20.{i}.0.0/16")).collect();
    let prefixes: Vec<&str> = prefixes.iter().map(String::as_str).collect();
    one.announce(&prefixes, &[]);
    let mut two = Speaker::establish(2, 64502, address);
    two.expect_table(&prefixes);
    two.receive_until(|s| s.end_of_rib);
}

#[test]
fn unknown_neighbors_are_refused() {
    let folder = Folder::new("strangers");
    let (_daemon, address) = start(&folder, 1, &two_members());
    let mut stranger = Speaker::connect(77, 64577, address);
    assert!(matches!(stranger.receive(), Received::Closed));
    let mut impostor = Speaker::connect(1, 64999, address);
    impostor.send_open(1);
    let notification = impostor.expect_notification();
    assert_eq!((notification.code, notification.subcode), (2, 2));
}

#[test]
fn malformed_attributes_have_the_outcome_of_rfc_7606() {
    let folder = Folder::new("malformed");
    let (_daemon, address) = start(&folder, 1, &two_members());
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    one.announce(&["8.8.8.0/24", "9.9.9.0/24"], &[]);
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);
    // ORIGIN 7: treat-as-withdraw, the session continues.
    let mut attributes = Vec::new();
    attr::write_attr(&mut attributes, 0x40, attr::code::ORIGIN, &[7]);
    one.update(&[], &attributes, &["8.8.8.0/24"]);
    two.expect_table(&["9.9.9.0/24"]);
    one.announce(&["7.7.7.0/24"], &[]);
    two.expect_table(&["7.7.7.0/24", "9.9.9.0/24"]);
    // Contradicting lengths reset the session.
    one.send(&[&[0xff; 16][..], &[0, 23, 2, 0xff, 0xff, 0, 0]].concat());
    let notification = one.expect_notification();
    assert_eq!((notification.code, notification.subcode), (3, 1));
    two.expect_table(&[]);
}

#[test]
fn too_many_prefixes_end_the_session() {
    let folder = Folder::new("limit");
    let limit = "max-prefix = { v4 = 2, action = \"shutdown\" }";
    let members = format!("{}{}", member(1, 64501, limit), member(2, 64502, ""));
    let (_daemon, address) = start(&folder, 1, &members);
    let mut one = Speaker::establish(1, 64501, address);
    one.announce(&["8.8.8.0/24", "9.9.9.0/24", "7.7.7.0/24"], &[]);
    let notification = one.expect_notification();
    assert_eq!((notification.code, notification.subcode), (6, 1));
}

/// The daemon asks for the prefix that it did not keep when another is withdrawn.
#[test]
fn blocked_prefixes_are_requested_once_there_is_room() {
    let folder = Folder::new("blocked");
    let limit = "max-prefix = { v4 = 2, action = \"block\" }";
    let members = format!("{}{}", member(1, 64501, limit), member(2, 64502, ""));
    let (_daemon, address) = start(&folder, 1, &members);
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    one.announce(&["8.8.8.0/24", "9.9.9.0/24", "7.7.7.0/24"], &[]);
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);
    one.withdraw(&["8.8.8.0/24"]);
    two.expect_table(&["9.9.9.0/24"]);
    while !matches!(one.receive(), Received::Refresh) {}
    one.announce(&["9.9.9.0/24", "7.7.7.0/24"], &[]);
    two.expect_table(&["7.7.7.0/24", "9.9.9.0/24"]);
}

/// The second member may be sent two prefixes, the third only warns.
#[test]
fn too_many_advertised_prefixes_end_the_session() {
    let folder = Folder::new("outlimit");
    let members = [
        member(1, 64501, ""),
        member(
            2,
            64502,
            "max-prefix-out = { v4 = 2, action = \"shutdown\" }",
        ),
        member(3, 64503, "max-prefix-out = { v4 = 2, action = \"warn\" }"),
    ];
    let (_daemon, address) = start(&folder, 1, &members.concat());
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    let mut three = Speaker::establish(3, 64503, address);
    one.announce(&["8.8.8.0/24", "9.9.9.0/24"], &[]);
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);
    one.announce(&["7.7.7.0/24"], &[]);
    let all = ["7.7.7.0/24", "8.8.8.0/24", "9.9.9.0/24"];
    two.expect_table(&all);
    let notification = two.expect_notification();
    assert_eq!((notification.code, notification.subcode), (6, 1));
    three.expect_table(&all);
    one.withdraw(&["7.7.7.0/24"]);
    three.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);
}

#[test]
fn a_shutdown_notifies_all_neighbors() {
    let folder = Folder::new("end");
    let (daemon, address) = start(&folder, 2, &two_members());
    let speakers = [(1, 64501), (2, 64502)].map(|(n, asn)| Speaker::establish(n, asn, address));
    let listeners = speakers.map(|mut speaker| {
        std::thread::spawn(move || {
            let notification = speaker.expect_notification();
            (
                notification.code,
                notification.subcode,
                notification.shutdown_text(),
            )
        })
    });
    daemon.stop("moving house");
    for listener in listeners {
        let received = listener.join().expect("a listener");
        assert_eq!(received, (6, 2, Some("moving house".to_owned())));
    }
}

#[test]
fn the_daemon_connects_to_a_listening_neighbor() {
    let folder = Folder::new("active");
    let listener = TcpListener::bind("127.0.1.1:0").expect("bind");
    let port = listener.local_addr().expect("address").port();
    let active = format!(
        "[[member]]\nasn = 64501\naddress = [\"127.0.1.1\"]\nport = {port}\nlocal-address = \"127.0.1.99\"\n{}",
        member(2, 64502, "")
    );
    let (_daemon, address) = start(&folder, 1, &active);
    let mut one = Speaker::accept(&listener, 64501);
    one.open(1);
    let mut two = Speaker::establish(2, 64502, address);
    one.announce(&["8.8.8.0/24"], &[]);
    two.expect_table(&["8.8.8.0/24"]);
}

#[test]
fn two_daemons_connect_with_one_password() {
    let folder = Folder::new("md5a");
    let password = "password = \"correct horse\"";
    let members = format!("{}{}", member(1, 64501, password), member(2, 64502, ""));
    let (_server, address) = start(&folder, 1, &members);
    let mut two = Speaker::establish(2, 64502, address);

    let folder = Folder::new("md5b");
    let router = format!(
        "[router]\nasn = 64501\nrouter-id = \"192.0.2.2\"\n\
         [daemon]\nlisten = [\"127.0.0.1:0\"]\nlog = \"error\"\ncontrol-socket = \"{}/ctl\"\n\
         [[neighbor]]\nasn = 64500\naddress = \"127.0.0.1\"\nport = {}\n\
         local-address = \"127.0.1.1\"\nnext-hop-self = false\nimport = \"all\"\nexport = \"all\"\n{password}\n\
         [[neighbor]]\nasn = 64503\naddress = \"127.0.1.3\"\npassive = true\nimport = \"all\"\n",
        folder.0.display(),
        address.port(),
    );
    let (_router, address) = start_with(&folder, &router);
    let mut three = Speaker::establish(3, 64503, address);
    three.announce(&["8.8.8.0/24"], &[]);
    two.expect_table(&["8.8.8.0/24"]);
    let path = [Asn(64501), Asn(64503)];
    assert_eq!(two.path("8.8.8.0/24"), Some(&path[..]));
}

#[test]
fn dynamic_neighbors_are_added_and_removed() {
    let folder = Folder::new("dynamic");
    let section = "[[dynamic-neighbor]]\nprefix = \"127.0.1.128/25\"\nasn = [64503, 64504]\n\
                   import = \"all\"\nexport = \"all\"\n";
    let (_daemon, address) = start(&folder, 2, &format!("{}{section}", two_members()));
    let mut two = Speaker::establish(2, 64502, address);
    let mut three = Speaker::establish(130, 64503, address);
    three.announce(&["8.8.8.0/24"], &[]);
    two.expect_table(&["8.8.8.0/24"]);
    let mut other = Speaker::connect(131, 64505, address);
    other.send_open(131);
    assert_eq!(other.expect_notification().code, 2);
    drop(three);
    two.expect_table(&[]);
    let mut again = Speaker::establish(130, 64504, address);
    again.announce(&["9.9.9.0/24"], &[]);
    two.expect_table(&["9.9.9.0/24"]);
}

fn ask(folder: &Folder, request: Request) -> Vec<Line> {
    let client = Client::connect(&folder.0.join("ctl")).expect("control socket");
    let answer = client.call(request).expect("a request");
    answer.collect::<Result<_, _>>().expect("an answer")
}

#[test]
fn a_reload_applies_only_the_differences() {
    let folder = Folder::new("reload");
    let (_daemon, address) = start(&folder, 2, &two_members());
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    one.announce(&["8.8.8.0/24", "9.9.9.0/24"], &[]);
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);

    let file = folder.0.join("rutter.toml");
    std::fs::write(&file, text(&folder, 2, "nonsense = 1")).expect("write");
    let refused = ask(&folder, Request::Reload);
    assert!(
        matches!(refused.last(), Some(Line::Error { .. })),
        "{refused:?}"
    );

    let black_list = "black-list = [\"9.9.9.0/24\"]";
    let members = format!(
        "{}{}{}",
        member(1, 64501, black_list),
        member(2, 64502, ""),
        member(3, 64503, "")
    );
    std::fs::write(&file, text(&folder, 2, &members)).expect("write");
    let taken = ask(&folder, Request::Reload);
    assert!(matches!(taken.last(), Some(Line::Done(_))), "{taken:?}");
    // The sessions continue without a refresh: the rejected route is withdrawn, a new member can connect.
    two.expect_table(&["8.8.8.0/24"]);
    let mut three = Speaker::establish(3, 64503, address);
    three.expect_table(&["8.8.8.0/24"]);

    std::fs::write(&file, text(&folder, 2, &two_members())).expect("write");
    ask(&folder, Request::Reload);
    let notification = three.expect_notification();
    assert_eq!((notification.code, notification.subcode), (6, 3));
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);
}

#[test]
fn a_reload_that_cannot_open_its_metrics_changes_nothing() {
    let folder = Folder::new("outlets");
    let (daemon, address) = start(&folder, 1, &two_members());
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    one.announce(&["8.8.8.0/24"], &[]);
    two.expect_table(&["8.8.8.0/24"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let busy = taken.local_addr().expect("its address");
    let file = folder.0.join("rutter.toml");
    let only_two = format!("{}\n[metrics]\nlisten = \"{busy}\"\n", member(2, 64502, ""));
    std::fs::write(&file, text(&folder, 1, &only_two)).expect("write");
    let refused = ask(&folder, Request::Reload);
    assert!(
        matches!(refused.last(), Some(Line::Error { .. })),
        "{refused:?}"
    );
    one.announce(&["9.9.9.0/24"], &[]);
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);
    drop(taken);
    let accepted = ask(&folder, Request::Reload);
    assert!(
        matches!(accepted.last(), Some(Line::Done(_))),
        "{accepted:?}"
    );
    assert_eq!(daemon.metrics_address(), Some(busy));
    two.expect_table(&[]);
}

#[test]
fn a_reload_that_cannot_archive_changes_nothing() {
    let folder = Folder::new("unarchived");
    let (_daemon, address) = start(&folder, 1, &two_members());
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    let file = folder.0.join("rutter.toml");
    // A file has the name of the directory.
    let mrt = format!("\n[mrt]\ndirectory = \"{}\"\n", file.display());
    let only_two = format!("{}{mrt}", member(2, 64502, ""));
    std::fs::write(&file, text(&folder, 1, &only_two)).expect("write");
    let refused = ask(&folder, Request::Reload);
    let Some(Line::Error { message, .. }) = refused.last() else {
        panic!("{refused:?}");
    };
    assert!(message.contains("mrt: cannot write in"), "{message}");
    one.announce(&["9.9.9.0/24"], &[]);
    two.expect_table(&["9.9.9.0/24"]);
}

#[test]
fn a_neighbor_removed_and_added_at_once_exists() {
    let folder = Folder::new("breath");
    let (_daemon, address) = start(&folder, 1, &two_members());
    let file = folder.0.join("rutter.toml");
    for _ in 0..20 {
        std::fs::write(&file, text(&folder, 1, &member(2, 64502, ""))).expect("write");
        ask(&folder, Request::Reload);
        std::fs::write(&file, text(&folder, 1, &two_members())).expect("write");
        ask(&folder, Request::Reload);
    }
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    one.announce(&["9.9.9.0/24"], &[]);
    two.expect_table(&["9.9.9.0/24"]);
}

#[test]
fn show_memory_accounts_for_the_resident_memory() {
    let folder = Folder::new("memory");
    let (_daemon, _) = start(&folder, 1, &two_members());
    let rows = ask(&folder, Request::Memory);
    let memory = |line: &Line| match line {
        Line::Memory(row) => row.bytes,
        _ => 0,
    };
    let known: u64 = rows.iter().map(memory).sum();
    let status = ask(&folder, Request::Status);
    let Some(Line::Status(status)) = status.first() else {
        panic!("{status:?}");
    };
    // The tests of this program share a process: between the two requests other tests start and stop daemons.
    let resident = status.rss_bytes;
    assert!(
        known > resident / 2 && known < resident * 2,
        "{known} of {resident}"
    );
}

#[test]
fn management_shows_and_resets_sessions() {
    let folder = Folder::new("management");
    let (_daemon, address) = start(&folder, 2, &two_members());
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    one.announce(&["8.8.8.0/24"], &[]);
    two.expect_table(&["8.8.8.0/24"]);
    let status = ask(&folder, Request::Status);
    let Some(Line::Status(status)) = status.first() else {
        panic!("{status:?}");
    };
    assert_eq!((status.peers, status.established), (2, 2));
    let reset = Request::Clear {
        peer: "AS64501".into(),
        how: rutter_api::ClearHow::Hard,
    };
    ask(&folder, reset);
    let notification = one.expect_notification();
    assert_eq!((notification.code, notification.subcode), (6, 4));
    two.expect_table(&[]);
    let mut one = Speaker::establish(1, 64501, address);
    one.announce(&["9.9.9.0/24"], &[]);
    two.expect_table(&["9.9.9.0/24"]);
}

#[test]
fn show_peer_lists_the_running_timers() {
    let folder = Folder::new("timers");
    let (_daemon, address) = start(&folder, 1, &two_members());
    let mut one = Speaker::establish(1, 64501, address);
    one.announce(&["8.8.8.0/24"], &[]);
    let timers = || {
        let peer = "AS64501".into();
        let rows = ask(&folder, Request::Peer { peer });
        let Some(Line::Peer(row)) = rows.into_iter().next() else {
            panic!("no such peer");
        };
        let timers = row.session.timers.into_iter();
        timers
            .map(|timer| (timer.name, timer.fires_in_ms))
            .collect::<std::collections::BTreeMap<_, _>>()
    };
    let running = timers();
    let names: Vec<_> = running.keys().map(String::as_str).collect();
    assert_eq!(names, ["hold", "keepalive"]);
    assert!((60_000..=90_000).contains(&running["hold"]), "{running:?}");
    assert!(
        (10_000..=30_000).contains(&running["keepalive"]),
        "{running:?}"
    );
    std::thread::sleep(Duration::from_millis(50));
    assert!(timers()["keepalive"] < running["keepalive"]);
    drop(one);
}

/// A wake-up that arrives while the thread reads must not wait for the next timer.
#[test]
fn no_wake_up_is_lost() {
    let folder = Folder::new("wake-up");
    let members: Vec<String> = (1..=41)
        .map(|n| member(n, 64_500 + u32::from(n), ""))
        .collect();
    let (_daemon, address) = start(&folder, 1, &members.concat());
    let establish = |n: u8| Speaker::establish(n, 64_500 + u32::from(n), address);
    let mut speakers: Vec<Speaker> = (1..=40).map(establish).collect();
    for _ in 0..3_000 {
        // The thread reads these messages while the accepted connection is posted to it.
        for speaker in &mut speakers[..4] {
            speaker.send(&KEEPALIVE);
        }
        let mut late = Speaker::connect(41, 64_541, address);
        assert!(matches!(late.receive(), Received::Open(_)));
    }
}

/// Requests that arrive while a refresh is under way are answered together, by one more refresh.
#[test]
fn refresh_requests_of_a_client_that_does_not_read_are_bounded() {
    const REQUESTS: usize = 20_000;
    let folder = Folder::new("refresh");
    let (_daemon, address) = start(&folder, 1, &two_members());
    let mut one = Speaker::establish(1, 64501, address);
    one.announce(&["8.8.8.0/24", "9.9.9.0/24"], &[]);
    let mut two = Speaker::connect(2, 64502, address);
    two.open_with(2, 90, &[Capability::EnhancedRouteRefresh]);
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);
    let mut request = Vec::new();
    let (afi_safi, subtype) = (AfiSafi::IPV4_UNICAST, Subtype::Request);
    RouteRefresh { afi_safi, subtype }.encode(&mut request);
    two.send(&request.repeat(REQUESTS));
    let received = || {
        let peer = "AS64502".into();
        match ask(&folder, Request::Peer { peer }).into_iter().next() {
            Some(Line::Peer(row)) => row.session.received.messages.route_refresh,
            other => panic!("{other:?}"),
        }
    };
    while received() < REQUESTS as u64 {
        std::thread::sleep(Duration::from_millis(10));
    }
    one.announce(&["7.7.7.0/24"], &[]);
    let mut markers = 0;
    while two.table.len() < 3 {
        match two.receive() {
            Received::Refresh => markers += 1,
            Received::Update | Received::Keepalive => {}
            other => panic!("{other:?}"),
        }
    }
    assert!((2..REQUESTS / 10).contains(&markers), "{markers} markers");
}

#[test]
fn a_dynamic_neighbor_that_flaps_is_held_in_idle() {
    let folder = Folder::new("flapping");
    let section = "[[dynamic-neighbor]]\nprefix = \"127.0.1.128/25\"\nasn = [64503]\n\
                   import = \"all\"\nexport = \"all\"\n";
    let (_daemon, address) = start(&folder, 1, &format!("{}{section}", two_members()));
    let (begin, mut opens) = (Instant::now(), 0);
    while begin.elapsed() < Duration::from_secs(2) {
        let mut other = Speaker::connect(131, 64505, address);
        if matches!(other.receive(), Received::Open(_)) {
            opens += 1;
            other.send_open(131);
            assert_eq!(other.expect_notification().code, 2);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!((1..=3).contains(&opens), "{opens} in 2 s");
}
