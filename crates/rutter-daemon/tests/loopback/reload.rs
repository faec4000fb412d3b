//! Reloads of a running daemon: which sessions continue, and orders of changes that must not lose a neighbor.

use std::fs;

use rutter_api::{Line, Request};
use rutter_config::Config;
use rutter_daemon::Daemon;
use rutter_net::Asn;

use crate::ask;
use crate::support::{Folder, Speaker, member, start, start_with, text};

/// Writes a configuration and reloads it.
fn reload(folder: &Folder, threads: usize, more: &str) {
    let file = folder.0.join("rutter.toml");
    fs::write(file, text(folder, threads, more)).expect("write");
    let answer = ask(folder, Request::Reload);
    assert!(matches!(answer.last(), Some(Line::Done(_))), "{answer:?}");
}

/// A neighbor is removed, added, changed, moved to another AS and covered by a dynamic section, each time before its
/// thread has carried out the change before. Speakers connect between the changes.
#[test]
fn changes_of_one_address_in_quick_succession_keep_all_threads_running() {
    let folder = Folder::new("succession");
    let dynamic = "[[dynamic-neighbor]]\nprefix = \"127.0.1.0/29\"\nasn = [64501]\nimport = \"all\"\nexport = \"all\"\n";
    let one = member(1, 64501, "");
    let two = member(2, 64502, "");
    let plain = format!("{one}{two}");
    let orders = [
        two.clone(),
        plain.clone(),
        format!("{}{two}", member(1, 64501, "hold-time = \"30s\"")),
        format!("{}{two}", member(1, 64511, "")),
        format!("{two}{dynamic}"),
        format!("{one}{two}{dynamic}"),
        format!("{}{two}", member(1, 64501, "black-list = [\"9.9.9.0/24\"]")),
    ];
    let (_daemon, address) = start(&folder, 2, &plain);
    let mut last = 1;
    for round in 0..40_usize {
        let _connection = (round % 4 == 0).then(|| Speaker::connect(1, 64501, address));
        for step in 0..6 {
            last = (last * 5 + round + step) % orders.len();
            reload(&folder, 2, &orders[last]);
        }
    }
    reload(&folder, 2, &plain);
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    one.announce(&["9.9.9.0/24"], &[]);
    two.expect_table(&["9.9.9.0/24"]);
    two.announce(&["8.8.8.0/24"], &[]);
    one.expect_table(&["8.8.8.0/24"]);
}

/// What a session is sent changes by differences, and the session goes on. A NOTIFICATION would fail the test.
#[test]
fn a_reload_changes_what_an_established_session_is_sent() {
    let folder = Folder::new("live");
    let router = |keys: &str| {
        format!(
            "[router]\nasn = 64500\nrouter-id = \"192.0.2.1\"\n[daemon]\nlisten = [\"127.0.0.1:0\"]\nthreads = 2\n\
             log = \"error\"\ncontrol-socket = \"{folder}/ctl\"\nstate = \"{folder}\"\n\
             [[neighbor]]\nasn = 64501\naddress = \"127.0.1.1\"\npassive = true\nimport = \"all\"\nexport = \"all\"\n\
             [[neighbor]]\nasn = 64502\naddress = \"127.0.1.2\"\npassive = true\nimport = \"all\"\n{keys}\n",
            folder = folder.0.display()
        )
    };
    let change = |keys: &str| {
        fs::write(folder.0.join("rutter.toml"), router(keys)).expect("write");
        let answer = ask(&folder, Request::Reload);
        assert!(matches!(answer.last(), Some(Line::Done(_))), "{answer:?}");
    };
    let (_daemon, address) = start_with(&folder, &router("export = \"none\""));
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    one.announce(&["8.8.8.0/24", "9.9.9.0/24"], &[]);
    two.announce(&["7.7.7.0/24"], &[]);
    one.expect_table(&["7.7.7.0/24"]);
    assert!(two.table.is_empty());
    change("export = \"all\"\nhold-time = \"60s\"\ndescription = \"two\"");
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);
    change("export = \"all\"\nnext-hop-self = false\nhold-time = \"60s\"");
    change("export = \"none\"\nhold-time = \"60s\"");
    two.expect_table(&[]);
    change("export = \"all\"\nhold-time = \"60s\"");
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);
    one.withdraw(&["8.8.8.0/24"]);
    two.expect_table(&["9.9.9.0/24"]);
    assert!(one.table.contains_key(&crate::support::parse("7.7.7.0/24")));
}

