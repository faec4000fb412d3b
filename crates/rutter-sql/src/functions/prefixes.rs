//! Prefixes against prefixes and addresses.

use std::net::IpAddr;

use datafusion::logical_expr::ScalarUDF;
use rutter_net::Family;

use super::scalar::{Body, function};
use crate::tables::prefix_of;

/// `a >>= b`: `a` covers `b` or is it.
pub const CONTAINS_OR_EQUAL: &str = "prefix_contains_or_equal";
/// `a <<= b`: `a` is inside `b` or is it.
pub const WITHIN_OR_EQUAL: &str = "prefix_within_or_equal";
/// `a >> b`.
pub const CONTAINS: &str = "prefix_contains";
/// `a << b`.
pub const WITHIN: &str = "prefix_within";
/// `a && b`: one covers the other.
pub const OVERLAPS: &str = "prefix_overlaps";

/// Orders prefixes by their numbers.
pub const KEY: &str = "prefix_key";

/// The functions of this file.
pub fn functions() -> Vec<ScalarUDF> {
    vec![
        function(CONTAINS_OR_EQUAL, Body::Prefixes(|a, b| a.covers(b))),
        function(WITHIN_OR_EQUAL, Body::Prefixes(|a, b| b.covers(a))),
        function(CONTAINS, Body::Prefixes(|a, b| a != b && a.covers(b))),
        function(WITHIN, Body::Prefixes(|a, b| a != b && b.covers(a))),
        function(OVERLAPS, Body::Prefixes(|a, b| a.covers(b) || b.covers(a))),
        function("family", Body::Number(family)),
        function("host", Body::Text(host)),
        function(
            "masklen",
            Body::Number(|text| prefix_of(text).map(|p| p.len().into())),
        ),
        function(
            "network",
            Body::Text(|text| prefix_of(text).map(|p| p.addr().to_string())),
        ),
        function(KEY, Body::Octets(key)),
    ]
}

/// Octets in the order that `inet` has: IPv4 first, then by address, then the shorter before the longer.
fn key(text: &str) -> Option<Vec<u8>> {
    let prefix = prefix_of(text)?;
    let mut key = Vec::with_capacity(18);
    match prefix.addr() {
        IpAddr::V4(address) => {
            key.push(4);
            key.extend(address.octets());
        }
        IpAddr::V6(address) => {
            key.push(6);
            key.extend(address.octets());
        }
    }
    key.push(prefix.len());
    Some(key)
}

/// The address without the length, as it is written.
fn host(text: &str) -> Option<String> {
    prefix_of(text)?;
    Some(text.split('/').next()?.trim().to_owned())
}

fn family(text: &str) -> Option<i64> {
    Some(match prefix_of(text)?.family() {
        Family::Ipv4Unicast => 4,
        Family::Ipv6Unicast => 6,
    })
}
