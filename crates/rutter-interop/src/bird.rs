//! BIRD 2.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

use rutter_net::Prefix;

use crate::lab::write_file;
use crate::process::{Process, output_of, program};
use crate::route::{Origin, Route, community, large_community, route_target};
use crate::speaker::{Setup, Speaker, announced_by};

/// A running BIRD.
///
/// Its session runs in `multihop` mode because neighbors are in 127/8. Next hops then resolve through tables with their
/// own default route.
pub struct Bird {
    setup: Setup,
    routes: Vec<Route>,
    process: Process,
}

impl Bird {
    /// Starts the daemon. It connects and retries every second.
    pub fn start(setup: Setup) -> Bird {
        write_file(&setup.folder.join("c.conf"), &config(&setup, &[]));
        let process = spawn(&setup, false);
        Bird {
            setup,
            routes: Vec::new(),
            process,
        }
    }

    /// Starts it again after [`Process::kill`], with a graceful restart (RFC 4724) and the same routes.
    pub fn restart_gracefully(&mut self) {
        self.process.kill();
        self.process = spawn(&self.setup, true);
    }

    /// Runs a command with `birdc`.
    pub fn birdc(&self, command: &[&str]) -> Result<String, String> {
        let text = output_of(
            Command::new(program("birdc"))
                .arg("-s")
                .arg(socket(&self.setup))
                .args(command),
        )?;
        Ok(text)
    }

    /// Changes the TCP MD5 key. BIRD resets its session for that.
    pub fn change_key(&mut self, key: &str) {
        self.setup.peer.password = Some(key.to_owned());
        self.reconfigure();
    }

    fn reconfigure(&self) {
        let text = config(&self.setup, &self.routes);
        write_file(&self.setup.folder.join("c.conf"), &text);
        let answer = crate::eventually("BIRD answers", || self.birdc(&["configure"]));
        assert!(
            answer.contains("Reconfigured")
                || answer.contains("Reconfiguration in progress")
                || answer.contains("Reconfiguration already in progress"),
            "{answer}\n{text}"
        );
    }
}

impl Speaker for Bird {
    fn announce(&mut self, routes: &[Route]) {
        announced_by(self.setup.asn, routes);
        self.routes.extend_from_slice(routes);
        self.reconfigure();
    }

    fn withdraw(&mut self, prefixes: &[Prefix]) {
        self.routes
            .retain(|route| !prefixes.contains(&route.prefix));
        self.reconfigure();
    }

    fn received(&self) -> Result<BTreeSet<Route>, String> {
        routes(&self.birdc(&["show", "route", "all", "protocol", "target"])?)
    }

    fn established(&self) -> bool {
        self.birdc(&["show", "protocols", "target"])
            .is_ok_and(|text| text.contains("Established"))
    }

    fn refresh(&mut self) {
        self.birdc(&["reload", "in", "target"])
            .unwrap_or_else(|error| panic!("{error}"));
    }

    fn process(&mut self) -> &mut Process {
        &mut self.process
    }
}

fn socket(setup: &Setup) -> PathBuf {
    setup.folder.join("s")
}

fn spawn(setup: &Setup, recovery: bool) -> Process {
    let mut command = Command::new(program("bird"));
    command.arg("-f").arg("-c").arg(setup.folder.join("c.conf"));
    command.arg("-s").arg(socket(setup));
    command.arg("-P").arg(setup.folder.join("pid"));
    if recovery {
        command.arg("-R");
    }
    Process::start("BIRD", &setup.folder, &mut command)
}

