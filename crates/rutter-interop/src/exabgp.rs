//! ExaBGP.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use rutter_net::Prefix;
use serde_json::Value;

use crate::lab::write_file;
use crate::process::{Process, output_of, program};
use crate::route::{Origin, Route, route_target};
use crate::speaker::{Setup, Speaker, announced_by};

/// A running ExaBGP. It reads commands from a pipe, and appends received messages to a file as JSON.
///
/// It announces exactly the routes it is given: any AS path, any Path Identifier, IPv4 over IPv6 next hops.
pub struct ExaBgp {
    setup: Setup,
    routes: Vec<Route>,
    process: Process,
}

impl ExaBgp {
    /// Starts the daemon. It connects and retries.
    pub fn start(setup: Setup) -> ExaBgp {
        let folder = &setup.folder;
        output_of(Command::new("mkfifo").arg(folder.join("in")))
            .unwrap_or_else(|error| panic!("{error}"));
        write_helper(&setup);
        write_file(&folder.join("events"), "");
        write_file(&folder.join("c.conf"), &config(&setup));
        let mut command = Command::new(program("exabgp"));
        command
            .arg(folder.join("c.conf"))
            .env("exabgp.daemon.user", "root")
            .env("exabgp.api.cli", "false")
            .env("exabgp.api.ack", "false")
            .env("exabgp.log.destination", "stdout")
            .env("exabgp.log.level", "INFO")
            .current_dir(folder);
        let process = Process::start("ExaBGP", folder, &mut command);
        ExaBgp {
            setup,
            routes: Vec::new(),
            process,
        }
    }

