//! Look-ups in a running daemon, and in the MaxMind DB file of its table with readers in other languages.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::process::Command;

use rutter_interop::bird::Bird;
use rutter_interop::rutter::{Rutter, member};
use rutter_interop::{Lab, Route, Speaker, client, eventually, output_of, program, up};
use rutter_net::Prefix;
use serde_json::Value;

const A: u32 = 2_101;
const B: u32 = 202_102;

/// The routes of a client: its prefixes contain those of the other client or are contained in them, and each path
/// identifies its prefix.
fn table(asn: u32, host: u8) -> Vec<Route> {
    let mut routes = Vec::new();
    for n in 0..60_u32 {
        let path = [asn, 3_333 + n];
        let lens: &[u8] = if host == 2 {
            &[16, 20, 24]
        } else {
            &[17, 22, 24]
        };
        for len in lens {
            let prefix = format!("45.{}.0.0/{len}", 100 + n);
            routes.push(Route::new(&prefix, &format!("10.77.0.{host}"), &path));
        }
        let prefix = format!("2a0e:{n:x}::/{}", if host == 2 { 32 } else { 40 });
        routes.push(Route::new(&prefix, &format!("2a0e:ffff::{host}"), &path));
    }
    routes
}

/// Addresses inside and outside of each prefix.
fn addresses() -> Vec<IpAddr> {
    let inside = (98..162).flat_map(|n| [0, 5, 17, 100, 200].map(|third| [45, n, third, 1].into()));
    let outside = (0..64).map(|n| format!("2a0e:{n:x}::1").parse().unwrap());
    inside.chain(outside).collect()
}

/// The slow reference: the announced routes by prefix.
type Twin<'r> = BTreeMap<Prefix, Vec<&'r Route>>;

fn twin<'r>(tables: &[&'r [Route]]) -> Twin<'r> {
    let mut twin = Twin::new();
    for route in tables.iter().flat_map(|table| table.iter()) {
        twin.entry(route.prefix).or_default().push(route);
    }
    twin
}

fn longest<'t>(twin: &'t Twin<'_>, addr: IpAddr) -> Option<(&'t Prefix, &'t Vec<&'t Route>)> {
    let holding = twin.iter().filter(|(prefix, _)| prefix.contains(addr));
    holding.max_by_key(|(prefix, _)| prefix.len())
}

/// Returns whether a row agrees with the reference: the longest prefix and one of its routes.
fn agrees(row: &Value, twin: &Twin<'_>) -> Result<(), String> {
    let addr: IpAddr = row["address"].as_str().unwrap().parse().unwrap();
    let Some((prefix, routes)) = longest(twin, addr) else {
        return match row["prefix"].is_null() {
            true => Ok(()),
            false => Err(format!("no route leads to {addr}, but the answer is {row}")),
        };
    };
    let same = |route: &&Route| {
        let path: Vec<String> = route.as_path.iter().map(u32::to_string).collect();
        row["origin-as"].as_u64() == route.as_path.last().map(|asn| u64::from(*asn))
            && row["attributes"]["as-path"] == path.join(" ")
            && row["attributes"]["next-hop"] == route.next_hop.to_string()
    };
    match row["prefix"] == prefix.to_string() && routes.iter().copied().any(|route| same(&route)) {
        true => Ok(()),
        false => Err(format!(
            "{addr} is in {prefix} with {routes:?}, but the answer is {row}"
        )),
    }
}

fn ask(rutter: &Rutter) -> Result<Vec<Value>, String> {
    let texts: Vec<String> = addresses().iter().map(IpAddr::to_string).collect();
    let mut arguments = vec!["lookup"];
    arguments.extend(texts.iter().map(String::as_str));
    let rows = rutter.ask(&arguments)?;
    match rows.len() == texts.len() {
        true => Ok(rows),
        false => Err(format!("{} answers to {}", rows.len(), texts.len())),
    }
}

/// Looks up until the daemon holds all routes. Each answer on the way must be a prefix that contains the address.
fn becomes(rutter: &Rutter, tables: &[&[Route]]) {
    let twin = twin(tables);
    eventually("all is looked up as it was announced", || {
        let rows = ask(rutter)?;
        for row in rows.iter().filter(|row| !row["prefix"].is_null()) {
            let prefix: Prefix = row["prefix"].as_str().unwrap().parse().unwrap();
            let addr = row["address"].as_str().unwrap().parse().unwrap();
            assert!(prefix.contains(addr), "{row}");
        }
        rows.iter().try_for_each(|row| agrees(row, &twin))
    });
}

