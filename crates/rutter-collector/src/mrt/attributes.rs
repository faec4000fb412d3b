//! The part of a line that depends on the attributes.

use std::io::Write as _;
use std::net::IpAddr;

use rutter_wire::attr::{Attributes, Origin, Segment};

use super::number::{address, ipv4, number};

/// Writes the fields from `|AS_PATH` to the end of the line, as `bgpdump -m` does.
pub(super) fn text(out: &mut Vec<u8>, attributes: &Attributes<'_>, next_hop: Option<IpAddr>) {
    out.push(b'|');
    path(out, attributes);
    out.push(b'|');
    out.extend_from_slice(match attributes.origin() {
        Some(Origin::Igp) => b"IGP",
        Some(Origin::Egp) => b"EGP",
        Some(Origin::Incomplete) => b"INCOMPLETE",
        None => b"",
    });
    out.push(b'|');
    if let Some(next_hop) = next_hop {
        address(out, next_hop);
    }
    out.push(b'|');
    number(out, attributes.local_pref().unwrap_or(0));
    out.push(b'|');
    number(out, attributes.multi_exit_disc().unwrap_or(0));
    out.push(b'|');
    communities(out, attributes);
    out.extend_from_slice(match attributes.atomic_aggregate() {
        true => b"|AG|",
        false => b"|NAG|",
    });
    if let Some(aggregator) = attributes.aggregator() {
        number(out, aggregator.asn.0);
        out.push(b' ');
        ipv4(out, aggregator.router_id);
    }
    out.extend_from_slice(b"|\n");
}

fn path(out: &mut Vec<u8>, attributes: &Attributes<'_>) {
    let Some(path) = attributes.as_path() else {
        return;
    };
    // Sets and confederations are rare, and need brackets. So are malformed paths, which need a mark.
    let is_plain = |s: Segment<'_>| !s.kind.is_set() && !s.kind.is_confederation();
    if !path.segments().all(is_plain) || !path.is_readable() {
        let _ = write!(out, "{path}");
        return;
    }
    for (at, asn) in path.asns().enumerate() {
        if at > 0 {
            out.push(b' ');
        }
        number(out, asn.0);
    }
}

/// Writes standard, then large communities, in the order of bgpdump.
fn communities(out: &mut Vec<u8>, attributes: &Attributes<'_>) {
    let start = out.len();
    for community in attributes.communities() {
        if out.len() > start {
            out.push(b' ');
        }
        match community.0 {
            0xffff_ff01 => out.extend_from_slice(b"no-export"),
            0xffff_ff02 => out.extend_from_slice(b"no-advertise"),
            0xffff_ff03 => out.extend_from_slice(b"local-AS"),
            value => {
                number(out, value >> 16);
                out.push(b':');
                number(out, value & 0xffff);
            }
        }
    }
    for large in attributes.large_communities() {
        if out.len() > start {
            out.push(b' ');
        }
        let _ = write!(out, "{large}");
    }
}

/// Writes the fields from `,"origin"` to the end of the object. The names are the same as in every other schema.
pub(super) fn json(out: &mut Vec<u8>, attributes: &Attributes<'_>, next_hop: Option<IpAddr>) {
    if let Some(origin) = attributes.origin() {
        out.extend_from_slice(match origin {
            Origin::Igp => br#","origin":"igp""#,
            Origin::Egp => br#","origin":"egp""#,
            Origin::Incomplete => br#","origin":"incomplete""#,
        });
    }
    if attributes.as_path().is_some() {
        out.extend_from_slice(br#","as_path":""#);
        path(out, attributes);
        out.push(b'"');
    }
    let mut field = |name: &str, value: Option<u32>| {
        if let Some(value) = value {
            let _ = write!(out, ",\"{name}\":");
            number(out, value);
        }
    };
    let origin_as = attributes.as_path().and_then(|path| path.origin());
    field("origin_as", origin_as.map(|asn| asn.0));
    field("med", attributes.multi_exit_disc());
    field("local_pref", attributes.local_pref());
    if let Some(next_hop) = next_hop {
        out.extend_from_slice(br#","next_hop":""#);
        address(out, next_hop);
        out.push(b'"');
    }
    list(out, "communities", attributes.communities());
    list(
        out,
        "extended_communities",
        attributes.extended_communities(),
    );
    list(out, "large_communities", attributes.large_communities());
    out.extend_from_slice(b"}\n");
}

/// Writes a list. Its values contain no character that JSON escapes.
fn list(out: &mut Vec<u8>, name: &str, values: impl Iterator<Item: std::fmt::Display>) {
    let _ = write!(out, ",\"{name}\":[");
    for (at, value) in values.enumerate() {
        let comma = if at > 0 { "," } else { "" };
        let _ = write!(out, "{comma}\"{value}\"");
    }
    out.push(b']');
}
