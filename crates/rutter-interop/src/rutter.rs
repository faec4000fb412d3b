//! Runs Rutter and its commands, as an operator does.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::lab::write_file;
use crate::process::{Process, output_of};
use crate::route::{Origin, Route, community, large_community, route_target};
use crate::{Lab, Peer};

/// A running Rutter: host 1 of its lab, AS [`Rutter::ASN`].
pub struct Rutter {
    folder: PathBuf,
    header: String,
    address: IpAddr,
    /// The subcommand: `run` or `collect`.
    word: &'static str,
    process: Process,
    /// Another process has taken over from `process`.
    is_upgraded: bool,
}

impl Drop for Rutter {
    /// Stops a process that took over; the first one stops with its own value.
    fn drop(&mut self) {
        if self.is_upgraded {
            let _ = self.ask(&["stop"]);
        }
    }
}

impl Rutter {
    /// Its AS.
    pub const ASN: u32 = 39_000;

    /// Starts a route server; `sections` are its members and further configuration.
    ///
    /// Sessions are passive, have both families and may be multihop. Next hops are not checked, because no client's
    /// next hop is in 127/8.
    pub fn start(lab: &Lab, sections: &str) -> Rutter {
        let identity = format!(
            "[exchange]\nasn = {}\nrouter-id = \"10.255.0.1\"\nlan = [\"{}/24\", \"45.99.0.0/24\"]\n",
            Rutter::ASN,
            lab.address(0),
        );
        Rutter::start_as(lab, "run", &identity, sections)
    }

    /// Starts a plain router with `[[neighbor]]` sections.
    pub fn start_router(lab: &Lab, sections: &str) -> Rutter {
        let identity = format!(
            "[router]\nasn = {}\nrouter-id = \"10.255.0.1\"\n",
            Rutter::ASN
        );
        Rutter::start_as(lab, "run", &identity, sections)
    }

    /// Starts a collector with its sections.
    pub fn start_collector(lab: &Lab, sections: &str) -> Rutter {
        let identity = format!(
            "[router]\nasn = {}\nrouter-id = \"10.255.0.1\"\n",
            Rutter::ASN
        );
        Rutter::start_as(lab, "collect", &identity, sections)
    }

    fn start_as(lab: &Lab, word: &'static str, identity: &str, sections: &str) -> Rutter {
        let folder = lab.folder("rutter");
        let address = lab.address(1);
        let header = format!(
            "{identity}[daemon]\nthreads = 2\nlisten = [\"{address}:{port}\"]\n\
             control-socket = \"{socket}\"\nread-only-socket = \"{read_only}\"\nstate = \"{state}\"\nlog = \"debug\"\n[checks]\nnext-hop = \"any\"\n\
             [defaults]\npassive = true\nport = {port}\nlocal-address = \"{address}\"\n\
             families = [\"ipv4\", \"ipv6\"]\nmultihop = 64\nconnect-retry = \"1s\"\n",
            port = lab.port(),
            socket = folder.join("s").display(),
            read_only = folder.join("r").display(),
            state = folder.display(),
        );
        write_file(&folder.join("c.toml"), &format!("{header}{sections}"));
        let process = spawn(&folder, word);
        let mut rutter = Rutter {
            folder,
            header,
            address,
            word,
            process,
            is_upgraded: false,
        };
        rutter.wait_until_it_answers();
        rutter
    }

    /// Kills it, like a crash, and starts it again.
    pub fn crash_and_restart(&mut self) {
        self.kill();
        self.run_again();
    }

    /// Runs `rutter upgrade`: a new process takes over. [`Rutter::process`] stays the first one.
    pub fn upgrade(&mut self) -> Result<Vec<Value>, String> {
        let rows = self.ask(&["upgrade"])?;
        self.is_upgraded = true;
        Ok(rows)
    }

    /// Kills it, like a crash.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts it again.
    pub fn run_again(&mut self) {
        self.process = spawn(&self.folder, self.word);
        self.wait_until_it_answers();
    }

    /// The session with Rutter from a client's view, with both families.
    pub fn peer(&self) -> Peer {
        Peer::new(self.address, Rutter::ASN)
    }