fn follows_the_table(sections: &str) {
    let lab = Lab::new();
    let members = member(lab.address(2), A, "") + &member(lab.address(3), B, "");
    let mut rutter = Rutter::start(&lab, &(sections.to_owned() + &members));
    let (first, second) = (table(A, 2), table(B, 3));
    becomes(&rutter, &[]);
    let mut bird = Bird::start(client(&lab, &rutter, 2, A, |_| {}));
    let mut other = Bird::start(client(&lab, &rutter, 3, B, |_| {}));
    up(&lab, &mut rutter, 2, &mut bird);
    up(&lab, &mut rutter, 3, &mut other);
    bird.announce(&first);
    becomes(&rutter, &[&first]);
    other.announce(&second);
    becomes(&rutter, &[&first, &second]);
    of_one(&rutter, &lab.address(3).to_string(), &second);
    let (gone, left) = first.split_at(first.len() / 2);
    bird.withdraw(&gone.iter().map(|route| route.prefix).collect::<Vec<_>>());
    becomes(&rutter, &[left, &second]);
    other.process().stop();
    becomes(&rutter, &[left]);
}

/// Among the routes of one neighbor the longest match differs.
fn of_one(rutter: &Rutter, peer: &str, routes: &[Route]) {
    let twin = twin(&[routes]);
    let rows = rutter.ask(&["lookup", "45.100.5.1", "45.100.17.1", "--peer", peer]);
    for row in rows.unwrap() {
        agrees(&row, &twin).unwrap();
    }
}

#[test]
fn lookups_follow_a_table_that_is_loaded_and_withdrawn() {
    follows_the_table("[lookup]\nprofile = \"compact\"\n");
}

#[test]
fn so_they_do_where_nothing_is_kept_for_them() {
    follows_the_table("");
}

/// Prints a JSON object for each address, found with the pure Python reader without the C library.
const PYTHON: &str = "
import json, sys, maxminddb
reader = maxminddb.open_database(sys.argv[1], maxminddb.MODE_FILE)
assert 'ASN' in reader.metadata().database_type
for address in sys.argv[2:]:
    print(json.dumps({'address': address, 'found': reader.get(address)}))
";

#[test]
fn readers_of_other_languages_find_the_table_in_its_maxmind_db() {
    let lab = Lab::new();
    let mut rutter = Rutter::start(&lab, &member(lab.address(2), A, ""));
    let mut bird = Bird::start(client(&lab, &rutter, 2, A, |_| {}));
    up(&lab, &mut rutter, 2, &mut bird);
    let routes = table(A, 2);
    bird.announce(&routes);
    becomes(&rutter, &[&routes]);
    let file = lab.folder("export").join("table.mmdb");
    rutter
        .ask(&["export", "mmdb", file.to_str().unwrap()])
        .unwrap();
    let twin = twin(&[&routes]);
    let texts: Vec<String> = addresses().iter().map(IpAddr::to_string).collect();
    let text = output_of(
        Command::new(program("/usr/bin/python3"))
            .args(["-c", PYTHON])
            .arg(&file)
            .args(&texts),
    );
    let text = text.unwrap();
    assert_eq!(text.lines().count(), texts.len());
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let found = &row["found"];
        let row = serde_json::json!({
            "address": row["address"],
            "prefix": found["prefix"],
            "origin-as": found["autonomous_system_number"],
            "attributes": {"as-path": found["as_path"], "next-hop": found["next_hop"]},
        });
        agrees(&row, &twin).unwrap();
    }
    // libmaxminddb, in C.
    for (addr, asn) in [("45.100.5.1", 3_333), ("2a0e:2::1", 3_335)] {
        let text = output_of(
            Command::new(program("mmdblookup"))
                .args(["--ip", addr, "--file"])
                .arg(&file)
                .arg("autonomous_system_number"),
        );
        assert!(text.unwrap().contains(&format!("{asn} <uint32>")));
    }
}
