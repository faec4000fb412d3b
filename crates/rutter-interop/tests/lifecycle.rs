//! Sessions that go up and down: graceful restart, limits, shutdown, reload, dynamic neighbors.

use std::time::Duration;

use rutter_interop::bird::Bird;
use rutter_interop::exabgp::ExaBgp;
use rutter_interop::frr::Frr;
use rutter_interop::gobgp::GoBgp;
use rutter_interop::rutter::{Rutter, member, neighbor};
use rutter_interop::{
    Lab, Peer, Route, Setup, Speaker, client, eventually, holds, keeps_holding, rutter_holds, up,
};

const A: u32 = 2_101;
const B: u32 = 2_102;

fn plain(_: &mut Peer) {}

fn routes(asn: u32, host: u8, count: u8) -> Vec<Route> {
    let path = [asn, 3_333];
    let hops = (format!("10.77.0.{host}"), format!("2a0e:ffff::{host}"));
    (0..count)
        .flat_map(|n| {
            [
                Route::new(&format!("45.{host}.{n}.0/24"), &hops.0, &path).med(5),
                Route::new(&format!("2a0e:{host}:{n}::/48"), &hops.1, &path).med(5),
            ]
        })
        .collect()
}

/// A route server with one client under test (host 2) and ExaBGP as observer (host 3).
fn watched<S: Speaker>(
    keys: &str,
    start: fn(Setup) -> S,
    change: impl FnOnce(&mut Peer),
) -> (Lab, Rutter, S, ExaBgp) {
    let lab = Lab::new();
    let members = member(lab.address(2), A, keys) + &member(lab.address(3), B, "");
    let mut rutter = Rutter::start(&lab, &members);
    let mut watcher = ExaBgp::start(client(&lab, &rutter, 3, B, plain));
    let mut speaker = start(client(&lab, &rutter, 2, A, change));
    up(&lab, &mut rutter, 2, &mut speaker);
    up(&lab, &mut rutter, 3, &mut watcher);
    (lab, rutter, speaker, watcher)
}

/// A client crashes and reconnects: the observer receives nothing, except withdrawals of routes that are no longer
/// announced.
fn crash_and_return<S: Speaker>(start: fn(Setup) -> S, restart: fn(&mut S)) {
    let change = |peer: &mut Peer| peer.graceful_restart_s = Some(60);
    let (lab, mut rutter, mut speaker, watcher) = watched("", start, change);
    let all = routes(A, 2, 4);
    speaker.announce(&all);
    holds(&watcher, &all);
    let updates = watcher.updates().unwrap();

    speaker.process().kill();
    eventually("the session is down", || {
        match rutter.established(lab.address(2)) {
            false => Ok(()),
            true => Err("it is up".to_owned()),
        }
    });
    keeps_holding(Duration::from_secs(2), &watcher, &all);
    restart(&mut speaker);
    up(&lab, &mut rutter, 2, &mut speaker);
    keeps_holding(Duration::from_secs(3), &watcher, &all);
    assert_eq!(
        watcher.updates().unwrap(),
        updates,
        "the observer received something"
    );
    rutter_holds(&rutter, lab.address(2), &all);
    eventually("no route is stale", || {
        let rows = rutter.ask(&["show", "routes"])?;
        match rows.iter().find(|row| row["stale"] == true) {
            None => Ok(()),
            Some(row) => Err(row.to_string()),
        }
    });
}

#[test]
fn bird_restarts_gracefully() {
    crash_and_return(Bird::start, Bird::restart_gracefully);
}

#[test]
fn gobgp_restarts_gracefully() {
    crash_and_return(GoBgp::start, GoBgp::restart_gracefully);
}

#[test]
fn routes_go_when_a_restarting_client_does_not_return() {
    let change = |peer: &mut Peer| peer.graceful_restart_s = Some(20);
    let (_lab, _rutter, mut bird, watcher) = watched("", Bird::start, change);
    let all = routes(A, 2, 2);
    bird.announce(&all);
    holds(&watcher, &all);
    bird.process().kill();
    keeps_holding(Duration::from_secs(2), &watcher, &all);
    holds(&watcher, []);
}

#[test]
fn a_client_keeps_our_routes_while_rutter_restarts() {
    let change = |peer: &mut Peer| peer.graceful_restart_s = Some(60);
    let (lab, mut rutter, bird, mut watcher) = watched("", Bird::start, change);
    let mut bird = bird;
    let all = routes(B, 3, 2);
    watcher.announce(&all);
    holds(&bird, &all);
    rutter.crash_and_restart();
    up(&lab, &mut rutter, 2, &mut bird);
    up(&lab, &mut rutter, 3, &mut watcher);
    holds(&bird, &all);
    let (mut lines, log) = (Vec::new(), bird.process().log());
    lines.extend(log.lines().filter(|line| line.contains("graceful restart")));
    assert!(!lines.is_empty(), "BIRD did not wait for Rutter:\n{log}");
}

