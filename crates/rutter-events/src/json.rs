//! A row as a JSON object.

use std::net::IpAddr;

use serde::Serialize;

use crate::{AttrColumns, Row};

/// A row with the names of [`crate::COLUMNS`], without absent values. `time` is in microseconds since 1970.
#[derive(Serialize)]
pub struct JsonRow<'a> {
    run: u64,
    seq: u64,
    time: u64,
    collector: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    router: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer_address: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer_asn: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    view: Option<&'static str>,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    prefix: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_id: Option<u32>,
    #[serde(flatten)]
    attributes: Option<JsonAttributes<'a>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    detail: &'a str,
}

/// The attributes of a row or message in JSON, without absent values.
#[derive(Serialize)]
pub struct JsonAttributes<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    as_path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin_as: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_hop: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    med: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    local_pref: Option<u32>,
    communities: Vec<String>,
    extended_communities: Vec<String>,
    large_communities: Vec<String>,
}

impl<'a> From<&Row<'a>> for JsonRow<'a> {
    fn from(row: &Row<'a>) -> Self {
        Self {
            run: row.run,
            seq: row.seq,
            time: row.time_us,
            collector: row.collector,
            router: row.peer.map_or("", |peer| &peer.router),
            peer_name: row.peer.map(|peer| &*peer.name),
            peer_address: row.peer.map(|peer| peer.address),
            peer_asn: row.peer.map(|peer| peer.asn.0),
            view: row.peer.map(|peer| peer.view.name()),
            kind: row.kind.name(),
            prefix: row.prefix.map(|prefix| prefix.to_string()),
            path_id: row.prefix.map(|_| row.path_id),
            attributes: row.attrs.map(|attrs| JsonAttributes::from(&**attrs)),
            detail: row.detail,
        }
    }
}

impl<'a> From<&'a AttrColumns> for JsonAttributes<'a> {
    fn from(attrs: &'a AttrColumns) -> Self {
        Self {
            origin: attrs.origin_name(),
            as_path: attrs.as_path.as_deref(),
            origin_as: attrs.origin_as.map(|asn| asn.0),
            next_hop: attrs.next_hop,
            med: attrs.med,
            local_pref: attrs.local_pref,
            communities: strings(&attrs.communities),
            extended_communities: strings(&attrs.extended_communities),
            large_communities: strings(&attrs.large_communities),
        }
    }
}

fn strings(values: &[impl ToString]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}
