//! Real routers report to Rutter's BMP station. A WebSocket client receives the changes, and the station of pmacct
//! holds the same routes.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{self, JoinHandle};

use rutter_interop::frr::Frr;
use rutter_interop::gobgp::GoBgp;
use rutter_interop::pmacct::Pmbmpd;
use rutter_interop::rutter::{Rutter, member};
use rutter_interop::{Lab, Peer, Route, Setup, Speaker, eventually, output_of};
use serde_json::Value;

const FRR: u32 = 2_101;
const GOBGP: u32 = 202_103;

/// Peer address, prefix and AS path of every route that the collector holds.
fn held(collector: &Rutter) -> Result<BTreeSet<String>, String> {
    let rows = collector.ask(&["show", "routes"])?;
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let routes = rows.iter().filter(|row| row["prefix"].is_string());
    Ok(routes
        .map(|row| {
            let peer = text(&row["peer"]["name"]);
            let path = text(&row["attributes"]["as-path"]);
            format!("{peer} {} {path}", text(&row["prefix"]))
        })
        .collect())
}

fn holds(collector: &Rutter, what: &str, expected: &[String]) {
    let expected: BTreeSet<String> = expected.iter().cloned().collect();
    eventually(what, || {
        let held = held(collector)?;
        match held == expected {
            true => Ok(()),
            false => Err(format!("{held:#?} instead of {expected:#?}")),
        }
    });
}

/// Peer, prefix, path, next hop, MED and communities of each route of the collector: all values that pmacct logs.
fn rows(collector: &Rutter) -> Result<BTreeSet<String>, String> {
    let rows = collector.ask(&["show", "routes"])?;
    let routes = rows.iter().filter(|row| row["prefix"].is_string());
    let list = |value: &Value| {
        let values = value.as_array().into_iter().flatten();
        values.map(plain).collect::<Vec<_>>().join(" ")
    };
    Ok(routes
        .map(|row| {
            let had = &row["attributes"];
            let lists = ["communities", "large-communities"].map(|name| list(&had[name]));
            let [path, hop, med] =
                ["as-path", "next-hop", "multi-exit-disc"].map(|name| plain(&had[name]));
            let (peer, prefix) = (plain(&row["peer"]["address"]), plain(&row["prefix"]));
            format!("{peer} {prefix} {path} {hop} {med} {}", lists.join(" "))
        })
        .collect())
}

fn rows_of_station(station: &Pmbmpd) -> Result<BTreeSet<String>, String> {
    let line = |row: &Value| {
        let words = [
            "peer_ip",
            "ip_prefix",
            "as_path",
            "bgp_nexthop",
            "med",
            "comms",
            "lcomms",
        ];
        words.map(|name| plain(&row[name])).join(" ")
    };
    Ok(station.routes()?.iter().map(line).collect())
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn same(collector: &Rutter, station: &Pmbmpd, what: &str) {
    eventually(what, || {
        let (ours, theirs) = (rows(collector)?, rows_of_station(station)?);
        match ours == theirs {
            true => Ok(()),
            false => Err(format!("pmbmpd has {theirs:#?} instead of {ours:#?}")),
        }
    });
}

/// Returns the messages that Python's `websockets` receives, up to a withdrawal.
fn listen(url: &str, ready: &Path) -> JoinHandle<Result<String, String>> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let python = root.join("../../target/python/bin/python3");
    let mut command = Command::new(python);
    command
        .arg(root.join("tests/stream.py"))
        .arg(url)
        .arg(ready);
    let received = thread::spawn(move || output_of(&mut command));
    eventually("the client listens", || {
        match ready.exists() || received.is_finished() {
            true => Ok(()),
            false => Err("not yet; is it there? tools/install-test-deps installs it".into()),
        }
    });
    received
}

