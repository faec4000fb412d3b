//! OpenBGPD.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use rutter_net::Prefix;
use serde_json::Value;

use crate::lab::write_file;
use crate::process::{Process, output_of, program};
use crate::route::{Origin, Route, community, large_community, route_target};
use crate::speaker::{Setup, Speaker, announced_by};

/// A running OpenBGPD. Its own networks have AS paths of only its own AS. Its output does not distinguish a MED of 0
/// from no MED.
pub struct OpenBgpd {
    setup: Setup,
    routes: Vec<Route>,
    process: Process,
}

impl OpenBgpd {
    /// Starts the daemon. It needs root, and drops its privileges itself.
    pub fn start(setup: Setup) -> OpenBgpd {
        // The unprivileged processes use this folder, which the package creates at boot.
        fs::create_dir_all("/run/openbgpd")
            .unwrap_or_else(|error| panic!("cannot make /run/openbgpd: {error}"));
        write_config(&setup, &[]);
        let mut command = Command::new(program("/usr/sbin/bgpd"));
        command.args(["-d", "-v", "-f"]);
        command.arg(setup.folder.join("c.conf"));
        let process = Process::start("OpenBGPD", &setup.folder, &mut command);
        let daemon = OpenBgpd {
            setup,
            routes: Vec::new(),
            process,
        };
        crate::eventually("OpenBGPD answers", || daemon.bgpctl(&["show", "summary"]));
        daemon
    }

    /// Runs a command with `bgpctl`; `show` commands print JSON.
    pub fn bgpctl(&self, command: &[&str]) -> Result<String, String> {
        output_of(
            Command::new(program("bgpctl"))
                .arg("-j")
                .arg("-s")
                .arg(self.setup.folder.join("s"))
                .args(command),
        )
    }

    fn reload(&self) {
        write_config(&self.setup, &self.routes);
        crate::eventually("OpenBGPD reloads", || self.bgpctl(&["reload"]));
    }

    fn peer(&self) -> String {
        self.setup.peer.address.to_string()
    }
}

impl Speaker for OpenBgpd {
    fn announce(&mut self, routes: &[Route]) {
        announced_by(self.setup.asn, routes);
        self.routes.extend_from_slice(routes);
        self.reload();
    }

    fn withdraw(&mut self, prefixes: &[Prefix]) {
        self.routes
            .retain(|route| !prefixes.contains(&route.prefix));
        self.reload();
    }

    fn received(&self) -> Result<BTreeSet<Route>, String> {
        let text = self.bgpctl(&["show", "rib", "in", "detail"])?;
        routes(&text, &self.peer())
    }

    fn established(&self) -> bool {
        self.bgpctl(&["show", "neighbor", &self.peer()])
            .is_ok_and(|text| text.contains("\"Established\""))
    }

    fn refresh(&mut self) {
        self.bgpctl(&["neighbor", &self.peer(), "refresh"])
            .unwrap_or_else(|error| panic!("{error}"));
    }

    fn process(&mut self) -> &mut Process {
        &mut self.process
    }
}

fn write_config(setup: &Setup, routes: &[Route]) {
    let path = setup.folder.join("c.conf");
    write_file(&path, &config(setup, routes));
    set_private(&path);
}