#[test]
fn a_member_gets_our_as_in_paths_without_a_reset() {
    let folder = Folder::new("prepend");
    let members = |keys: &str| format!("{}{}", member(1, 64501, ""), member(2, 64502, keys));
    let (_daemon, address) = start(&folder, 2, &members(""));
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    one.announce(&["8.8.8.0/24"], &[]);
    two.expect_table(&["8.8.8.0/24"]);
    reload(&folder, 2, &members("prepend-rs-as = true"));
    let wanted = [Asn(64500), Asn(64501)];
    two.receive_until(|s| s.path("8.8.8.0/24") == Some(&wanted[..]));
    reload(&folder, 2, &members(""));
    two.receive_until(|s| s.path("8.8.8.0/24") == Some(&wanted[1..]));
}

/// The key changes on one side, then on the other. Routes pass all the time, over the same session.
#[test]
fn a_tcp_md5_key_changes_on_the_living_connection() {
    let folder = Folder::new("key");
    let members = |key: &str| {
        let with_key = format!("password = \"{key}\"");
        format!("{}{}", member(1, 64501, &with_key), member(2, 64502, ""))
    };
    let (_server, address) = start(&folder, 1, &members("first"));
    let other = Folder::new("other-key");
    let router = |key: &str| {
        format!(
            "[router]\nasn = 64501\nrouter-id = \"10.0.0.1\"\n[daemon]\nlisten = [\"127.0.0.1:0\"]\nthreads = 1\n\
             log = \"error\"\ncontrol-socket = \"{folder}/ctl\"\nstate = \"{folder}\"\n\
             [[neighbor]]\nasn = 64500\naddress = \"127.0.0.1\"\nport = {port}\nlocal-address = \"127.0.1.1\"\n\
             import = \"all\"\nexport = \"all\"\npassword = \"{key}\"\nconnect-retry = 1\n\
             [[neighbor]]\nasn = 64503\naddress = \"127.0.1.3\"\npassive = true\nimport = \"all\"\nexport = \"all\"\n",
            folder = other.0.display(),
            port = address.port()
        )
    };
    let (_router, router_address) = start_with(&other, &router("first"));
    let mut two = Speaker::establish(2, 64502, address);
    let mut three = Speaker::establish(3, 64503, router_address);
    three.announce(&["8.8.8.0/24"], &[]);
    two.expect_table(&["8.8.8.0/24"]);
    reload(&folder, 1, &members("second"));
    three.announce(&["9.9.9.0/24"], &[]);
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);
    fs::write(other.0.join("rutter.toml"), router("second")).expect("write");
    ask(&other, Request::Reload);
    three.announce(&["7.7.7.0/24"], &[]);
    two.expect_table(&["7.7.7.0/24", "8.8.8.0/24", "9.9.9.0/24"]);
    two.announce(&["6.6.6.0/24"], &[]);
    three.expect_table(&["6.6.6.0/24"]);
    let peer = ask(
        &folder,
        Request::Peer {
            peer: "AS64501".into(),
        },
    );
    let Some(Line::Peer(peer)) = peer.first() else {
        panic!("{peer:?}");
    };
    assert_eq!(peer.session.established_count, 1);
}

