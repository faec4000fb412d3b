//! FRR's bgpd, without zebra.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::process::Command;

use rutter_net::Prefix;
use serde_json::Value;

use crate::lab::write_file;
use crate::process::{Process, output_of, program};
use crate::route::{Origin, Route, community, large_community, route_target};
use crate::speaker::{Setup, Speaker, announced_by};

/// A running bgpd of FRR. An outbound route map sets the attributes of its networks and withholds the routes that it
/// has received.
pub struct Frr {
    setup: Setup,
    sequence: u16,
    process: Process,
}

impl Frr {
    /// Starts the daemon. It connects and retries every second.
    pub fn start(setup: Setup) -> Frr {
        let folder = &setup.folder;
        write_file(&folder.join("c.conf"), &config(&setup));
        let mut command = Command::new(program("/usr/lib/frr/bgpd"));
        command.args(["-S", "-Z", "-n", "-P", "0", "-M", "bmp"]);
        command.args(["-p", &setup.port.to_string()]);
        command.args(["-l", &setup.address.to_string()]);
        command.arg("-f").arg(folder.join("c.conf"));
        command.arg("-i").arg(folder.join("pid"));
        command.arg("-z").arg(folder.join("z"));
        command.arg("--vty_socket").arg(folder);
        let process = Process::start("FRR", folder, &mut command);
        let frr = Frr {
            setup,
            sequence: 0,
            process,
        };
        crate::eventually("FRR answers", || frr.vtysh(["show version"]));
        frr
    }

    /// Runs commands with `vtysh`.
    pub fn vtysh<T: AsRef<str>>(
        &self,
        commands: impl IntoIterator<Item = T>,
    ) -> Result<String, String> {
        let mut command = Command::new(program("vtysh"));
        command.arg("--vty_socket").arg(&self.setup.folder);
        command.args(["-d", "bgpd"]);
        for line in commands {
            command.args(["-c", line.as_ref()]);
        }
        let output = output_of(&mut command)?;
        if output.lines().any(|line| line.starts_with('%')) {
            return Err(format!("{command:?}\n{output}"));
        }
        Ok(output)
    }

    fn configure(&self, lines: Vec<String>) {
        let all = std::iter::once("configure terminal".to_owned()).chain(lines);
        self.vtysh(all).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Reads the JSON documents that `show` commands print.
    fn show(&self, commands: &[String]) -> Result<Vec<Value>, String> {
        let text = self.vtysh(commands)?;
        let documents = serde_json::Deserializer::from_str(&text).into_iter();
        documents
            .collect::<Result<_, _>>()
            .map_err(|error| format!("{error}: {text}"))
    }
}

impl Speaker for Frr {
    fn announce(&mut self, routes: &[Route]) {
        announced_by(self.setup.asn, routes);
        let mut lines = Vec::new();
        for route in routes {
            self.sequence += 1;
            lines.extend(route_lines(route, self.sequence));
        }
        // The networks come last: a route map that changes later would send them twice.
        lines.push(format!("router bgp {}", self.setup.asn));
        for route in routes {
            lines.push(format!("address-family {} unicast", family(route.prefix)));
            lines.push(format!("network {}", route.prefix));
            lines.push("exit-address-family".to_owned());
        }
        self.configure(lines);
    }

    fn withdraw(&mut self, prefixes: &[Prefix]) {
        let mut lines = vec![format!("router bgp {}", self.setup.asn)];
        for prefix in prefixes {
            lines.push(format!("address-family {} unicast", family(*prefix)));
            lines.push(format!("no network {prefix}"));
            lines.push("exit-address-family".to_owned());
        }
        self.configure(lines);
    }

    fn received(&self) -> Result<BTreeSet<Route>, String> {
        let families = self.setup.peer.families();
        let tables: Vec<String> = families
            .map(|family| format!("show bgp ipv{family} unicast json"))
            .collect();
        let mut queries = Vec::new();
        for table in self.show(&tables)? {
            let prefixes = table["routes"].as_object().into_iter().flatten();
            queries.extend(prefixes.map(|(prefix, _)| {
                let family = if prefix.contains(':') { "ipv6" } else { "ipv4" };
                format!("show bgp {family} unicast {prefix} json")
            }));
        }
        let mut routes = BTreeSet::new();
        for part in queries.chunks(100) {
            for destination in self.show(part)? {
                routes.extend(paths_from(
                    &destination,
                    &self.setup.peer.address.to_string(),
                )?);
            }
        }
        Ok(routes)
    }

