//! Readers of the table: bgpdump with MRT dumps, Prometheus, `explain`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rutter_interop::bird::Bird;
use rutter_interop::exabgp::ExaBgp;
use rutter_interop::rutter::{Rutter, member};
use rutter_interop::{
    Lab, Route, Speaker, client, eventually, eventually_within, holds, output_of, program, up,
};

const A: u32 = 2_101;
const B: u32 = 202_102;

/// A route server with BIRD (host 2) and ExaBGP (host 3), and the routes that each announces.
fn two(sections: &str) -> (Lab, Rutter, [Vec<Route>; 2], (Bird, ExaBgp)) {
    let lab = Lab::new();
    let members = member(lab.address(2), A, "") + &member(lab.address(3), B, "");
    let mut rutter = Rutter::start(&lab, &(sections.to_owned() + &members));
    let mut bird = Bird::start(client(&lab, &rutter, 2, A, |_| {}));
    let mut exabgp = ExaBgp::start(client(&lab, &rutter, 3, B, |_| {}));
    up(&lab, &mut rutter, 2, &mut bird);
    up(&lab, &mut rutter, 3, &mut exabgp);
    let routes = [(A, 2), (B, 3)].map(|(asn, host)| {
        vec![
            Route::new("45.50.0.0/16", &format!("10.77.0.{host}"), &[asn, 3_333])
                .med(u32::from(host == 2))
                .community(3_333, host),
            Route::new("2a0e:50::/32", &format!("2a0e:ffff::{host}"), &[asn])
                .med(3)
                .large_community(3_333, 1, 2),
        ]
    });
    bird.announce(&routes[0]);
    exabgp.announce(&routes[1]);
    holds(&bird, &routes[1]);
    holds(&exabgp, &routes[0]);
    (lab, rutter, routes, (bird, exabgp))
}

/// Prefix, sender's AS, AS path and next hop of every line that bgpdump prints for the folder's files.
fn dumped(folder: &Path, kind: &str) -> Result<BTreeSet<[String; 4]>, String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        let text = output_of(
            Command::new(program("bgpdump"))
                .args(["-m", "-v"])
                .arg(&path),
        )?;
        for line in text.lines().filter(|line| line.starts_with(kind)) {
            let fields: Vec<&str> = line.split('|').collect();
            if let ["A" | "B", _, asn, prefix, path, _, next_hop, ..] = fields[2..] {
                found.insert([prefix, asn, path, next_hop].map(str::to_owned));
            }
        }
    }
    Ok(found)
}

#[test]
fn bgpdump_reads_the_archives() {
    let folder = std::env::temp_dir().join(format!("rtmrt{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let sections = format!(
        "[mrt]\ndirectory = \"{}\"\ntable-interval = \"2s\"\nupdates-interval = \"2s\"\ncompress = \"none\"\n",
        folder.display()
    );
    let (_lab, _rutter, routes, _clients) = two(&sections);
    let expected: BTreeSet<[String; 4]> = routes
        .iter()
        .flatten()
        .map(|route| {
            let path: Vec<String> = route.as_path.iter().map(u32::to_string).collect();
            [
                route.prefix.to_string(),
                path[0].clone(),
                path.join(" "),
                route.next_hop.to_string(),
            ]
        })
        .collect();
    for kind in ["TABLE_DUMP2", "BGP4MP"] {
        eventually_within(Duration::from_secs(180), kind, || {
            match dumped(&folder, kind)? {
                found if found == expected => Ok(()),
                found => Err(format!("expected {expected:#?}\nfound {found:#?}")),
            }
        });
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn prometheus_reads_the_counters() {
    // A port in the range of the labs, on an address that no lab uses.
    let address = format!("127.63.0.1:{}", 20_000 + std::process::id() % 10_000);
    let (lab, _rutter, _routes, _clients) = two(&format!("[metrics]\nlisten = \"{address}\"\n"));
    let text = eventually("it answers", || {
        let mut stream = TcpStream::connect(&address).map_err(|e| e.to_string())?;
        stream
            .write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .map_err(|e| e.to_string())?;
        let mut text = String::new();
        stream
            .read_to_string(&mut text)
            .map_err(|e| e.to_string())?;
        Ok(text)
    });
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    let line = |name: &str, label: &str| {
        let mut lines = text.lines();
        lines
            .find(|line| line.starts_with(name) && line.contains(label))
            .map(str::to_owned)
    };
    let bird = format!("address=\"{}\"", lab.address(2));
    assert!(
        line("rutter_peer_up{", &bird).is_some_and(|l| l.ends_with(" 1")),
        "{text}"
    );
    assert!(
        line("rutter_peers{", "state=\"Established\"").is_some_and(|l| l.ends_with(" 2")),
        "{text}"
    );
    let routes = line("rutter_peer_routes{", &bird);
    assert!(routes.is_some_and(|l| l.ends_with(" 1")), "{text}");
}

#[test]
fn explain_names_winner_step_and_audience() {
    let (lab, rutter, _routes, _clients) = two("");
    let rows = rutter.ask(&["explain", "45.50.0.0/16"]).unwrap();
    let row = rows
        .iter()
        .find(|row| row["candidates"].is_array())
        .expect("an explanation");
    let candidates = row["candidates"].as_array().unwrap();
    assert_eq!(candidates.len(), 2, "{row}");
    assert!(candidates[0]["lost-at"].is_null(), "{row}");
    assert!(candidates[1]["lost-at"].is_string(), "{row}");
    let clients = row["clients"].as_array().unwrap();
    for host in [2, 3] {
        let address = lab.address(host).to_string();
        let client = clients
            .iter()
            .find(|c| c["client"]["address"] == address.as_str());
        // Each receives the other's route.
        let own = candidates[0]["route"]["peer"]["address"] == address.as_str();
        let receives = if own { 2 } else { 1 };
        assert_eq!(
            client.expect("both are clients")["advertised"],
            serde_json::json!([receives]),
            "{row}"
        );
    }
}