/// Where the kernel has TCP-AO, a key is replaced while routes pass over the same session. Elsewhere nothing runs unsigned.
#[test]
fn a_tcp_ao_key_changes_on_the_living_connection_or_the_kernel_has_none() {
    let (folder, other) = (Folder::new("ao"), Folder::new("other-ao"));
    let keys = |folder: &Folder, ids: &[u8]| {
        let key = |id: &u8| {
            let file = folder.0.join(format!("key-{id}"));
            fs::write(&file, format!("the key with the number {id}\n")).expect("write");
            let file = file.display();
            format!("{{ send-id = {id}, receive-id = {id}, key-file = \"{file}\" }}")
        };
        let keys: Vec<String> = ids.iter().map(key).collect();
        format!("tcp-ao = [{}]", keys.join(", "))
    };
    let members = |ids: &[u8]| {
        let signed = member(1, 64501, &keys(&folder, ids));
        format!("{signed}{}", member(2, 64502, ""))
    };
    let (_server, address) = start(&folder, 1, &member(2, 64502, ""));
    let mut two = Speaker::establish(2, 64502, address);
    let file = folder.0.join("rutter.toml");
    fs::write(&file, text(&folder, 1, &members(&[1]))).expect("write");
    let config = Config::load(&file).unwrap_or_else(|errors| panic!("{errors:#?}"));
    if let Err(why) = rutter_daemon::check_tcp_ao(&config.config) {
        assert!(why.contains("tcp-ao: this kernel has no TCP-AO"), "{why}");
        let answer = ask(&folder, Request::Reload);
        let Some(Line::Error { message, .. }) = answer.last() else {
            panic!("{answer:?}");
        };
        assert!(
            message.starts_with(&why) && message.contains("CONFIG_TCP_AO"),
            "{message}"
        );
        let start = Daemon::start(config.config, None).err().expect("no start");
        assert!(start.to_string().contains(&why), "{start}");
        two.announce(&["9.9.9.0/24"], &[]);
        return;
    }
    reload(&folder, 1, &members(&[1]));
    let router = |ids: &[u8]| {
        format!(
            "[router]\nasn = 64501\nrouter-id = \"10.0.0.1\"\n[daemon]\nlisten = [\"127.0.0.1:0\"]\nthreads = 1\n\
             log = \"error\"\ncontrol-socket = \"{folder}/ctl\"\nstate = \"{folder}\"\n\
             [[neighbor]]\nasn = 64500\naddress = \"127.0.0.1\"\nport = {port}\nlocal-address = \"127.0.1.1\"\n\
             import = \"all\"\nexport = \"all\"\n{keys}\nconnect-retry = 1\n\
             [[neighbor]]\nasn = 64503\naddress = \"127.0.1.3\"\npassive = true\nimport = \"all\"\nexport = \"all\"\n",
            folder = other.0.display(),
            port = address.port(),
            keys = keys(&other, ids),
        )
    };
    let (_router, router_address) = start_with(&other, &router(&[1]));
    let mut three = Speaker::establish(3, 64503, router_address);
    let mut announced = Vec::new();
    let steps: [(&[u8], &[u8], &str); 4] = [
        (&[1], &[1], "8.8.8.0/24"),
        (&[2, 1], &[1], "9.9.9.0/24"),
        (&[2, 1], &[2, 1], "7.7.7.0/24"),
        (&[2], &[2], "6.6.6.0/24"),
    ];
    for (ours, theirs, prefix) in steps {
        reload(&folder, 1, &members(ours));
        fs::write(other.0.join("rutter.toml"), router(theirs)).expect("write");
        ask(&other, Request::Reload);
        three.announce(&[prefix], &[]);
        announced.push(prefix);
        two.expect_table(&announced);
    }
    let peer = "AS64501".into();
    let peer = ask(&folder, Request::Peer { peer });
    let Some(Line::Peer(peer)) = peer.first() else {
        panic!("{peer:?}");
    };
    assert_eq!(peer.session.established_count, 1);
}

#[test]
fn blocked_prefixes_that_were_kept_are_accepted_once_there_is_room() {
    let folder = Folder::new("kept");
    let limit = "max-prefix = { v4 = 2, action = \"block\", keep-blocked = true }";
    let members = format!("{}{}", member(1, 64501, limit), member(2, 64502, ""));
    let (_daemon, address) = start(&folder, 1, &members);
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    one.announce(&["8.8.8.0/24", "9.9.9.0/24", "7.7.7.0/24"], &[]);
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);
    one.withdraw(&["8.8.8.0/24"]);
    two.expect_table(&["7.7.7.0/24", "9.9.9.0/24"]);
}

