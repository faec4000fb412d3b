//! IX-F member exports (Euro-IX JSON schema 1.0) as members: `exchange.members` may name such files.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;

use rutter_net::{Asn, Family, PerFamily};
use rutter_policy::ImportRule;
use serde::Deserialize;

use super::Findings;
use super::neighbors::{Neighbors, at_address};
use crate::sections::irr::as_set_name;
use crate::{
    ConfigError, ExportRule, LimitAction, MaxPrefix, Neighbor, NeighborKind, Severity, WhiteList,
};

/// The parts of an export that the configuration needs. Other keys are ignored: portals add their own.
#[derive(Deserialize)]
struct Export {
    member_list: Vec<Member>,
}

#[derive(Deserialize)]
struct Member {
    asnum: u32,
    name: Option<String>,
    member_type: Option<String>,
    #[serde(default)]
    connection_list: Vec<Connection>,
}

#[derive(Deserialize)]
struct Connection {
    state: Option<String>,
    #[serde(default)]
    vlan_list: Vec<Vlan>,
}

#[derive(Deserialize)]
struct Vlan {
    ipv4: Option<Port>,
    ipv6: Option<Port>,
}

/// A member's port in one VLAN and family.
#[derive(Deserialize)]
struct Port {
    address: Option<String>,
    as_macro: Option<String>,
    /// Whether the member peers with the route servers. Portals that do not know leave it out.
    routeserver: Option<bool>,
    max_prefix: Option<u32>,
}

/// Reports of one file.
struct Report<'a> {
    file: &'a Path,
    findings: &'a Findings,
}

impl Report<'_> {
    fn add(
        &self,
        severity: Severity,
        (line, column): (usize, usize),
        message: impl Into<String>,
        hint: &str,
    ) {
        self.findings.errors.borrow_mut().push(ConfigError {
            severity,
            file: self.file.to_owned(),
            line,
            column,
            key: "member_list".to_owned(),
            message: message.into(),
            hint: hint.to_owned(),
        });
    }

    fn warn(&self, message: String, hint: &str) {
        self.add(Severity::Warning, (0, 0), message, hint);
    }
}

/// Returns whether a member file is an export and no file with sections.
pub(super) fn is_export(file: &Path) -> bool {
    file.extension()
        .is_some_and(|extension| extension == "json")
}

/// Adds the members of an export that have an address on the LAN. A member with a `[[member]]` section at an address keeps
/// it.
pub(super) fn read(neighbors: &mut Neighbors<'_>, file: &Path, text: &str, findings: &Findings) {
    let report = Report { file, findings };
    let export: Export = match serde_json::from_str(text) {
        Ok(export) => export,
        Err(why) => {
            return report.add(
                Severity::Error,
                (why.line(), why.column()),
                format!("not an IX-F member export: {why}"),
                "fetch the file again; its form is the Euro-IX JSON schema 1.0",
            );
        }
    };
    let mut count = 0;
    for member in &export.member_list {
        count += add_member(neighbors, member, &report);
    }
    if count == 0 {
        report.add(
            Severity::Error,
            (0, 0),
            "no member of the file has an address on the LAN and peers with route servers",
            "correct exchange.lan, or fetch the file of this exchange",
        );
    }
}

/// Adds the sessions of a member. Returns their number.
fn add_member(neighbors: &mut Neighbors<'_>, member: &Member, report: &Report<'_>) -> usize {
    let asn = Asn(member.asnum);
    let is_server = member.member_type.as_deref() == Some("routeserver");
    if asn == neighbors.local_asn() || asn.0 == 0 || is_server {
        return 0;
    }
    let active = member.connection_list.iter().filter(|connection| {
        let state = connection.state.as_deref();
        state.is_none_or(|state| matches!(state, "active" | "connected" | "operational"))
    });
    let vlans = active.flat_map(|connection| &connection.vlan_list);
    let ports: Vec<&Port> = vlans
        .flat_map(|vlan| [&vlan.ipv4, &vlan.ipv6])
        .flatten()
        .filter(|port| port.routeserver != Some(false))
        .collect();
    let mut addresses = Vec::new();
    for (port, text) in ports
        .iter()
        .filter_map(|port| Some((port, port.address.as_ref()?)))
    {
        match text.parse::<IpAddr>() {
            Ok(address) if neighbors.is_on_lan(address) => addresses.push((address, *port)),
            Ok(_) => {}
            Err(_) if text.is_empty() => {}
            Err(_) => report.warn(
                format!("AS{asn}: `{text}` is not an address"),
                "correct it in the portal",
            ),
        }
    }
    let template = template(neighbors, member, &addresses, report);
    for (address, _) in &addresses {
        let place = format!("{}: AS{asn}", report.file.display());
        neighbors.add_unless_known(at_address(&template, *address), place);
    }
    addresses.len()
}

/// The settings of a member's sessions.
fn template(
    neighbors: &Neighbors<'_>,
    member: &Member,
    addresses: &[(IpAddr, &Port)],
    report: &Report<'_>,
) -> Neighbor {
    let asn = Asn(member.asnum);
    let mut template = Neighbor {
        kind: NeighborKind::Member,
        import: ImportRule::Checks,
        export: ExportRule::All,
        as_sets: as_sets(asn, addresses, report),
        white_list: WhiteList::new(),
        ..neighbors.member_template(asn)
    };
    if let Some(name) = member.name.as_ref().filter(|name| !name.trim().is_empty()) {
        template.session.description = Some(format!("AS{asn} {}", name.trim()));
    }
    let limits = &mut template.session.max_prefix;
    *limits = PerFamily::from_fn(|family| max_prefix(addresses, family, limits[family]));
    template
}

/// The largest limit of the family that the file has, with the action of the default one.
fn max_prefix(
    addresses: &[(IpAddr, &Port)],
    family: Family,
    default: Option<MaxPrefix>,
) -> Option<MaxPrefix> {
    let of_family =
        |(address, _): &&(IpAddr, &Port)| address.is_ipv4() == (family == Family::Ipv4Unicast);
    let limits = addresses.iter().filter(of_family);
    let limit = limits.filter_map(|(_, port)| port.max_prefix).max();
    let limit = limit.filter(|limit| *limit > 0);
    let action = default.map_or(LimitAction::Shutdown, |default| default.action);
    let own = |limit| MaxPrefix {
        limit,
        action,
        headroom: None,
        recommended: None,
    };
    limit.map(own).or(default)
}

/// The AS-SETs of all ports, each once. The member's own AS always belongs to them.
fn as_sets(asn: Asn, addresses: &[(IpAddr, &Port)], report: &Report<'_>) -> Vec<String> {
    let mut sets = Vec::new();
    let mut wrong = BTreeSet::new();
    let macros = addresses
        .iter()
        .filter_map(|(_, port)| port.as_macro.as_deref());
    let is_separator = |c: char| c.is_whitespace() || c == ',' || c == ';';
    let names = macros.flat_map(|text| text.split(is_separator));
    for name in names.filter(|name| !name.is_empty()) {
        match as_set_name(name) {
            Some(set) if set == format!("AS{asn}") || sets.contains(&set) => {}
            Some(set) => sets.push(set),
            None => {
                wrong.insert(name);
            }
        }
    }
    for name in wrong {
        report.warn(
            format!("AS{asn}: `{name}` is not the name of an AS-SET"),
            "correct `as_macro` in the portal, or write a [[member]] section for this member",
        );
    }
    sets
}
