//! GoBGP.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::process::Command;

use rutter_net::Prefix;
use serde_json::Value;

use crate::lab::write_file;
use crate::process::{Process, output_of, program};
use crate::route::{Origin, Route, route_target};
use crate::speaker::{Setup, Speaker, announced_by};

/// A running GoBGP. Its client adds the announced routes to the global table.
pub struct GoBgp {
    setup: Setup,
    routes: Vec<Route>,
    process: Process,
}

impl GoBgp {
    /// Starts the daemon. It connects after one or a few seconds.
    pub fn start(setup: Setup) -> GoBgp {
        write_file(&setup.folder.join("c.toml"), &config(&setup));
        let process = spawn(&setup, false);
        let gobgp = GoBgp {
            setup,
            routes: Vec::new(),
            process,
        };
        gobgp.wait_for_api();
        gobgp
    }

    /// Starts it again after [`Process::kill`], with a graceful restart (RFC 4724) and the same routes.
    pub fn restart_gracefully(&mut self) {
        self.process.kill();
        self.process = spawn(&self.setup, true);
        self.wait_for_api();
        for route in std::mem::take(&mut self.routes) {
            self.announce(&[route]);
        }
    }

    /// Runs a command with its client.
    pub fn client(&self, command: &[&str]) -> Result<String, String> {
        let target = format!("unix://{}", self.setup.folder.join("s").display());
        output_of(
            Command::new(program("gobgp"))
                .args(["--target", &target])
                .args(command),
        )
    }

    fn wait_for_api(&self) {
        crate::eventually("GoBGP answers", || self.client(&["global"]));
    }

    fn peer(&self) -> String {
        self.setup.peer.address.to_string()
    }
}

impl Speaker for GoBgp {
    fn announce(&mut self, routes: &[Route]) {
        announced_by(self.setup.asn, routes);
        for route in routes {
            let arguments = add_arguments(route);
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            self.client(&arguments)
                .unwrap_or_else(|error| panic!("{error}"));
            self.routes.push(route.clone());
        }
    }

    fn withdraw(&mut self, prefixes: &[Prefix]) {
        let (gone, kept): (Vec<Route>, _) = std::mem::take(&mut self.routes)
            .into_iter()
            .partition(|route| prefixes.contains(&route.prefix));
        self.routes = kept;
        for route in gone {
            let (prefix, family) = (route.prefix.to_string(), family_of(route.prefix));
            let id = route.path_id.map(|id| id.to_string());
            let mut words = vec!["global", "rib", "del", &prefix];
            if let Some(id) = &id {
                words.extend(["identifier", id]);
            }
            words.extend(["-a", family]);
            self.client(&words)
                .unwrap_or_else(|error| panic!("{error}"));
        }
    }

    fn received(&self) -> Result<BTreeSet<Route>, String> {
        let mut all = BTreeSet::new();
        for family in self.setup.peer.families() {
            let family = format!("ipv{family}");
            let text = self.client(&["neighbor", &self.peer(), "adj-in", "-a", &family, "-j"])?;
            all.extend(routes(&text)?);
        }
        Ok(all)
    }

    fn established(&self) -> bool {
        let answer = self.client(&["neighbor", &self.peer(), "-j"]);
        answer
            .ok()
            .and_then(|text| serde_json::from_str::<Value>(&text).ok())
            .is_some_and(|json| json["state"]["session_state"] == 6)
    }

    fn refresh(&mut self) {
        self.client(&["neighbor", &self.peer(), "softresetin"])
            .unwrap_or_else(|error| panic!("{error}"));
    }

    fn process(&mut self) -> &mut Process {
        &mut self.process
    }
}

fn spawn(setup: &Setup, recovery: bool) -> Process {
    let mut command = Command::new(program("gobgpd"));
    command.arg("-f").arg(setup.folder.join("c.toml"));
    let socket = format!("unix://{}", setup.folder.join("s").display());
    command.args(["--api-hosts", &socket, "--pprof-disable"]);
    if recovery {
        command.arg("-r");
    }
    let _ = std::fs::remove_file(setup.folder.join("s"));
    Process::start("GoBGP", &setup.folder, &mut command)
}