fn config(setup: &Setup, routes: &[Route]) -> String {
    let peer = &setup.peer;
    let mut text = format!(
        "log stderr all;\nrouter id {};\ndebug protocols {{ states, events }};\n\
         protocol device {{ }}\nipv4 table igp4;\nipv6 table igp6;\n\
         protocol static gateway4 {{ ipv4 {{ table igp4; }}; route 0.0.0.0/0 blackhole; }}\n\
         protocol static gateway6 {{ ipv6 {{ table igp6; }}; route ::/0 blackhole; }}\n",
        setup.router_id
    );
    for family in [4, 6] {
        write_routes(&mut text, family, routes);
    }
    let _ = writeln!(
        text,
        "protocol bgp target {{\n local {} port {} as {};\n neighbor {} port {} as {};\n multihop 64; strict bind on;\n\
         connect delay time 1; connect retry time 1; error wait time 1, 2;",
        setup.address, setup.port, setup.asn, peer.address, setup.port, peer.asn
    );
    if let Some(key) = &peer.password {
        let _ = writeln!(text, " password \"{key}\";");
    }
    if let Some(seconds) = peer.graceful_restart_s {
        let _ = writeln!(
            text,
            " graceful restart on; graceful restart time {seconds};"
        );
    }
    if !peer.as4 {
        text += " enable as4 off;\n";
    }
    if peer.ttl_security {
        text += " ttl security on;\n";
    }
    if peer.passive {
        text += " passive on;\n";
    }
    for family in peer.families() {
        write_channel(&mut text, setup, family);
    }
    text + "}\n"
}

fn write_channel(text: &mut String, setup: &Setup, family: u8) {
    let peer = &setup.peer;
    let add_paths = match (peer.add_path_receive, peer.add_path_send) {
        (true, true) => "add paths on;",
        (true, false) => "add paths rx;",
        (false, true) => "add paths tx;",
        (false, false) => "",
    };
    let extended = if peer.extended_next_hop && family == 4 {
        "extended next hop on;"
    } else {
        ""
    };
    let _ = writeln!(
        text,
        " ipv{family} {{ import all; export filter announce{family}; next hop keep; \
         igp table igp{family}; {extended} {add_paths} }};"
    );
}

/// Writes static protocols with the prefixes, and the filter that sets their attributes. The second path to a prefix is
/// in a second protocol, because BIRD keeps one path per protocol.
fn write_routes(text: &mut String, family: u8, routes: &[Route]) {
    let mut layers: Vec<Vec<&Route>> = vec![Vec::new()];
    for route in routes.iter().filter(|route| is_family(route, family)) {
        let free = layers
            .iter_mut()
            .find(|layer| layer.iter().all(|other| other.prefix != route.prefix));
        match free {
            Some(layer) => layer.push(route),
            None => layers.push(vec![route]),
        }
    }
    for (number, layer) in layers.iter().enumerate() {
        let _ = writeln!(text, "protocol static own{family}_{number} {{ ipv{family};");
        for route in layer {
            let _ = writeln!(text, " route {} blackhole;", route.prefix);
        }
        text.push_str("}\n");
    }
    let _ = writeln!(text, "filter announce{family} {{");
    for (number, layer) in layers.iter().enumerate() {
        for route in layer {
            let _ = writeln!(
                text,
                " if proto = \"own{family}_{number}\" && net = {} then {{ {} accept; }}",
                route.prefix,
                attributes(route)
            );
        }
    }
    text.push_str(" reject;\n}\n");
}

fn is_family(route: &Route, family: u8) -> bool {
    (family == 4) == matches!(route.prefix, Prefix::V4(_))
}

fn attributes(route: &Route) -> String {
    let origin = match route.origin {
        Origin::Igp => "ORIGIN_IGP",
        Origin::Egp => "ORIGIN_EGP",
        Origin::Incomplete => "ORIGIN_INCOMPLETE",
    };
    let mut text = format!("bgp_origin = {origin}; bgp_next_hop = {}; ", route.next_hop);
    for asn in route.as_path_tail().iter().rev() {
        let _ = write!(text, "bgp_path.prepend({asn}); ");
    }
    if let Some(med) = route.med {
        let _ = write!(text, "bgp_med = {med}; ");
    }
    for (high, low) in &route.communities {
        let _ = write!(text, "bgp_community.add(({high},{low})); ");
    }
    for (global, first, second) in &route.large_communities {
        let _ = write!(
            text,
            "bgp_large_community.add(({global},{first},{second})); "
        );
    }
    for (asn, value) in &route.route_targets {
        let _ = write!(text, "bgp_ext_community.add((rt,{asn},{value})); ");
    }
    text
}

