//! Casts to `inet` and `cidr`: strings in PostgreSQL's notation, so that equal addresses are equal strings.

use std::net::IpAddr;

use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;

use super::text_function::{Body, function};
use crate::error::{INVALID, unreadable};

/// `x::inet`: without a full length.
pub const INET: &str = "network_inet";
/// `x::cidr`: with its length, without bits behind it.
pub const CIDR: &str = "network_cidr";
/// `x::inet::text`: with its length.
pub const TEXT: &str = "network_text";

/// Bytes in the order of `inet`: IPv4 first, then by address, then the shorter prefix first.
pub const KEY: &str = "prefix_key";

/// The functions of this file.
pub fn functions() -> Vec<ScalarUDF> {
    vec![
        function(INET, Body::Checked(inet)),
        function(CIDR, Body::Checked(cidr)),
        function(TEXT, Body::Checked(text)),
        function(KEY, Body::Octets(key)),
    ]
}

/// Computes one of these functions; `None`: the string is invalid.
pub fn network_text(function: &str, of: &str) -> Option<String> {
    match function {
        INET => inet(of).ok(),
        CIDR => cidr(of).ok(),
        _ => text(of).ok(),
    }
}

fn inet(text: &str) -> Result<String> {
    let (address, len) = read(text, "inet")?;
    Ok(match len == full(address) {
        true => address.to_string(),
        false => format!("{address}/{len}"),
    })
}

fn cidr(text: &str) -> Result<String> {
    let (address, len) = read(text, "cidr")?;
    match masked(address, len) == address {
        true => Ok(format!("{address}/{len}")),
        false => wrong(format!(
            "invalid cidr value: \"{text}\" has bits set to the right of its mask"
        )),
    }
}

fn text(text: &str) -> Result<String> {
    let (address, len) = read(text, "inet")?;
    Ok(format!("{address}/{len}"))
}

fn read(text: &str, kind: &str) -> Result<(IpAddr, u8)> {
    match parse(text) {
        Some(parts) => Ok(parts),
        None => wrong(format!("{INVALID} {kind}: \"{text}\"")),
    }
}

/// Parses an address and its length. Without one, the length is full.
fn parse(text: &str) -> Option<(IpAddr, u8)> {
    let (address, len) = match text.split_once('/') {
        Some((address, len)) => (address, Some(len)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let most = full(address);
    let len = match len {
        Some(len) if len.starts_with('+') => None,
        Some(len) => len.parse().ok().filter(|len| *len <= most),
        None => Some(most),
    };
    Some((address, len?))
}

/// An address with all bits behind a length set to zero.
fn masked(address: IpAddr, len: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0);
            IpAddr::V4((u32::from(address) & mask).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0);
            IpAddr::V6((u128::from(address) & mask).into())
        }
    }
}

fn key(text: &str) -> Option<Vec<u8>> {
    let (address, len) = parse(text)?;
    let mut key = Vec::with_capacity(18);
    match masked(address, len) {
        IpAddr::V4(address) => {
            key.push(4);
            key.extend(address.octets());
        }
        IpAddr::V6(address) => {
            key.push(6);
            key.extend(address.octets());
        }
    }
    key.push(len);
    Some(key)
}

fn full(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn wrong<T>(why: String) -> Result<T> {
    Err(unreadable(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_addresses_have_one_string() {
        for (given, expected) in [
            ("10.1.2.3", ["10.1.2.3", "10.1.2.3/32", "10.1.2.3/32"]),
            ("10.1.2.3/32", ["10.1.2.3", "10.1.2.3/32", "10.1.2.3/32"]),
            ("10.0.0.0/8", ["10.0.0.0/8", "10.0.0.0/8", "10.0.0.0/8"]),
            (
                "2001:DB8:0::1",
                ["2001:db8::1", "2001:db8::1/128", "2001:db8::1/128"],
            ),
        ] {
            let of = |one: fn(&str) -> Result<String>| one(given).unwrap();
            assert_eq!([of(inet), of(cidr), of(text)], expected, "{given}");
        }
        assert_eq!(inet("10.1.2.3/8").unwrap(), "10.1.2.3/8");
        assert!(cidr("10.1.2.3/8").is_err());
        for none in [
            "",
            "x",
            "10.1.2.3/33",
            "10.1.2.3/+8",
            "10.1.2.3/",
            "::1/129",
        ] {
            assert!(inet(none).is_err(), "{none}");
        }
    }
}