fn config(setup: &Setup) -> String {
    let peer = &setup.peer;
    let mut text = format!(
        "[global.config]\nas = {}\nrouter-id = \"{}\"\nport = {}\nlocal-address-list = [\"{}\"]\n\
         [[neighbors]]\n[neighbors.config]\nneighbor-address = \"{}\"\npeer-as = {}\n{}\
         [neighbors.timers.config]\nconnect-retry = 1\nidle-hold-time-after-reset = 1\n\
         [neighbors.transport.config]\nlocal-address = \"{}\"\nremote-port = {}\n\
         passive-mode = {}\n",
        setup.asn,
        setup.router_id,
        setup.port,
        setup.address,
        peer.address,
        peer.asn,
        peer.password
            .as_ref()
            .map(|key| format!("auth-password = \"{key}\"\n"))
            .unwrap_or_default(),
        setup.address,
        setup.port,
        peer.passive,
    );
    if peer.ttl_security {
        text += "[neighbors.ttl-security.config]\nenabled = true\nttl-min = 255\n";
    } else {
        text += "[neighbors.ebgp-multihop.config]\nenabled = true\nmultihop-ttl = 64\n";
    }
    if let Some(seconds) = peer.graceful_restart_s {
        let _ = write!(
            text,
            "[neighbors.graceful-restart.config]\nenabled = true\nrestart-time = {seconds}\n"
        );
    }
    for family in peer.families() {
        let _ = write!(
            text,
            "[[neighbors.afi-safis]]\n[neighbors.afi-safis.config]\nafi-safi-name = \"ipv{family}-unicast\"\n\
             [neighbors.afi-safis.mp-graceful-restart.config]\nenabled = {}\n\
             [neighbors.afi-safis.add-paths.config]\nreceive = {}\nsend-max = {}\n",
            peer.graceful_restart_s.is_some(),
            peer.add_path_receive,
            if peer.add_path_send { 16 } else { 0 },
        );
    }
    text
}

fn family_of(prefix: Prefix) -> &'static str {
    match prefix {
        Prefix::V4(_) => "ipv4",
        Prefix::V6(_) => "ipv6",
    }
}

fn add_arguments(route: &Route) -> Vec<String> {
    let mut words: Vec<String> = ["global", "rib", "add"].map(String::from).into();
    words.extend([route.prefix.to_string(), "-a".into()]);
    words.push(family_of(route.prefix).into());
    words.extend(["nexthop".into(), route.next_hop.to_string()]);
    words.extend(["origin".into(), route.origin.word().into()]);
    if let Some(id) = route.path_id {
        words.extend(["identifier".into(), id.to_string()]);
    }
    if let Some(med) = route.med {
        words.extend(["med".into(), med.to_string()]);
    }
    let mut list = |key: &str, values: Vec<String>, between: &str| {
        if !values.is_empty() {
            words.extend([key.to_owned(), values.join(between)]);
        }
    };
    let tail = route.as_path_tail().iter().map(u32::to_string).collect();
    list("aspath", tail, " ");
    let communities = route.communities.iter();
    let communities = communities.map(|(a, b)| format!("{a}:{b}")).collect();
    list("community", communities, ",");
    let large = route.large_communities.iter();
    let large = large.map(|(a, b, c)| format!("{a}:{b}:{c}")).collect();
    list("large-community", large, ",");
    let targets = route.route_targets.iter();
    let targets = targets.map(|(a, b)| format!("{a}:{b}")).collect::<Vec<_>>();
    if !targets.is_empty() {
        list("rt", targets, " ");
    }
    words
}