/// The neighbor is over the limit all the time, so only the changed action makes a difference.
#[test]
fn a_limit_that_only_warned_closes_the_session_after_a_reload() {
    let folder = Folder::new("warned");
    let limit = |action| format!("max-prefix = {{ v4 = 2, action = \"{action}\" }}");
    let members = |action| {
        let first = member(1, 64501, &limit(action));
        format!("{first}{}", member(2, 64502, ""))
    };
    let (_daemon, address) = start(&folder, 1, &members("warn"));
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    one.announce(&["8.8.8.0/24", "9.9.9.0/24", "7.7.7.0/24"], &[]);
    two.expect_table(&["7.7.7.0/24", "8.8.8.0/24", "9.9.9.0/24"]);
    reload(&folder, 1, &members("shutdown"));
    one.announce(&["6.6.6.0/24"], &[]);
    let notification = one.expect_notification();
    assert_eq!((notification.code, notification.subcode), (6, 1));
}

/// The present server of the metrics gives way to one at an address that overlaps, and comes back if the change is refused.
#[test]
fn a_reload_moves_the_metrics_to_an_address_that_overlaps() {
    let folder = Folder::new("overlap");
    // Connections of other tests have ports from 32768 on.
    let from = 20_000 + std::process::id() as u16 % 10_000;
    let is_free = |port: &u16| std::net::TcpListener::bind(("0.0.0.0", *port)).is_ok();
    let port = (from..32_000).find(is_free).expect("a port");
    let metrics = |address: &str, more: &str| {
        format!(
            "{}\n[metrics]\nlisten = \"{address}:{port}\"\n{more}",
            member(1, 64501, "")
        )
    };
    let (daemon, _) = start(&folder, 1, &metrics("127.0.0.1", ""));
    reload(&folder, 1, &metrics("0.0.0.0", ""));
    let address = daemon.metrics_address().expect("metrics");
    assert!(address.ip().is_unspecified());
    // The looking glass cannot have the port of the speakers, so nothing changes.
    let bgp = daemon.listen_addresses()[0].port();
    let web = format!("[web]\nlisten = \"127.0.0.1:{bgp}\"\n");
    let file = folder.0.join("rutter.toml");
    fs::write(file, text(&folder, 1, &metrics("127.0.0.1", &web))).expect("write");
    let refused = ask(&folder, Request::Reload);
    assert!(
        matches!(refused.last(), Some(Line::Error { .. })),
        "{refused:?}"
    );
    let address = daemon.metrics_address().expect("metrics");
    assert!(address.ip().is_unspecified());
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
}

/// A dynamic neighbor has no section that differs, but its checks depend on other sections.
#[test]
fn a_reload_of_another_section_reaches_dynamic_neighbors() {
    let folder = Folder::new("reload-dynamic");
    let dynamic = "[[dynamic-neighbor]]\nprefix = \"127.0.1.128/25\"\nimport = \"checks\"\nexport = \"all\"\n\
                   next-hop = \"any\"\n";
    let more = format!("{}{dynamic}", member(2, 64502, ""));
    let (_daemon, address) = start(&folder, 1, &more);
    let mut two = Speaker::establish(2, 64502, address);
    let mut three = Speaker::establish(130, 64503, address);
    three.announce(&["8.8.8.0/24", "9.9.9.0/24"], &[]);
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);

    let lan = |lans: &str| {
        let file = folder.0.join("rutter.toml");
        let text = text(&folder, 1, &more).replace("lan = [\"127.0.1.0/24\"]", lans);
        assert!(text.contains(lans), "{text}");
        fs::write(file, text).expect("write");
        let answer = ask(&folder, Request::Reload);
        assert!(matches!(answer.last(), Some(Line::Done(_))), "{answer:?}");
    };
    lan("lan = [\"127.0.1.0/24\", \"9.9.9.0/24\"]");
    two.expect_table(&["8.8.8.0/24"]);
    lan("lan = [\"127.0.1.0/24\"]");
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);
}
