//! The values of peers and attribute sets, column by column.

use std::fmt::Display;
use std::io::Write as _;

use rutter_events::{AttrColumns, Peer};

use crate::fast_format::push_number;

/// Writes a string and returns `true`, or returns `false` if it is missing.
pub(crate) type Write<T> = fn(&T, &mut Vec<u8>) -> bool;

/// The kinds of rows.
pub(crate) const KINDS: [&str; 10] = [
    "announce",
    "withdraw",
    "peer-up",
    "peer-down",
    "end-of-rib",
    "gap",
    "start",
    "stop",
    "clock-step",
    "state",
];

/// The writer of a column of peers.
pub(crate) fn peer_column(column: &str) -> Option<Write<Peer>> {
    Some(match column {
        "router" => |peer, out| push(out, Some(&peer.router)),
        "peer_name" => |peer, out| push(out, Some(&peer.name)),
        "peer_address" => |peer, out| write_some(out, Some(peer.address)),
        "view" => |peer, out| push(out, Some(peer.view.name())),
        _ => return None,
    })
}

/// The values of an attribute set in a column.
#[derive(Clone, Copy)]
pub(crate) enum AttrColumn {
    /// A string.
    Text(Write<AttrColumns>),
    /// A number.
    Number(fn(&AttrColumns) -> Option<u32>),
}

/// The values of attribute sets in this column, if it has any.
pub(crate) fn attr_column(column: &str) -> Option<AttrColumn> {
    text_column(column)
        .map(AttrColumn::Text)
        .or_else(|| number_column(column).map(AttrColumn::Number))
}

fn text_column(column: &str) -> Option<Write<AttrColumns>> {
    Some(match column {
        "origin" => |set, out| push(out, set.origin_name()),
        "as_path" => |set, out| push(out, set.as_path.as_deref()),
        "next_hop" => |set, out| write_some(out, set.next_hop),
        "communities" => |set, out| {
            let numbers = |community: &rutter_net::Community| {
                [community.high(), community.low()].map(u32::from)
            };
            numbered(out, set.communities.iter().map(numbers))
        },
        "extended_communities" => |set, out| spaced(out, &set.extended_communities),
        "large_communities" => |set, out| {
            let numbers = |community: &rutter_net::LargeCommunity| {
                [community.global, community.local1, community.local2]
            };
            numbered(out, set.large_communities.iter().map(numbers))
        },
        _ => return None,
    })
}

/// The reader of a numeric column of attribute sets.
fn number_column(column: &str) -> Option<fn(&AttrColumns) -> Option<u32>> {
    Some(match column {
        "origin_as" => |set| set.origin_as.map(|asn| asn.0),
        "med" => |set| set.med,
        "local_pref" => |set| set.local_pref,
        _ => return None,
    })
}

fn push(out: &mut Vec<u8>, text: Option<&str>) -> bool {
    out.extend_from_slice(text.unwrap_or_default().as_bytes());
    text.is_some()
}

fn write_some(out: &mut Vec<u8>, value: Option<impl Display>) -> bool {
    value.is_some_and(|value| write!(out, "{value}").is_ok())
}

/// Writes a list of numbers with colons between them; nothing if the list is empty.
fn numbered<const N: usize>(out: &mut Vec<u8>, values: impl Iterator<Item = [u32; N]>) -> bool {
    for value in values {
        if !out.is_empty() {
            out.push(b' ');
        }
        for (at, number) in value.into_iter().enumerate() {
            if at > 0 {
                out.push(b':');
            }
            push_number(out, number);
        }
    }
    !out.is_empty()
}

/// Writes a list as text; nothing if it is empty.
fn spaced(out: &mut Vec<u8>, values: &[impl Display]) -> bool {
    for value in values {
        if !out.is_empty() {
            out.push(b' ');
        }
        // Writing to a vector cannot fail.
        let _ = write!(out, "{value}");
    }
    !out.is_empty()
}