/// Reads `neighbor … adj-in -j`: an object of lists of paths.
fn routes(text: &str) -> Result<BTreeSet<Route>, String> {
    let json: Value = serde_json::from_str(text).map_err(|e| format!("{e}: {text}"))?;
    let tables = match &json {
        Value::Object(tables) if !tables.contains_key("error") => tables,
        Value::Null => return Ok(BTreeSet::new()),
        _ => return Err(format!("GoBGP: {json}")),
    };
    let paths = tables.iter().flat_map(|(prefix, paths)| {
        paths
            .as_array()
            .into_iter()
            .flatten()
            .map(move |path| (prefix, path))
    });
    paths.map(|(prefix, path)| route(prefix, path)).collect()
}

fn route(prefix: &str, path: &Value) -> Result<Route, String> {
    let mut route = Route::new("0.0.0.0/0", "0.0.0.0", &[]);
    route.prefix = prefix.parse().map_err(|e| format!("{e}"))?;
    for attribute in path["attrs"].as_array().into_iter().flatten() {
        let values = || attribute["value"].as_array().into_iter().flatten();
        match attribute["type"].as_u64() {
            Some(1) => route.origin = Origin::read(&attribute["value"].to_string())?,
            Some(2) => {
                let segments = attribute["as_paths"].as_array().into_iter().flatten();
                let asns = segments.flat_map(|s| s["asns"].as_array().into_iter().flatten());
                route.as_path = asns.map(number).collect::<Result<_, _>>()?;
            }
            Some(3 | 14) => {
                let text = attribute["nexthop"].as_str().unwrap_or_default();
                route.next_hop = text.parse().map_err(|e| format!("{attribute}: {e}"))?;
            }
            Some(4) => route.med = Some(number(&attribute["metric"])?),
            Some(8) => {
                for value in attribute["communities"].as_array().into_iter().flatten() {
                    let bits = number(value)?;
                    route.communities.insert(((bits >> 16) as u16, bits as u16));
                }
            }
            Some(16) => {
                for value in values().filter(|v| v["type"] == 0 && v["subtype"] == 2) {
                    let text = value["value"].as_str().unwrap_or_default();
                    route.route_targets.insert(route_target(text)?);
                }
            }
            Some(32) => {
                for value in values() {
                    let part = |key: &str| number(&value[key]);
                    let large = (part("ASN")?, part("LocalData1")?, part("LocalData2")?);
                    route.large_communities.insert(large);
                }
            }
            _ => {}
        }
    }
    Ok(route)
}

fn number(value: &Value) -> Result<u32, String> {
    let number = value.as_u64().and_then(|n| u32::try_from(n).ok());
    number.ok_or_else(|| format!("`{value}` is not a number of 32 bits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_adj_in() {
        let text = r#"{"203.0.113.0/24":[{"nlri":{"prefix":"203.0.113.0/24"},"attrs":[{"type":1,"value":2},
            {"type":2,"as_paths":[{"segment_type":2,"num":2,"asns":[65003,65333]}]},{"type":3,"nexthop":"192.0.2.3"},
            {"type":4,"metric":9},{"type":8,"communities":[4260036609]},
            {"type":32,"value":[{"ASN":65003,"LocalData1":1,"LocalData2":2}]},
            {"type":16,"value":[{"type":0,"subtype":2,"value":"65003:3"}]}],"neighbor-ip":"127.50.0.3"}],
            "2001:db8:5::/48":[{"attrs":[{"type":1,"value":0},{"type":2,"as_paths":[{"segment_type":2,"num":1,"asns":[65005]}]},
            {"type":14,"nexthop":"2001:db8::5","afi":2,"safi":1,"value":[{"prefix":"2001:db8:5::/48"}]}]}]}"#;
        let expected = BTreeSet::from([
            Route::new("203.0.113.0/24", "192.0.2.3", &[65003, 65333])
                .origin(Origin::Incomplete)
                .med(9)
                .community(65003, 1)
                .large_community(65003, 1, 2)
                .route_target(65003, 3),
            Route::new("2001:db8:5::/48", "2001:db8::5", &[65005]),
        ]);
        assert_eq!(routes(text).unwrap(), expected);
        assert!(routes(r#"{"error":"neighbor is not established"}"#).is_err());
    }
}