/// Removes the permissions of others: OpenBGPD rejects a configuration that others may read.
fn set_private(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

fn config(setup: &Setup, routes: &[Route]) -> String {
    let peer = &setup.peer;
    let yes = |on: bool| if on { "yes" } else { "no" };
    let mut text = format!(
        "AS {}\nrouter-id {}\nlisten on {} port {}\nsocket \"{}\"\nfib-update no\n\
         nexthop qualify via default\n",
        setup.asn,
        setup.router_id,
        setup.address,
        setup.port,
        setup.folder.join("s").display(),
    );
    for route in routes {
        let _ = writeln!(text, "network {} set {{ {} }}", route.prefix, set(route));
    }
    let _ = writeln!(
        text,
        "neighbor {} {{\n remote-as {}\n port {}\n local-address {}\n {}\n enforce neighbor-as no\n\
         set nexthop no-modify\n announce IPv4 {}\n announce IPv6 {}\n announce as-4byte {}\n\
         announce add-path recv {}\n announce restart {}",
        peer.address,
        peer.asn,
        setup.port,
        setup.address,
        if peer.ttl_security {
            "ttl-security yes"
        } else {
            "multihop 64"
        },
        if peer.ipv4 { "unicast" } else { "none" },
        if peer.ipv6 { "unicast" } else { "none" },
        yes(peer.as4),
        yes(peer.add_path_receive),
        yes(peer.graceful_restart_s.is_some()),
    );
    if peer.passive {
        text += " passive\n";
    }
    if peer.add_path_send {
        text += " announce add-path send all\n";
    }
    if let Some(key) = &peer.password {
        let _ = writeln!(text, " tcp md5sig password {key}");
    }
    text + "}\nallow from any\nallow to any\n"
}

fn set(route: &Route) -> String {
    let own = route.as_path.first();
    assert!(
        route.as_path.iter().all(|asn| Some(asn) == own),
        "OpenBGPD announces only its own AS: {route:?}"
    );
    let mut text = format!("nexthop {} origin {}", route.next_hop, route.origin.word());
    if !route.as_path_tail().is_empty() {
        let _ = write!(text, " prepend-self {}", route.as_path_tail().len());
    }
    if let Some(med) = route.med {
        assert_ne!(
            med, 0,
            "OpenBGPD shows no difference between MED 0 and none"
        );
        let _ = write!(text, " metric {med}");
    }
    for (high, low) in &route.communities {
        let _ = write!(text, " community {high}:{low}");
    }
    for (global, first, second) in &route.large_communities {
        let _ = write!(text, " large-community {global}:{first}:{second}");
    }
    for (asn, value) in &route.route_targets {
        let _ = write!(text, " ext-community rt {asn}:{value}");
    }
    text
}

/// Reads `show rib in detail`; keeps the routes of this peer.
fn routes(text: &str, peer: &str) -> Result<BTreeSet<Route>, String> {
    let json: Value = serde_json::from_str(text).map_err(|e| format!("{e}: {text}"))?;
    let rows = json["rib"].as_array().into_iter().flatten();
    rows.filter(|row| row["neighbor"]["remote_addr"] == peer)
        .map(route)
        .collect()
}

fn route(row: &Value) -> Result<Route, String> {
    let text = |key: &str| {
        row[key]
            .as_str()
            .ok_or_else(|| format!("no {key} in {row}"))
    };
    let number = |key: &str| row[key].as_u64().and_then(|n| u32::try_from(n).ok());
    let mut route = Route::new("0.0.0.0/0", "0.0.0.0", &[]);
    route.prefix = text("prefix")?.parse().map_err(|e| format!("{e}"))?;
    route.path_id = number("path_id");
    route.next_hop = text("exit_nexthop")?
        .parse()
        .map_err(|e| format!("{row}: {e}"))?;
    let asns = text("aspath")?.split_whitespace();
    route.as_path = asns
        .map(|asn| asn.parse().map_err(|e| format!("{row}: {e}")))
        .collect::<Result<_, _>>()?;
    route.origin = Origin::read(text("origin")?)?;
    route.med = number("metric").filter(|med| *med != 0);
    let list = |key: &str| {
        row[key]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
    };
    route.communities = list("communities")
        .map(|text| community(well_known(text)))
        .collect::<Result<_, _>>()?;
    route.large_communities = list("large_communities")
        .map(large_community)
        .collect::<Result<_, _>>()?;
    route.route_targets = list("extended_communities")
        .filter_map(|text| text.strip_prefix("rt "))
        .map(route_target)
        .collect::<Result<_, _>>()?;
    Ok(route)
}

/// The number of a community that it prints by name.
fn well_known(text: &str) -> &str {
    match text {
        "GRACEFUL_SHUTDOWN" => "65535:0",
        "BLACKHOLE" => "65535:666",
        "NO_EXPORT" => "65535:65281",
        "NO_ADVERTISE" => "65535:65282",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_show_rib() {
        let text = r#"{"rib":[
            {"prefix":"203.0.113.0/24","aspath":"65005 65333","exit_nexthop":"192.0.2.5",
             "neighbor":{"remote_addr":"127.50.0.1"},"path_id":2,"origin":"IGP","metric":3,
             "communities":["65005:1","NO_EXPORT"],"extended_communities":["rt 65005:3"],
             "large_communities":["65005:1:2"]},
            {"prefix":"203.0.113.0/24","aspath":"","exit_nexthop":"192.0.2.4","origin":"EGP","metric":0,
             "neighbor":{"description":"LOCAL","remote_addr":"???"}}]}"#;
        let expected = Route::new("203.0.113.0/24", "192.0.2.5", &[65005, 65333])
            .med(3)
            .community(65005, 1)
            .community(65535, 65281)
            .route_target(65005, 3)
            .large_community(65005, 1, 2)
            .path_id(2);
        assert_eq!(
            routes(text, "127.50.0.1").unwrap(),
            BTreeSet::from([expected])
        );
    }
}