#[test]
fn prefixes_above_the_limit_are_blocked() {
    let keys = "max-prefix = { v4 = 3, v6 = 100, action = \"block\" }";
    let (lab, rutter, mut bird, watcher) = watched(keys, Bird::start, plain);
    bird.announce(&routes(A, 2, 5));
    eventually("three IPv4 and all IPv6 routes arrive", || {
        let held = watcher.received()?;
        let ipv4 = held.iter().filter(|r| r.next_hop.is_ipv4()).count();
        match (ipv4, held.len() - ipv4) {
            (3, 5) => Ok(()),
            counts => Err(format!("{counts:?}")),
        }
    });
    assert!(rutter.established(lab.address(2)));
}

#[test]
fn a_session_above_the_limit_is_reset_with_the_reason() {
    let keys = "max-prefix = { v4 = 3, action = \"shutdown\" }";
    let (lab, rutter, mut bird, watcher) = watched(keys, Bird::start, plain);
    let some = routes(A, 2, 2);
    bird.announce(&some);
    holds(&watcher, &some);
    bird.announce(&routes(A, 2, 5)[4..]);
    eventually("the session is down", || {
        match rutter.established(lab.address(2)) {
            false => Ok(()),
            true => Err("it is up".to_owned()),
        }
    });
    holds(&watcher, []);
    eventually("BIRD knows why", || {
        let text = bird.birdc(&["show", "protocols", "all", "target"])?;
        match text.contains("Maximum number of prefixes reached") {
            true => Ok(()),
            false => Err(text),
        }
    });
}

#[test]
fn the_shutdown_text_reaches_bird_and_frr() {
    let lab = Lab::new();
    let members = member(lab.address(2), A, "") + &member(lab.address(3), B, "");
    let mut rutter = Rutter::start(&lab, &members);
    let mut bird = Bird::start(client(&lab, &rutter, 2, A, plain));
    let mut frr = Frr::start(client(&lab, &rutter, 3, B, plain));
    up(&lab, &mut rutter, 2, &mut bird);
    up(&lab, &mut rutter, 3, &mut frr);
    let text = "back in 10 minutes, Grüße";
    rutter.ask(&["stop", "--text", text]).unwrap();
    eventually("BIRD has logged the text", || {
        let log = bird.process().log();
        match log.contains("dministrative shutdown") && log.contains("back in 10 minutes") {
            true => Ok(()),
            false => Err(log),
        }
    });
    let address = lab.address(1);
    eventually("FRR knows the text", || {
        let json = frr.vtysh([format!("show bgp neighbors {address} json")])?;
        match json.contains("back in 10 minutes") {
            true => Ok(()),
            false => Err(json),
        }
    });
}

#[test]
fn a_reload_adds_and_removes_members_and_leaves_the_others_alone() {
    let (lab, mut rutter, mut bird, mut watcher) = watched("", Bird::start, plain);
    let all = routes(A, 2, 2);
    bird.announce(&all);
    holds(&watcher, &all);
    let second = |asn| member(lab.address(3), asn, "");
    let third = member(lab.address(4), 202_104, "");
    let first = member(lab.address(2), A, "");
    rutter
        .reload(&(first.clone() + &second(B) + &third))
        .unwrap();
    let mut late = GoBgp::start(client(&lab, &rutter, 4, 202_104, plain));
    up(&lab, &mut rutter, 4, &mut late);
    holds(&late, &all);
    // A file with an error changes nothing.
    let wrong = first.clone() + "[[member]]\nasn = 0\n";
    assert!(rutter.reload(&wrong).is_err());
    up(&lab, &mut rutter, 4, &mut late);
    rutter.reload(&(first + &second(B))).unwrap();
    eventually("the removed member's session is down", || {
        match late.established() {
            false => Ok(()),
            true => Err("it is up".to_owned()),
        }
    });
    for host in [2, 3] {
        let session = rutter.session(lab.address(host)).unwrap();
        assert_eq!(session["established-count"], 1, "host {host}: {session}");
    }
    up(&lab, &mut rutter, 3, &mut watcher);
    holds(&watcher, &all);
}

#[test]
fn dynamic_neighbors_connect_from_a_known_network() {
    let lab = Lab::new();
    let network = format!("{}/24", lab.address(0));
    let mut rutter = Rutter::start_router(
        &lab,
        &format!(
            "[[dynamic-neighbor]]\nprefix = \"{network}\"\nasn = [{A}, {B}]\nimport = \"all\"\nexport = \"all\"\n"
        ),
    );
    let mut bird = Bird::start(client(&lab, &rutter, 2, A, plain));
    let mut exabgp = ExaBgp::start(client(&lab, &rutter, 3, B, plain));
    let stranger = Frr::start(client(&lab, &rutter, 4, 2_199, plain));
    up(&lab, &mut rutter, 2, &mut bird);
    up(&lab, &mut rutter, 3, &mut exabgp);
    let all = routes(A, 2, 1);
    bird.announce(&all[..1]);
    // Plain eBGP: our AS is prepended, the next hop is our address, and MEDs are removed.
    let mut path = vec![Rutter::ASN];
    path.extend(&all[0].as_path);
    let own = lab.address(1).to_string();
    let received = Route::new(&all[0].prefix.to_string(), &own, &path);
    holds(&exabgp, [&received]);
    assert!(!stranger.established());
}

