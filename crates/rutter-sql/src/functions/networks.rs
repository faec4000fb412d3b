//! Casts to `inet` and `cidr`: texts in the form that PostgreSQL gives them, so that what is equal there is equal here.

use std::net::IpAddr;

use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, ScalarUDF};
use rutter_net::Prefix;

use super::prefixes::KEY;
use super::scalar::{Body, function};
use crate::error::{INVALID, unreadable};

/// `x::inet`: without its length where that is the full one.
pub const INET: &str = "network_inet";
/// `x::cidr`: with its length, and no bit set behind it.
pub const CIDR: &str = "network_cidr";
/// `x::inet::text`: with its length.
pub const TEXT: &str = "network_text";

/// The functions of this file.
pub fn functions() -> Vec<ScalarUDF> {
    vec![
        function(INET, Body::Checked(inet)),
        function(CIDR, Body::Checked(cidr)),
        function(TEXT, Body::Checked(text)),
    ]
}

/// What one of these functions gives for a text, if it is of the type.
pub fn network_text(function: &str, of: &str) -> Option<String> {
    match function {
        INET => inet(of).ok(),
        CIDR => cidr(of).ok(),
        _ => text(of).ok(),
    }
}

/// The key of an address or a prefix is that of its text: nothing is written only to be read again.
///
/// # Errors
/// The call, where it is another.
pub fn keyed(mut of: ScalarFunction) -> std::result::Result<Expr, ScalarFunction> {
    match of.args.as_mut_slice() {
        [Expr::ScalarFunction(inner)]
            if of.func.name() == KEY && [INET, CIDR].contains(&inner.func.name()) =>
        {
            of.args = std::mem::take(&mut inner.args);
            Ok(Expr::ScalarFunction(of))
        }
        _ => Err(of),
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
    match Prefix::from_addr(address, len).is_some_and(|prefix| prefix.addr() == address) {
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
    let (address, len) = match text.split_once('/') {
        Some((address, len)) => (address, Some(len)),
        None => (text, None),
    };
    let parts = address.parse().ok().and_then(|address: IpAddr| {
        let most = full(address);
        let len = match len {
            Some(len) if len.starts_with('+') => None,
            Some(len) => len.parse().ok().filter(|len| *len <= most),
            None => Some(most),
        };
        Some((address, len?))
    });
    match parts {
        Some(parts) => Ok(parts),
        None => wrong(format!("{INVALID} {kind}: \"{text}\"")),
    }
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
    fn what_is_equal_has_one_text() {
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
