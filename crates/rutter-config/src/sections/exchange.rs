//! `[exchange]` and `[router]`: the identity of this speaker.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use rutter_net::{Asn, Prefix};

use crate::key_rows::{Key, Reload};
use crate::read::Root;
use crate::source_file::UnmatchedPattern;
use crate::toml_values::{Item, Section};
use crate::{Severity, value_forms};

/// The exchange of a route server; absent on a router or collector.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Exchange {
    /// The peering LANs.
    pub lan: Vec<Prefix>,
}

/// `[exchange]`. An invalid identity must not hide errors in members, so these keys are not rows of a struct.
pub const EXCHANGE: &[Key] = &[
    key(
        "asn",
        "AS number",
        "required",
        "The AS of the route server.",
    ),
    key(
        "router-id",
        "IPv4 address",
        "required",
        "The BGP Identifier (RFC 6286): unique and not 0.0.0.0.",
    ),
    key(
        "lan",
        "prefixes",
        "required",
        "The peering LANs. Members should have addresses inside. Routes to these prefixes and their subnets are rejected.",
    ),
    key(
        "members",
        "file pattern, or several",
        "none",
        "Files with more `[[member]]` sections, relative to this file: `\"members.d/*.toml\"`. They are read in the order of their names. A `.json` file is an IX-F member export (Euro-IX schema 1.0): each member that peers with route servers becomes a member at its addresses on the LAN, with the keys of `[defaults]`, its AS-SETs and its prefix limits. `[[member]]` sections at such addresses take precedence.",
    ),
    key(
        "roles",
        "true, false",
        "false",
        "Announce the role *route server* (RFC 9234) to members without `role`, reject leaks by ONLY_TO_CUSTOMER, and add the attribute when advertising.",
    ),
];

/// `[router]`, like `[exchange]`.
pub const ROUTER: &[Key] = &[
    key("asn", "AS number", "required", "Our AS."),
    key(
        "router-id",
        "IPv4 address",
        "required",
        "The BGP Identifier (RFC 6286).",
    ),
    key(
        "cluster-id",
        "IPv4 address",
        "`router-id`",
        "The CLUSTER_ID of a route reflector (RFC 4456).",
    ),
];

const fn key(
    name: &'static str,
    form: &'static str,
    default: &'static str,
    text: &'static str,
) -> Key {
    Key::new(name, form, default, text, Reload::NextStart)
}

/// The identity of this speaker.
#[derive(Clone, Debug)]
pub(crate) struct Local {
    pub(crate) asn: Asn,
    pub(crate) router_id: Ipv4Addr,
    pub(crate) cluster_id: u32,
    pub(crate) exchange: Option<Exchange>,
    pub(crate) roles: bool,
    /// The files of `exchange.members`, sorted by name.
    pub(crate) member_files: Vec<PathBuf>,
}

pub(crate) fn local(root: &Root<'_>) -> Local {
    let exchange = root.section("exchange", &[EXCHANGE], |s| Some(read_exchange(s)));
    let router = root.section("router", &[ROUTER], |s| {
        if root.has("exchange") {
            s.complain(
                "asn",
                "[exchange] and [router] are both present",
                "keep one of them",
            );
        }
        Some(read_router(s))
    });
    if exchange.is_none() && router.is_none() && !root.has("exchange") && !root.has("router") {
        root.source.report(
            crate::Severity::Error,
            0..0,
            "exchange",
            "both [exchange] and [router] are missing",
            "write [exchange] for a route server, or [router] otherwise, with asn and router-id",
        );
    }
    exchange.or(router).unwrap_or(Local {
        asn: Asn(0),
        router_id: Ipv4Addr::UNSPECIFIED,
        cluster_id: 0,
        exchange: None,
        roles: false,
        member_files: Vec::new(),
    })
}

fn read_exchange(section: Section<'_>) -> Local {
    let (asn, router_id) = identity(&section);
    let lan = section.require("lan", "[\"192.0.2.0/24\", \"2001:db8:1::/64\"]");
    let lan: Vec<Prefix> = lan
        .map(|l| l.each(|i| i.parse("192.0.2.0/24")))
        .unwrap_or_default();
    Local {
        asn,
        router_id,
        cluster_id: router_id.to_bits(),
        exchange: Some(Exchange { lan }),
        roles: section.get("roles").and_then(|i| i.bool()).unwrap_or(false),
        member_files: section
            .get("members")
            .map(|i| member_files(&i))
            .unwrap_or_default(),
    }
}

fn read_router(section: Section<'_>) -> Local {
    let (asn, router_id) = identity(&section);
    let cluster = section
        .get("cluster-id")
        .and_then(|i| i.parse::<Ipv4Addr>("192.0.2.1"));
    Local {
        asn,
        router_id,
        cluster_id: cluster.unwrap_or(router_id).to_bits(),
        exchange: None,
        roles: false,
        member_files: Vec::new(),
    }
}

fn identity(section: &Section<'_>) -> (Asn, Ipv4Addr) {
    let asn = section
        .require("asn", "64500")
        .and_then(|i| value_forms::asn(&i));
    let router_id = section.require("router-id", "\"192.0.2.1\"").and_then(|i| {
        let id = i.parse::<Ipv4Addr>("192.0.2.1")?;
        if id.is_unspecified() {
            i.error(
                "0.0.0.0 is not a BGP Identifier (RFC 6286)",
                "write one of this machine's IPv4 addresses",
            );
        }
        Some(id)
    });
    (
        asn.unwrap_or(Asn(0)),
        router_id.unwrap_or(Ipv4Addr::UNSPECIFIED),
    )
}

fn member_files(patterns: &Item<'_>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    patterns
        .list()
        .iter()
        .for_each(|pattern| expand(pattern, &mut files));
    files
}

fn expand(item: &Item<'_>, files: &mut Vec<PathBuf>) {
    let Some(text) = item.str("members.d/*.toml") else {
        return;
    };
    let pattern = item.source.beside(text);
    let found = match glob::glob(&pattern.to_string_lossy()) {
        Ok(found) => found,
        Err(why) => {
            return item.error(
                format!("`{text}`: {why}"),
                "write a pattern like \"members.d/*.toml\"",
            );
        }
    };
    let before = files.len();
    for entry in found {
        match entry {
            Ok(path) if !files.contains(&path) => files.push(path),
            Ok(_) => {}
            Err(why) => item.error(why.to_string(), "make the folder readable"),
        }
    }
    if files.len() == before {
        unmatched(item, &pattern);
    }
}

/// Warns of a pattern without files. If it matched a file before, all its members would go: see [`crate::Config::load_to_replace`].
fn unmatched(item: &Item<'_>, pattern: &Path) {
    let message = format!("no file matches {}", pattern.display());
    item.warning(message, "create a file, or remove the key");
    item.source.unmatched(UnmatchedPattern {
        pattern: pattern.to_owned(),
        error: item.source.finding(
            Severity::Error,
            item.value.span(),
            &item.key,
            format!(
                "no file matches {} any more, so all its members would go",
                pattern.display()
            ),
            "put the files back, or remove the pattern if these members are to go",
        ),
    });
}