/// Rutter opens connections to daemons that connect as well: one of two connections stays.
#[test]
fn both_sides_connect() {
    let lab = Lab::new();
    let active = "passive = false";
    let members = member(lab.address(2), A, active) + &member(lab.address(3), B, active);
    let mut rutter = Rutter::start(&lab, &members);
    let mut bird = Bird::start(client(&lab, &rutter, 2, A, plain));
    let mut gobgp = GoBgp::start(client(&lab, &rutter, 3, B, plain));
    up(&lab, &mut rutter, 2, &mut bird);
    up(&lab, &mut rutter, 3, &mut gobgp);
    let (of_bird, of_gobgp) = (routes(A, 2, 2), routes(B, 3, 2));
    bird.announce(&of_bird);
    gobgp.announce(&of_gobgp);
    holds(&gobgp, &of_bird);
    holds(&bird, &of_gobgp);
}

/// Plain eBGP and iBGP: the attributes that each adds.
#[test]
fn a_router_between_an_upstream_and_its_own_network() {
    let lab = Lab::new();
    let sections = neighbor(lab.address(2), A, "import = \"all\"\nexport = \"all\"")
        + &neighbor(lab.address(3), Rutter::ASN, "mode = \"client\"")
        + &neighbor(lab.address(4), Rutter::ASN, "mode = \"client\"");
    let mut rutter = Rutter::start_router(&lab, &sections);
    let mut upstream = Bird::start(client(&lab, &rutter, 2, A, plain));
    let mut inside = GoBgp::start(client(&lab, &rutter, 3, Rutter::ASN, plain));
    let mut other = Frr::start(client(&lab, &rutter, 4, Rutter::ASN, plain));
    up(&lab, &mut rutter, 2, &mut upstream);
    up(&lab, &mut rutter, 3, &mut inside);
    up(&lab, &mut rutter, 4, &mut other);
    let from_upstream = Route::new("45.40.0.0/16", "10.77.0.2", &[A, 3_333]).med(5);
    upstream.announce(std::slice::from_ref(&from_upstream));
    // Routes to iBGP neighbors are unchanged.
    holds(&inside, [&from_upstream]);
    holds(&other, [&from_upstream]);
}

/// The number of times that the session of host 2 was established.
fn established_count(lab: &Lab, rutter: &Rutter) -> Option<u64> {
    let session = rutter.session(lab.address(2)).ok()?;
    session["established-count"].as_u64()
}

/// Rutter changes what BIRD is sent, the hold time and the TCP MD5 key, and the session goes on. Then BIRD changes its key too,
/// for which it resets its own session.
#[test]
fn live_changes_and_a_new_md5_key_reset_no_session_of_bird() {
    let key = |peer: &mut Peer| peer.password = Some("first-key".to_owned());
    let keys = "password = \"first-key\"";
    let (lab, rutter, mut bird, mut watcher) = watched(keys, Bird::start, key);
    let reload = |keys: &str| {
        let members = member(lab.address(2), A, keys) + &member(lab.address(3), B, "");
        rutter
            .reload(&members)
            .unwrap_or_else(|error| panic!("{error}"));
    };
    let to_bird = Route::new("45.3.0.0/24", "10.77.0.3", &[B, 3_333]);
    watcher.announce(std::slice::from_ref(&to_bird));
    holds(&bird, [&to_bird]);
    // The first connections may have collided.
    let before = established_count(&lab, &rutter).expect("the session");

    reload(
        "password = \"first-key\"\nhold-time = \"45s\"\nprepend-rs-as = true\ndescription = \"bird\"",
    );
    let longer = eventually("BIRD receives the path with another AS", || {
        let received = bird.received()?;
        let path = received.iter().next().map(|route| route.as_path.clone());
        path.filter(|path| path.len() == 3)
            .ok_or(format!("{received:?}"))
    });
    assert_eq!(longer[1..], [B, 3_333]);
    reload(&format!("{keys}\nhold-time = \"45s\""));
    holds(&bird, [&to_bird]);

    reload("password = \"second-key\"\nhold-time = \"45s\"");
    let all = routes(A, 2, 1);
    bird.announce(&all);
    holds(&watcher, &all);
    assert_eq!(established_count(&lab, &rutter), Some(before));

    bird.change_key("second-key");
    eventually(
        "BIRD is back with the new key",
        || match established_count(&lab, &rutter) {
            Some(count) if count > before && bird.established() => Ok(()),
            other => Err(format!("{other:?}")),
        },
    );
    holds(&watcher, &all);
    holds(&bird, [&to_bird]);
}
