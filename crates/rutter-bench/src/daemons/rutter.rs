//! Rutter itself.

use std::fmt::Write;
use std::fs;
use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::path::Path;
use std::process::Command;

use crate::daemons::rutter_checks;
use crate::daemons::{LISTEN, ROUTER_ID, Site, free_port, in_folder, local_asn};
use crate::policy::{Policy, TAG, WITHHELD};
use crate::workload::Peer;

/// The name of the configuration file in the daemon's folder.
pub(super) const FILE: &str = "c.toml";

pub(super) fn command(program: &Path, site: &Site<'_>) -> io::Result<Command> {
    let mut text = config(
        site.peers,
        &site.listen,
        &site.file("s"),
        site.setup.threads,
    );
    if site.setup.logs_all {
        text = text.replace("log = \"warn\"", "log = \"info\"");
    }
    if site.setup.add_path {
        text = text.replace(
            DEFAULTS,
            &format!("{DEFAULTS}add-path = {{ receive = true, send = true }}\n"),
        );
    }
    if let Some(bytes) = site.setup.member_memory {
        let limit = format!(
            "{DEFAULTS}max-memory = {{ limit = \"{}M\" }}\n",
            bytes >> 20
        );
        text = text.replace(DEFAULTS, &limit);
    }
    if site.setup.has_actions {
        text.push_str("\n[communities]\nnot-to-peer = \"self:0:peer\"\n");
    }
    if site.setup.has_metrics {
        let address = SocketAddrV4::new(LISTEN, free_port()?);
        let _ = write!(text, "\n[metrics]\nlisten = \"{address}\"\n");
        fs::write(site.file(METRICS), address.to_string())?;
    }
    if let Some((workload, registry)) = site.registry() {
        text = rutter_checks::with_checks(&text, workload, registry, site.folder)?;
    }
    fs::write(site.file(FILE), text)?;
    let mut command = in_folder(program);
    command.arg("run").arg(site.file(FILE));
    Ok(command)
}

/// The same daemon, with SQL over its table.
pub(super) fn collector(program: &Path, site: &Site<'_>) -> io::Result<Command> {
    let sql = SocketAddrV4::new(LISTEN, free_port()?);
    let mut text = config(
        site.peers,
        &site.listen,
        &site.file("s"),
        site.setup.threads,
    );
    let _ = write!(text, "\n[sql]\nlisten = [\"{sql}\"]\n");
    fs::write(site.file(FILE), text)?;
    fs::write(site.file(SQL), sql.to_string())?;
    let mut command = in_folder(program);
    command.arg("collect").arg(site.file(FILE));
    Ok(command)
}

/// The address of the collector's SQL service.
pub(super) fn sql_address(folder: &Path) -> io::Result<SocketAddr> {
    let text = fs::read_to_string(folder.join(SQL))?;
    text.parse().map_err(io::Error::other)
}

/// Rutter's configuration for the clients of a workload. They are members with the usual checks, but a next hop need
/// not be the member's own address, which is in 127/8. `threads` of 0: one per core.
pub fn config(
    peers: &[Peer],
    listen: &SocketAddrV4,
    control_socket: &Path,
    threads: usize,
) -> String {
    let mut text = format!(
        "[exchange]\nasn = {}\nrouter-id = \"{ROUTER_ID}\"\nlan = [\"127.1.0.0/16\", \"10.99.0.0/16\", \"2001:7f8:99::/64\"]\n\n\
         [daemon]\nlisten = [\"{listen}\"]\ncontrol-socket = \"{}\"\nlog = \"warn\"\n",
        local_asn(),
        control_socket.display()
    );
    if threads > 0 {
        let _ = writeln!(text, "threads = {threads}");
    }
    text.push_str(
        "\n[checks]\nnext-hop = \"any\"\n\n\
         [defaults]\nfamilies = [\"ipv4\", \"ipv6\"]\nhold-time = 180\nidle-hold-time = 1\nmultihop = 8\npassive = true\n",
    );
    for peer in peers {
        let _ = write!(
            text,
            "\n[[member]]\nasn = {}\naddress = \"{}\"\n",
            peer.asn, peer.address
        );
    }
    text
}

/// The folder of last good copies.
pub(super) const STATE: &str = "state";

/// The heading of the section for all members.
const DEFAULTS: &str = "[defaults]\n";

/// The file that says where SQL is answered.
const SQL: &str = "sql";

/// The address of the daemon's metrics, if it serves them.
pub(super) fn metrics_address(folder: &Path) -> Option<SocketAddr> {
    let text = fs::read_to_string(folder.join(METRICS)).ok()?;
    text.parse().ok()
}

/// The file that says where metrics are served.
const METRICS: &str = "metrics";

/// The same configuration with another policy.
pub(super) fn with_policy(config: &str, policy: Policy) -> String {
    let is_ours = |line: &&str| OURS.iter().any(|ours| line.starts_with(ours));
    let lines = config.lines().filter(|line| !is_ours(line));
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    let [communities, to_nobody, longest_path] = OURS;
    let mut changed = String::new();
    if policy.withholds {
        let tags: Vec<String> = WITHHELD.map(|tag| format!("\"{TAG}:{tag}\"")).collect();
        let _ = write!(changed, "{communities}\n{to_nobody}[{}]\n", tags.join(", "));
    }
    let _ = write!(changed, "[checks]\n{longest_path}{}\n", policy.longest_path);
    text.replace("[checks]\n", &changed)
}

/// The beginnings of the lines that a policy changes.
const OURS: [&str; 3] = ["[communities]", "not-to-any = ", "max-as-path-length = "];