    /// Sends one line of its command language, e.g. `announce route …`, without the neighbor.
    pub fn command(&mut self, line: &str) {
        // Opening blocks until the helper process has opened the pipe.
        let path = self.setup.folder.join("in");
        crate::eventually("ExaBGP's helper runs", || {
            self.process.check_alive()?;
            match self.setup.folder.join("ready").exists() {
                true => Ok(()),
                false => Err("it has not started".to_owned()),
            }
        });
        let mut pipe = File::options()
            .write(true)
            .open(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        writeln!(pipe, "neighbor {} {line}", self.setup.peer.address)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// Everything that it has received, as written to the file.
    pub fn events(&self) -> Result<Vec<Value>, String> {
        let path = self.setup.folder.join("events");
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let lines = text.lines().filter(|line| line.starts_with('{'));
        // The last line may be incomplete.
        let values = lines.map_while(|line| serde_json::from_str(line).ok());
        Ok(values.collect())
    }

    /// The number of UPDATEs received so far, End-of-RIB included.
    pub fn updates(&self) -> Result<usize, String> {
        Ok(self
            .events()?
            .iter()
            .filter(|event| event["type"] == "update")
            .count())
    }
}

impl Speaker for ExaBgp {
    fn announce(&mut self, routes: &[Route]) {
        announced_by(self.setup.asn, routes);
        for route in routes {
            self.command(&format!("announce {}", words(route)));
            self.routes.push(route.clone());
        }
    }

    fn withdraw(&mut self, prefixes: &[Prefix]) {
        let (gone, kept) = std::mem::take(&mut self.routes)
            .into_iter()
            .partition(|route| prefixes.contains(&route.prefix));
        self.routes = kept;
        let gone: Vec<Route> = gone;
        for route in gone {
            self.command(&format!("withdraw {}", words(&route)));
        }
    }

    fn received(&self) -> Result<BTreeSet<Route>, String> {
        routes(&self.events()?)
    }

    fn established(&self) -> bool {
        let Ok(events) = self.events() else {
            return false;
        };
        let mut states = events.iter().filter(|event| event["type"] == "state");
        states
            .next_back()
            .is_some_and(|event| event["neighbor"]["state"] == "up")
    }

    fn refresh(&mut self) {
        for family in self.setup.peer.families().collect::<Vec<_>>() {
            self.command(&format!("announce route-refresh ipv{family} unicast"));
        }
    }

    fn process(&mut self) -> &mut Process {
        &mut self.process
    }
}

/// Writes the helper process of ExaBGP's API: its output contains our commands, and its input is written to a file.
fn write_helper(setup: &Setup) {
    let folder = setup.folder.display();
    let path = setup.folder.join("helper");
    write_file(
        &path,
        &format!(
            "#!/bin/sh\nexec 3<>{folder}/in\ncat <&3 &\n: >{folder}/ready\nexec cat >>{folder}/events\n"
        ),
    );
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

fn config(setup: &Setup) -> String {
    let peer = &setup.peer;
    let enable = |on: bool| if on { "enable" } else { "disable" };
    let add_path = match (peer.add_path_receive, peer.add_path_send) {
        (true, true) => "send/receive",
        (true, false) => "receive",
        (false, true) => "send",
        (false, false) => "disable",
    };
    let mut text = format!(
        "process api {{ run {}; encoder json; }}\nneighbor {} {{\n router-id {};\n local-address {};\n\
         local-as {};\n peer-as {};\n connect {};\n hold-time 180;\n",
        setup.folder.join("helper").display(),
        peer.address,
        setup.router_id,
        setup.address,
        setup.asn,
        peer.asn,
        setup.port,
    );
    if let Some(key) = &peer.password {
        let _ = writeln!(text, " md5-password '{key}';\n md5-base64 false;");
    }
    if peer.ttl_security {
        text += " outgoing-ttl 255;\n incoming-ttl 255;\n";
    }
    let families: String = peer
        .families()
        .map(|f| format!("ipv{f} unicast; "))
        .collect();
    let _ = writeln!(
        text,
        " family {{ {families}}}\n capability {{ asn4 {}; route-refresh enable; add-path {add_path}; \
         nexthop {}; {} }}",
        enable(peer.as4),
        enable(peer.extended_next_hop),
        peer.graceful_restart_s
            .map(|seconds| format!("graceful-restart {seconds};"))
            .unwrap_or_default(),
    );
    if peer.extended_next_hop {
        text += " nexthop { ipv4 unicast ipv6; }\n";
    }
    text + " api { processes [ api ]; neighbor-changes; receive { parsed; update; notification; \
            open; refresh; } }\n}\n"
}

fn words(route: &Route) -> String {
    let mut text = format!("route {} next-hop {}", route.prefix, route.next_hop);
    if let Some(id) = route.path_id {
        let _ = write!(text, " path-information {}", Ipv4Addr::from_bits(id));
    }
    let _ = write!(text, " origin {}", route.origin.word());
    if let Some(med) = route.med {
        let _ = write!(text, " med {med}");
    }
    let mut list = |what: &str, values: Vec<String>| {
        if !values.is_empty() {
            let _ = write!(text, " {what} [ {} ]", values.join(" "));
        }
    };
    list(
        "as-path",
        route.as_path.iter().map(u32::to_string).collect(),
    );
    let communities = route.communities.iter();
    list(
        "community",
        communities.map(|(a, b)| format!("{a}:{b}")).collect(),
    );
    let large = route.large_communities.iter();
    list(
        "large-community",
        large.map(|(a, b, c)| format!("{a}:{b}:{c}")).collect(),
    );
    let targets = route.route_targets.iter();
    list(
        "extended-community",
        targets.map(|(a, b)| format!("target:{a}:{b}")).collect(),
    );
    text
}

/// The routes that result from all announcements and withdrawals since the session came up.
fn routes(events: &[Value]) -> Result<BTreeSet<Route>, String> {
    let mut held = BTreeMap::new();
    for event in events {
        if event["type"] == "state" && event["neighbor"]["state"] == "down" {
            held.clear();
        }
        let update = &event["neighbor"]["message"]["update"];
        for (_, nlris) in update["withdraw"].as_object().into_iter().flatten() {
            for nlri in nlris.as_array().into_iter().flatten() {
                held.remove(&key(nlri)?);
            }
        }
        for (_, hops) in update["announce"].as_object().into_iter().flatten() {
            for (hop, nlris) in hops.as_object().into_iter().flatten() {
                // End-of-RIB is an announcement without a next hop.
                let Ok(hop) = hop.parse::<IpAddr>() else {
                    continue;
                };
                for nlri in nlris.as_array().into_iter().flatten() {
                    let key = key(nlri)?;
                    held.insert(key, route(key, hop, &update["attribute"])?);
                }
            }
        }
    }
    Ok(held.into_values().collect())
}

/// Prefix and Path Identifier of an NLRI.
fn key(nlri: &Value) -> Result<(Prefix, Option<u32>), String> {
    let text = nlri["nlri"].as_str().ok_or_else(|| format!("{nlri}"))?;
    let prefix = text.parse().map_err(|e| format!("{e}"))?;
    let id = nlri["path-information"].as_str();
    let id = id.and_then(|id| id.parse::<Ipv4Addr>().ok());
    Ok((prefix, id.map(Ipv4Addr::to_bits)))
}

fn route(
    (prefix, path_id): (Prefix, Option<u32>),
    next_hop: IpAddr,
    attributes: &Value,
) -> Result<Route, String> {
    let mut route = Route::new("0.0.0.0/0", "0.0.0.0", &[]);
    (route.prefix, route.path_id, route.next_hop) = (prefix, path_id, next_hop);
    let number = |value: &Value| {
        let number = value.as_u64().and_then(|n| u32::try_from(n).ok());
        number.ok_or_else(|| format!("{value} in {attributes}"))
    };
    let list = |key: &str| attributes[key].as_array().into_iter().flatten();
    route.as_path = list("as-path").map(number).collect::<Result<_, _>>()?;
    route.origin = Origin::read(attributes["origin"].as_str().unwrap_or_default())?;
    if !attributes["med"].is_null() {
        route.med = Some(number(&attributes["med"])?);
    }
    for community in list("community") {
        let half = |n: &Value| number(n).map(|n| n as u16);
        route
            .communities
            .insert((half(&community[0])?, half(&community[1])?));
    }
    for large in list("large-community") {
        let large = (number(&large[0])?, number(&large[1])?, number(&large[2])?);
        route.large_communities.insert(large);
    }
    for extended in list("extended-community") {
        let text = extended["string"].as_str().unwrap_or_default();
        if let Some(target) = text.strip_prefix("target:") {
            route.route_targets.insert(route_target(target)?);
        }
    }
    Ok(route)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replays_events() {
        let announce = r#"{"type":"update","neighbor":{"message":{"update":{"attribute":{"origin":"incomplete",
            "as-path":[65003,65333],"confederation-path":[],"med":9,"community":[[65003,1]],
            "extended-community":[{"value":842135712563203,"string":"target:65003:3"}],"large-community":[[65003,1,2]]},
            "announce":{"ipv4 unicast":{"192.0.2.3":[{"nlri":"203.0.113.0/24","path-information":"0.0.0.7"}]}}}}}}"#;
        let withdraw = r#"{"type":"update","neighbor":{"message":{"update":{"withdraw":{"ipv4 unicast":[
            {"nlri":"203.0.113.0/24","path-information":"0.0.0.7"}]}}}}}"#;
        let down = r#"{"type":"state","neighbor":{"state":"down"}}"#;
        let read = |texts: &[&str]| {
            let events: Vec<Value> = texts
                .iter()
                .map(|t| serde_json::from_str(t).unwrap())
                .collect();
            routes(&events).unwrap()
        };
        let expected = Route::new("203.0.113.0/24", "192.0.2.3", &[65003, 65333])
            .origin(Origin::Incomplete)
            .med(9)
            .community(65003, 1)
            .large_community(65003, 1, 2)
            .route_target(65003, 3)
            .path_id(7);
        assert_eq!(read(&[announce]), BTreeSet::from([expected]));
        assert_eq!(read(&[announce, withdraw]), BTreeSet::new());
        assert_eq!(read(&[announce, down]), BTreeSet::new());
    }
}
