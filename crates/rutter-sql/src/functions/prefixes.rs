//! Functions of prefixes and addresses.

use datafusion::common::exec_err;
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use rutter_net::{Family, Prefix};
use rutter_pgfront::{Body, text_function as function};

use crate::tables::prefix_of;

/// `a >>= b`: `a` covers `b` or equals it.
pub const CONTAINS_OR_EQUAL: &str = "prefix_contains_or_equal";
/// `a <<= b`: `a` is inside `b` or equals it.
pub const WITHIN_OR_EQUAL: &str = "prefix_within_or_equal";
/// `a >> b`.
pub const CONTAINS: &str = "prefix_contains";
/// `a << b`.
pub const WITHIN: &str = "prefix_within";
/// `a && b`: one covers the other.
pub const OVERLAPS: &str = "prefix_overlaps";

/// The functions of this file.
pub fn functions() -> Vec<ScalarUDF> {
    vec![
        function(
            CONTAINS_OR_EQUAL,
            Body::CheckedTest(|a, b| prefixes(a, b, |a, b| a.covers(b))),
        ),
        function(
            WITHIN_OR_EQUAL,
            Body::CheckedTest(|a, b| prefixes(a, b, |a, b| b.covers(a))),
        ),
        function(
            CONTAINS,
            Body::CheckedTest(|a, b| prefixes(a, b, |a, b| a != b && a.covers(b))),
        ),
        function(
            WITHIN,
            Body::CheckedTest(|a, b| prefixes(a, b, |a, b| a != b && b.covers(a))),
        ),
        function(
            OVERLAPS,
            Body::CheckedTest(|a, b| prefixes(a, b, |a, b| a.covers(b) || b.covers(a))),
        ),
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
    ]
}

/// The address as written, without the length.
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

/// Compares two prefixes. A string that is no prefix is an error.
fn prefixes(a: &str, b: &str, of: fn(Prefix, Prefix) -> bool) -> Result<bool> {
    Ok(of(prefix(a)?, prefix(b)?))
}

fn prefix(text: &str) -> Result<Prefix> {
    match prefix_of(text) {
        Some(prefix) => Ok(prefix),
        None => exec_err!(
            "`{text}` is not a prefix and not an address: write 192.0.2.0/24 or 2001:db8::1"
        ),
    }
}