    /// Its control socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join("s")
    }

    /// Its read-only socket.
    pub fn read_only_socket(&self) -> PathBuf {
        self.folder.join("r")
    }

    /// Its configuration file.
    pub fn config_file(&self) -> PathBuf {
        self.folder.join("c.toml")
    }

    /// Its process.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Writes other sections and runs `rutter reload`.
    pub fn reload(&self, sections: &str) -> Result<Vec<Value>, String> {
        let text = format!("{}{sections}", self.header);
        write_file(&self.folder.join("c.toml"), &text);
        self.ask(&["reload"])
    }

    /// Runs a command with `--json` and returns its rows.
    pub fn ask(&self, arguments: &[&str]) -> Result<Vec<Value>, String> {
        let text = output_of(
            Command::new(program())
                .args(arguments)
                .arg("--json")
                .arg("--socket")
                .arg(self.folder.join("s")),
        )?;
        text.lines()
            .map(|line| serde_json::from_str(line).map_err(|error| format!("{error}: {line}")))
            .collect()
    }

    /// The row of `show peers` for this client.
    pub fn session(&self, client: IpAddr) -> Result<Value, String> {
        let rows = self.ask(&["show", "peer", &client.to_string()])?;
        let mut rows = rows.into_iter().filter(|row| !row["state"].is_null());
        rows.next()
            .ok_or_else(|| format!("no session with {client}"))
    }

    /// Returns whether the session with this client is up.
    pub fn established(&self, client: IpAddr) -> bool {
        self.session(client)
            .is_ok_and(|session| session["state"] == "Established")
    }

    /// All routes of this client, including rejected ones.
    pub fn routes_from(&self, client: IpAddr) -> Result<BTreeSet<Route>, String> {
        let rows = self.ask(&["show", "routes", "--peer", &client.to_string()])?;
        routes_of(&rows).map(route).collect()
    }

    /// The rejected routes of this client: prefixes and names of the reasons.
    pub fn rejected_from(&self, client: IpAddr) -> Result<BTreeSet<(String, String)>, String> {
        let client = client.to_string();
        let rows = self.ask(&["show", "routes", "--rejected", "--peer", &client])?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Ok(routes_of(&rows)
            .map(|row| (text(&row["prefix"]), text(&row["rejected"]["name"])))
            .collect())
    }

    /// The routes that this client is sent, as Rutter shows them.
    pub fn routes_to(&self, client: IpAddr) -> Result<BTreeSet<Route>, String> {
        let client = client.to_string();
        let rows = self.ask(&["show", "routes", "--advertised-to", &client])?;
        routes_of(&rows).map(route).collect()
    }

    /// The routes that this client is not sent: prefixes and names of the reasons.
    pub fn withheld_from(&self, client: IpAddr) -> Result<BTreeSet<(String, String)>, String> {
        let client = client.to_string();
        let rows = self.ask(&["show", "routes", "--advertised-to", &client, "--withheld"])?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Ok(routes_of(&rows)
            .map(|row| (text(&row["prefix"]), text(&row["withheld"]["name"])))
            .collect())
    }

    fn wait_until_it_answers(&mut self) {
        crate::eventually("Rutter answers", || {
            self.process.check_alive()?;
            self.ask(&["show", "status"])
        });
    }
}

/// Path of the program: `RUTTER_BIN`, or the one in this test's build folder.
pub fn program() -> PathBuf {
    if let Some(path) = std::env::var_os("RUTTER_BIN") {
        return path.into();
    }
    let test = std::env::current_exe().expect("this test has a path");
    let path = test
        .ancestors()
        .nth(2)
        .map(|folder| folder.join("rutter"))
        .filter(|path| path.exists());
    path.unwrap_or_else(|| panic!("no rutter beside the tests: run `cargo build -p rutter`"))
}

/// A `[[member]]` section with further keys.
pub fn member(address: IpAddr, asn: u32, keys: &str) -> String {
    format!("[[member]]\nasn = {asn}\naddress = \"{address}\"\n{keys}\n")
}

/// A `[[neighbor]]` section with further keys.
pub fn neighbor(address: IpAddr, asn: u32, keys: &str) -> String {
    format!("[[neighbor]]\nasn = {asn}\naddress = \"{address}\"\n{keys}\n")
}

fn spawn(folder: &Path, word: &str) -> Process {
    let mut command = Command::new(program());
    command.arg(word).arg(folder.join("c.toml"));
    Process::start("Rutter", folder, &mut command)
}

fn routes_of(rows: &[Value]) -> impl Iterator<Item = &Value> {
    rows.iter().filter(|row| row["prefix"].is_string())
}

fn route(row: &Value) -> Result<Route, String> {
    let attributes = &row["attributes"];
    let text = |value: &Value| value.as_str().map(str::to_owned).unwrap_or_default();
    let number = |value: &Value| value.as_u64().and_then(|n| u32::try_from(n).ok());
    let mut route = Route::new("0.0.0.0/0", "0.0.0.0", &[]);
    route.prefix = text(&row["prefix"]).parse().map_err(|e| format!("{e}"))?;
    route.path_id = number(&row["path-id"]);
    let next_hop = text(&attributes["next-hop"]);
    route.next_hop = next_hop.parse().map_err(|e| format!("{row}: {e}"))?;
    route.as_path = text(&attributes["as-path"])
        .split_whitespace()
        .map(|asn| asn.parse().map_err(|e| format!("{row}: {e}")))
        .collect::<Result<_, _>>()?;
    route.origin = Origin::read(&text(&attributes["origin"]))?;
    route.med = number(&attributes["multi-exit-disc"]);
    let list = |key: &str| {
        let values = attributes[key].as_array().into_iter().flatten();
        values.filter_map(Value::as_str)
    };
    route.communities = list("communities")
        .map(community)
        .collect::<Result<_, _>>()?;
    route.large_communities = list("large-communities")
        .map(large_community)
        .collect::<Result<_, _>>()?;
    route.route_targets = list("extended-communities")
        .filter_map(|text| text.strip_prefix("rt:"))
        .map(route_target)
        .collect::<Result<_, _>>()?;
    Ok(route)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_row_of_show_routes() {
        let text = r#"{"kind":"route","prefix":"45.10.1.0/24","peer":{"name":"a","address":"127.0.0.2","asn":2101},
            "path-id":3,"best":true,"attributes":{"origin":"egp","as-path":"2101 3333","next-hop":"10.77.0.2",
            "multi-exit-disc":5,"communities":["2101:1"],"extended-communities":["rt:2101:9"],
            "large-communities":["2101:1:2"]}}"#;
        let expected = Route::new("45.10.1.0/24", "10.77.0.2", &[2101, 3333])
            .origin(Origin::Egp)
            .med(5)
            .community(2101, 1)
            .large_community(2101, 1, 2)
            .route_target(2101, 9)
            .path_id(3);
        assert_eq!(
            route(&serde_json::from_str(text).unwrap()).unwrap(),
            expected
        );
    }
}