/// Reads `show route all`.
fn routes(text: &str) -> Result<BTreeSet<Route>, String> {
    let mut routes = Vec::new();
    let mut prefix = None;
    for line in text.lines() {
        if let Some(attribute) = line.strip_prefix('\t') {
            let (key, value) = attribute.split_once(':').unwrap_or((attribute, ""));
            let route = routes.last_mut().ok_or("attribute without a route")?;
            read_attribute(route, key, value.trim())?;
        } else if line.contains('[') {
            let word = line.split_whitespace().next().unwrap_or_default();
            if word.contains('/') {
                prefix = Some(word.to_owned());
            }
            let prefix = prefix.as_ref().ok_or("path without a prefix")?;
            routes.push(Route {
                prefix: prefix.parse().map_err(|error| format!("{error}"))?,
                ..Route::new("0.0.0.0/0", "0.0.0.0", &[])
            });
        }
    }
    Ok(routes.into_iter().collect())
}

fn read_attribute(route: &mut Route, key: &str, value: &str) -> Result<(), String> {
    let number = |text: &str| {
        text.parse::<u32>()
            .map_err(|e| format!("{key} {text}: {e}"))
    };
    match key {
        "BGP.origin" => route.origin = Origin::read(value)?,
        "BGP.as_path" => {
            route.as_path = value
                .split_whitespace()
                .map(number)
                .collect::<Result<_, _>>()?;
        }
        "BGP.next_hop" => {
            let global = value.split_whitespace().next().unwrap_or_default();
            route.next_hop = global.parse().map_err(|e| format!("{value}: {e}"))?;
        }
        "BGP.med" => route.med = Some(number(value)?),
        "BGP.community" => {
            route.communities = tuples(value).map(community).collect::<Result<_, _>>()?;
        }
        "BGP.large_community" => {
            let all = tuples(value).map(large_community);
            route.large_communities = all.collect::<Result<_, _>>()?;
        }
        "BGP.ext_community" => {
            let targets = tuples(value).filter_map(|tuple| tuple.strip_prefix("rt, "));
            route.route_targets = targets.map(route_target).collect::<Result<_, _>>()?;
        }
        _ => {}
    }
    Ok(())
}

/// The contents of each pair of parentheses in `(…) (…)`.
fn tuples(text: &str) -> impl Iterator<Item = &str> {
    text.split('(')
        .skip(1)
        .filter_map(|part| part.split_once(')').map(|(inside, _)| inside))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_show_route_all() {
        let text = "BIRD 2.0.12 ready.\nTable master4:\n\
            203.0.113.0/24       blackhole [target 02:30:27.938 from 127.50.0.1] (100/?) [AS65333i]\n\
            \tType: BGP univ\n\tBGP.origin: IGP\n\tBGP.as_path: 65005 65333\n\tBGP.next_hop: 192.0.2.5\n\
            \tBGP.med: 3\n\tBGP.local_pref: 100\n\tBGP.community: (65005,1) (65005,2)\n\
            \tBGP.ext_community: (rt, 65005, 3)\n\tBGP.large_community: (65005, 1, 2)\n\
            \x20                    blackhole [target 02:30:27.938 from 127.50.0.1] (100/?) [AS65333?]\n\
            \tType: BGP univ\n\tBGP.origin: Incomplete\n\tBGP.as_path: 65003\n\tBGP.next_hop: 192.0.2.3\n\n\
            Table master6:\n\
            2001:db8:3::/48      blackhole [target 02:30:27.938 from 127.50.0.1] * (100/?) [AS65003i]\n\
            \tBGP.origin: IGP\n\tBGP.as_path: 65003\n\tBGP.next_hop: 2001:db8::3 fe80::1\n";
        let expected = BTreeSet::from([
            Route::new("203.0.113.0/24", "192.0.2.5", &[65005, 65333])
                .med(3)
                .community(65005, 1)
                .community(65005, 2)
                .route_target(65005, 3)
                .large_community(65005, 1, 2),
            Route::new("203.0.113.0/24", "192.0.2.3", &[65003]).origin(Origin::Incomplete),
            Route::new("2001:db8:3::/48", "2001:db8::3", &[65003]),
        ]);
        assert_eq!(routes(text).unwrap(), expected);
    }
}