    fn established(&self) -> bool {
        let peer = self.setup.peer.address.to_string();
        let answer = self.show(&[format!("show bgp neighbors {peer} json")]);
        answer.is_ok_and(|documents| {
            documents
                .first()
                .is_some_and(|json| json[&peer]["bgpState"] == "Established")
        })
    }

    fn refresh(&mut self) {
        let peer = self.setup.peer.address;
        for family in self.setup.peer.families() {
            // Without `soft-reconfiguration inbound` this is a ROUTE-REFRESH.
            self.vtysh([format!("clear bgp ipv{family} unicast {peer} soft in")])
                .unwrap_or_else(|error| panic!("{error}"));
        }
    }

    fn process(&mut self) -> &mut Process {
        &mut self.process
    }
}

fn config(setup: &Setup) -> String {
    let peer = &setup.peer;
    let address = peer.address;
    let mut text = format!(
        "log stdout informational\nhostname frr\n\
         bgp as-path access-list OWN permit ^$\n\
         router bgp {}\n bgp router-id {}\n no bgp ebgp-requires-policy\n\
         no bgp network import-check\n no bgp default ipv4-unicast\n",
        setup.asn, setup.router_id,
    );
    if let Some(seconds) = peer.graceful_restart_s {
        let _ = write!(
            text,
            " bgp graceful-restart\n bgp graceful-restart restart-time {seconds}\n"
        );
    }
    let _ = writeln!(text, " neighbor {address} remote-as {}", peer.asn);
    let mut set = |what: &str| {
        let _ = writeln!(text, " neighbor {address} {what}");
    };
    set(&format!("port {}", setup.port));
    set(&format!("update-source {}", setup.address));
    set("disable-connected-check");
    set("timers connect 1");
    set("advertisement-interval 0");
    if peer.passive {
        set("passive");
    }
    if peer.ttl_security {
        set("ttl-security hops 1");
    } else {
        set("ebgp-multihop 64");
    }
    if let Some(key) = &peer.password {
        set(&format!("password {key}"));
    }
    if peer.extended_next_hop {
        set("capability extended-nexthop");
    }
    for family in peer.families() {
        let _ = write!(
            text,
            " address-family ipv{family} unicast\n  neighbor {address} activate\n\
             \x20 neighbor {address} route-map OUT{family} out\n\
             \x20 neighbor {address} attribute-unchanged next-hop\n",
        );
        if peer.add_path_send {
            let _ = writeln!(text, "  neighbor {address} addpath-tx-all-paths");
        }
        if !peer.add_path_receive {
            let _ = writeln!(text, "  neighbor {address} disable-addpath-rx");
        }
        text += " exit-address-family\n";
    }
    text
}

fn family(prefix: Prefix) -> &'static str {
    match prefix {
        Prefix::V4(_) => "ipv4",
        Prefix::V6(_) => "ipv6",
    }
}

/// The prefix list and route map entry of one route.
fn route_lines(route: &Route, sequence: u16) -> Vec<String> {
    let (word, map, next_hop) = match route.prefix {
        Prefix::V4(_) => ("ip", "OUT4", "ip next-hop"),
        Prefix::V6(_) => ("ipv6", "OUT6", "ipv6 next-hop global"),
    };
    let list = format!("P{sequence}");
    let mut lines = vec![
        format!("{word} prefix-list {list} seq 5 permit {}", route.prefix),
        format!("route-map {map} permit {sequence}"),
        format!("match {word} address prefix-list {list}"),
        "match as-path OWN".to_owned(),
        format!("set {next_hop} {}", route.next_hop),
        format!("set origin {}", route.origin.word()),
    ];
    match route.med {
        Some(med) => lines.push(format!("set metric {med}")),
        // FRR's own network has metric 0; a route map cannot remove it.
        None => panic!("FRR always sends a MED with its own networks: {route:?}"),
    }
    let mut list = |what: &str, values: Vec<String>| {
        if !values.is_empty() {
            lines.push(format!("set {what} {}", values.join(" ")));
        }
    };
    let tail = route.as_path_tail().iter().map(u32::to_string).collect();
    list("as-path prepend", tail);
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
        "extcommunity rt",
        targets.map(|(a, b)| format!("{a}:{b}")).collect(),
    );
    lines.push("exit".to_owned());
    lines
}