#[test]
fn frr_and_gobgp_report_the_routes_of_each_other() {
    let lab = Lab::new();
    let port = lab.port() + 4_000;
    let (address, a, b) = (lab.address(1), lab.address(2), lab.address(3));
    let stream = port + 1_000;
    let onward = SocketAddr::new(address, port + 2_000);
    let section = format!(
        "[bmp]\nlisten = [\"{address}:{port}\"]\n[stream]\nlisten = \"{address}:{stream}\"\n\
         [[bmp-target]]\naddress = \"{onward}\"\n"
    );
    let station = Pmbmpd::start(&lab, onward);
    let collector = Rutter::start_collector(&lab, &section);
    let mut frr = Frr::start(Setup::new(&lab, "frr", 2, FRR, Peer::new(b, GOBGP)));
    let mut gobgp = GoBgp::start(Setup::new(&lab, "gobgp", 3, GOBGP, Peer::new(a, FRR)));
    frr.announce(&[
        Route::new("45.30.0.0/16", "10.77.0.2", &[FRR]).med(1),
        Route::new("2a0e:30::/32", "2a0e:ffff::2", &[FRR]).med(2),
    ]);
    gobgp.announce(&[
        Route::new("45.40.0.0/16", "10.77.0.3", &[GOBGP])
            .community(64_999, 7)
            .community(64_999, 8)
            .large_community(64_999, 1, 2),
        Route::new("2a0e:40::/32", "2a0e:ffff::3", &[GOBGP]),
    ]);
    eventually("FRR and GoBGP talk", || {
        match frr.established() && gobgp.established() {
            true => Ok(()),
            false => Err("not yet".into()),
        }
    });
    frr.vtysh([
        "configure terminal".to_owned(),
        format!("router bgp {FRR}"),
        "address-family ipv4 unicast".into(),
        format!("neighbor {b} soft-reconfiguration inbound"),
        "exit-address-family".into(),
        "address-family ipv6 unicast".into(),
        format!("neighbor {b} soft-reconfiguration inbound"),
        "exit-address-family".into(),
        "bmp targets collector".into(),
        format!("bmp connect {address} port {port} min-retry 100 max-retry 500"),
        "bmp monitor ipv4 unicast pre-policy".into(),
        "bmp monitor ipv6 unicast pre-policy".into(),
    ])
    .unwrap_or_else(|error| panic!("{error}"));
    // FRR 8 reports paths in the form in which it would advertise them.
    let of_gobgp = [
        format!("{b} 45.40.0.0/16 {FRR} {GOBGP}"),
        format!("{b} 2a0e:40::/32 {FRR} {GOBGP}"),
    ];
    holds(&collector, "FRR has reported", &of_gobgp);
    let received = listen(
        &format!("ws://{address}:{stream}/v1/ws/?client=a-test"),
        &lab.folder("stream").join("ready"),
    );
    gobgp
        .client(&["bmp", "add", &format!("{address}:{port}"), "pre"])
        .unwrap_or_else(|error| panic!("{error}"));
    let of_frr = [
        format!("{a} 45.30.0.0/16 {FRR}"),
        format!("{a} 2a0e:30::/32 {FRR}"),
    ];
    let both = [of_gobgp.clone(), of_frr.clone()].concat();
    holds(&collector, "GoBGP has reported", &both);
    same(&collector, &station, "pmbmpd has all routes");
    drop(station);
    gobgp.withdraw(&["45.40.0.0/16".parse().unwrap()]);
    let fewer = [&of_gobgp[1..], &of_frr].concat();
    holds(&collector, "FRR has reported the withdrawal", &fewer);
    // A station that was down receives everything again.
    let station = Pmbmpd::start(&lab, onward);
    same(&collector, &station, "pmbmpd has the remaining routes");
    let received = received.join().expect("the client's thread");
    let received = received.unwrap_or_else(|why| panic!("{why}"));
    let lines: Vec<&str> = received.lines().collect();
    for line in [
        format!("announced {a} 45.30.0.0/16 {FRR}"),
        format!("withdrawn {b} 45.40.0.0/16"),
    ] {
        assert!(
            lines.contains(&line.as_str()),
            "{line} is not in {lines:#?}"
        );
    }
    // The routes of a router are removed with it; GoBGP's peer goes down as well.
    frr.process().kill();
    holds(&collector, "everything is gone", &[]);
    same(&collector, &station, "pmbmpd has no routes");
}

/// Before or after policy, neighbor, prefix and AS path of each route that the station holds.
fn tables_of_station(station: &Pmbmpd) -> Result<BTreeSet<String>, String> {
    let line = |row: &Value| {
        let table = match plain(&row["is_post"]).as_str() {
            "1" => "post",
            _ => "pre",
        };
        let words = ["peer_ip", "ip_prefix", "as_path"].map(|name| plain(&row[name]));
        format!("{table} {}", words.join(" "))
    };
    Ok(station.routes()?.iter().map(line).collect())
}

/// A route server reports to a foreign station: its routes before and after policy, also after another policy, and to a
/// station that comes back.
#[test]
fn pmbmpd_holds_the_routes_of_a_route_server() {
    let lab = Lab::new();
    let (own, a) = (lab.address(1), lab.address(3));
    let address = SocketAddr::new(own, lab.port() + 4_000);
    let sections = |keys: &str| {
        let member = member(a, GOBGP, keys);
        format!("{member}[[bmp-station]]\naddress = \"{address}\"\nretry = \"1s\"\n")
    };
    let station = Pmbmpd::start(&lab, address);
    let server = Rutter::start(&lab, &sections("black-list = [\"45.41.0.0/16\"]"));
    let mut gobgp = GoBgp::start(Setup::new(&lab, "gobgp", 3, GOBGP, server.peer()));
    let announced = ["45.40.0.0/16", "45.41.0.0/16"];
    gobgp.announce(&announced.map(|prefix| Route::new(prefix, "10.77.0.3", &[GOBGP])));
    gobgp.announce(&[Route::new("2a0e:40::/32", "2a0e:ffff::3", &[GOBGP])]);
    let expect = |station: &Pmbmpd, what: &str, expected: &[&str]| {
        let expected: BTreeSet<String> = expected
            .iter()
            .map(|route| {
                let (table, prefix) = route.split_once(' ').expect("table and prefix");
                format!("{table} {a} {prefix} {GOBGP}")
            })
            .collect();
        eventually(what, || {
            let held = tables_of_station(station)?;
            match held == expected {
                true => Ok(()),
                false => Err(format!("{held:#?} instead of {expected:#?}")),
            }
        });
    };
    let rejected = [
        "pre 45.40.0.0/16",
        "pre 45.41.0.0/16",
        "pre 2a0e:40::/32",
        "post 45.40.0.0/16",
        "post 2a0e:40::/32",
    ];
    expect(&station, "pmbmpd has both tables", &rejected);
    server.reload(&sections("")).expect("a reload");
    let accepted = [&rejected[..], &["post 45.41.0.0/16"]].concat();
    expect(&station, "the policy accepts all routes", &accepted);
    drop(station);
    gobgp.withdraw(&["45.40.0.0/16".parse().expect("a prefix")]);
    let station = Pmbmpd::start(&lab, address);
    let fewer: Vec<&str> = accepted
        .into_iter()
        .filter(|route| !route.contains("45.40."))
        .collect();
    expect(&station, "pmbmpd has the remaining routes", &fewer);
    gobgp.process().kill();
    expect(&station, "the session is down", &[]);
}
