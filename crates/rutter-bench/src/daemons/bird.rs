//! BIRD 2 and 3 as a plain route server.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::daemons::bird_checks;
use crate::daemons::{ROUTER_ID, Site, in_folder, local_asn};
use crate::policy::{Policy, TAG, WITHHELD};

/// The arrangement of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// One table: the owner of the best route receives no route.
    OneTable,
    /// One table, BIRD 3's worker threads.
    Threads,
    /// A table for each client and a pipe between every two tables. Pipes to a master table would hide paths.
    TablePerClient,
}

/// The name of the configuration file in the daemon's folder.
pub(super) const FILE: &str = "c";

pub(super) fn command(program: &Path, site: &Site<'_>, style: Style) -> io::Result<Command> {
    if let Some((workload, registry)) = site.registry() {
        bird_checks::write_filters(workload, registry, site.folder)?;
    }
    fs::write(site.file(FILE), config(site, style))?;
    let mut command = in_folder(program);
    command.args(["-f", "-c"]).arg(site.file(FILE));
    command
        .arg("-s")
        .arg(site.file("s"))
        .arg("-P")
        .arg(site.file("p"));
    Ok(command)
}

/// Neighbors in 127/8 need `multihop`, which needs next hops that resolve: the tables `via4` and `via6` resolve them.
fn config(site: &Site<'_>, style: Style) -> String {
    let mut text = format!("router id {ROUTER_ID};\nlog stderr {{ error, fatal, bug }};\n");
    if style == Style::Threads {
        let _ = writeln!(text, "threads {};", site.setup.threads.max(1));
    }
    text.push_str(
        "protocol device {}\n\
         ipv4 table via4;\nipv6 table via6;\n\
         protocol static { ipv4 { table via4; }; route 0.0.0.0/0 blackhole; }\n\
         protocol static { ipv6 { table via6; }; route ::/0 blackhole; }\n",
    );
    let has_checks = site.registry().is_some();
    if has_checks {
        text.push_str(&bird_checks::includes());
    } else if site.setup.reloads {
        text.push_str(&filters(Policy::default()));
    }
    for (number, peer) in site.peers.iter().enumerate() {
        let (t4, t6) = match style {
            Style::TablePerClient => (format!("t4_{number}"), format!("t6_{number}")),
            _ => ("master4".to_owned(), "master6".to_owned()),
        };
        if style == Style::TablePerClient {
            let _ = write!(text, "ipv4 table {t4};\nipv6 table {t6};\n");
            pipes(&mut text, number);
        }
        // With an import table, BIRD applies a new filter without a route refresh.
        let table = if site.setup.reloads {
            "; import table on"
        } else {
            ""
        };
        let import = |family: u8| match style {
            Style::TablePerClient => "filter { preference = 50; accept; }".to_owned(),
            _ if has_checks => format!("filter i{family}_{number}{table}"),
            _ if site.setup.reloads => format!("filter checks{table}"),
            _ => "all".to_owned(),
        };
        let export = match site.setup.reloads {
            _ if has_checks => format!("filter e_{number}"),
            true => "filter exports".to_owned(),
            false => "all".to_owned(),
        };
        let (import4, import6) = (import(4), import(6));
        let paths = if site.setup.add_path {
            " add paths on;"
        } else {
            ""
        };
        let _ = write!(
            text,
            "protocol bgp c{number} {{\n  local {} port {} as {};\n  neighbor {} as {};\n  multihop; rs client; passive; strict bind; deterministic med; hold time 180;\n  \
             ipv4 {{ table {t4}; igp table via4; import {import4}; export {export}; next hop keep;{paths} }};\n  \
             ipv6 {{ table {t6}; igp table via6; import {import6}; export {export}; next hop keep;{paths} }};\n}}\n",
            site.listen.ip(),
            site.listen.port(),
            local_asn(),
            peer.address,
            peer.asn,
        );
    }
    text
}

/// The same configuration with another policy.
pub(super) fn with_policy(config: &str, policy: Policy) -> String {
    let lines = config.lines().filter(|line| !line.starts_with(FILTER));
    let others: String = lines.flat_map(|line| [line, "\n"]).collect();
    let (first, rest) = others.split_once('\n').unwrap_or((&others, ""));
    format!("{first}\n{}{rest}", filters(policy))
}

/// The filters of all clients, one per line.
fn filters(policy: Policy) -> String {
    let longest = policy.longest_path;
    let withheld = match policy.withholds {
        true => format!(
            "if bgp_community ~ [({TAG},{}..{})] then reject; ",
            WITHHELD.start,
            WITHHELD.end - 1
        ),
        false => String::new(),
    };
    format!(
        "{FILTER}checks {{ if bgp_path.len > {longest} then reject; accept; }}\n{FILTER}exports {{ {withheld}accept; }}\n"
    )
}

const FILTER: &str = "filter ";

/// Each of the two tables receives the routes of the other's client, and no routes from third tables. A client's own
/// routes have a lower preference in its own table, so that they are never the best there if another route exists.
fn pipes(text: &mut String, number: usize) {
    for other in 0..number {
        for family in [4, 6] {
            let _ = writeln!(
                text,
                "protocol pipe {{ table t{family}_{number}; peer table t{family}_{other}; \
                 import filter {{ if proto = \"c{other}\" then {{ preference = 100; accept; }} reject; }}; \
                 export filter {{ if proto = \"c{number}\" then {{ preference = 100; accept; }} reject; }}; }}"
            );
        }
    }
}