/// The paths of one destination that this peer announced.
fn paths_from(destination: &Value, peer: &str) -> Result<Vec<Route>, String> {
    let paths = destination["paths"].as_array().into_iter().flatten();
    paths
        .filter(|path| path["peer"]["peerId"] == peer)
        .map(|path| route(&destination["prefix"], path))
        .collect()
}

fn route(prefix: &Value, path: &Value) -> Result<Route, String> {
    let mut route = Route::new("0.0.0.0/0", "0.0.0.0", &[]);
    let missing = |what: &str| format!("no {what} in {path}");
    let prefix = prefix.as_str().ok_or_else(|| missing("prefix"))?;
    route.prefix = prefix.parse().map_err(|e| format!("{e}"))?;
    let number = |value: &Value| value.as_u64().and_then(|n| u32::try_from(n).ok());
    // FRR shows 0 for a session without Add-Path.
    route.path_id = number(&path["addpathRxId"]).filter(|id| *id != 0);
    let segments = path["aspath"]["segments"].as_array().into_iter().flatten();
    let asns = segments.flat_map(|segment| segment["list"].as_array().into_iter().flatten());
    route.as_path = asns
        .map(|asn| number(asn).ok_or_else(|| missing("AS numbers")))
        .collect::<Result<_, _>>()?;
    route.origin = Origin::read(path["origin"].as_str().unwrap_or_default())?;
    route.med = number(&path["metric"]);
    let mut next_hops = path["nexthops"].as_array().into_iter().flatten();
    let global = next_hops.find(|hop| hop["scope"] != "link-local");
    let text = global.and_then(|hop| hop["ip"].as_str());
    let text = text.ok_or_else(|| missing("next hop"))?;
    route.next_hop = text.parse().map_err(|e| format!("{text}: {e}"))?;
    let texts = |value: &'_ Value| -> Vec<String> {
        let words = value["string"].as_str().unwrap_or_default();
        words.split_whitespace().map(str::to_owned).collect()
    };
    for text in texts(&path["community"]) {
        route.communities.insert(community(well_known(&text))?);
    }
    for text in texts(&path["largeCommunity"]) {
        route.large_communities.insert(large_community(&text)?);
    }
    for text in texts(&path["extendedCommunity"]) {
        if let Some(target) = text.strip_prefix("RT:") {
            route.route_targets.insert(route_target(target)?);
        }
    }
    Ok(route)
}

/// The number of a community that FRR prints by name.
fn well_known(text: &str) -> &str {
    match text {
        "graceful-shutdown" | "gshut" => "65535:0",
        "blackhole" => "65535:666",
        "no-export" | "noExport" => "65535:65281",
        "no-advertise" | "noAdvertise" => "65535:65282",
        "llgr-stale" => "65535:6",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_paths_of_a_destination() {
        let text = r#"{"prefix":"203.0.113.0/24","paths":[
            {"aspath":{"segments":[{"type":"as-sequence","list":[65005,65333]}]},"origin":"IGP","metric":3,
             "community":{"string":"65005:1 no-export"},"extendedCommunity":{"string":"RT:65005:3"},
             "largeCommunity":{"string":"65005:1:2"},"addpathRxId":2,
             "nexthops":[{"ip":"192.0.2.5","afi":"ipv4"}],"peer":{"peerId":"127.50.0.1"}},
            {"aspath":{"string":"Local","segments":[]},"origin":"IGP","metric":0,
             "nexthops":[{"ip":"0.0.0.0"}],"peer":{"peerId":"0.0.0.0"}}]}"#;
        let expected = Route::new("203.0.113.0/24", "192.0.2.5", &[65005, 65333])
            .med(3)
            .community(65005, 1)
            .community(65535, 65281)
            .route_target(65005, 3)
            .large_community(65005, 1, 2)
            .path_id(2);
        let json = serde_json::from_str(text).unwrap();
        assert_eq!(paths_from(&json, "127.50.0.1").unwrap(), [expected]);
    }
}
