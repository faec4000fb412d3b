//! Readers of values: durations, sizes, AS numbers, sockets, prefixes with lengths.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

use rutter_net::{Asn, Prefix};
use rutter_policy::{LengthRange, PrefixMatch};
use toml::de::DeValue;

use crate::list_file::entries;
use crate::toml_values::Item;

/// Reads a duration in seconds: `90` or `"90s"`, `"15m"`, `"4h"`, `"7d"`.
pub(crate) fn seconds(item: &Item<'_>, from: u64, to: u64) -> Option<u64> {
    let total = match item.value.get_ref() {
        DeValue::Integer(_) => return item.int(from..=to),
        _ => parse_seconds(item.str("90s")?),
    };
    match total {
        None => {
            let text = item.str("90s")?;
            item.error(
                format!("`{text}` is not a duration"),
                "write \"90s\", \"15m\", \"4h\" or \"7d\"",
            );
            None
        }
        Some(total) if (from..=to).contains(&total) => Some(total),
        Some(total) => {
            item.error(
                format!("{total} seconds are out of range"),
                format!("write {from} to {to} seconds"),
            );
            None
        }
    }
}

fn parse_seconds(text: &str) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(split);
    let factor = match unit.trim() {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// Reads a size in bytes: `4096` or `"512K"`, `"64M"`, `"4G"`.
pub(crate) fn octets(item: &Item<'_>, from: u64, to: u64) -> Option<u64> {
    let DeValue::String(text) = item.value.get_ref() else {
        return item.int(from..=to);
    };
    match parse_octets(text).filter(|octets| (from..=to).contains(octets)) {
        None => {
            item.error(
                format!("`{text}` is not a valid size here"),
                format!("write \"64M\" or \"4G\", from {from} to {to} bytes"),
            );
            None
        }
        octets => octets,
    }
}

fn parse_octets(text: &str) -> Option<u64> {
    let text = text.trim().trim_end_matches("iB").trim_end_matches('B');
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(split);
    let shift = match unit.trim() {
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Reads an AS number: `64500`, `"AS64500"` or `"1.10"`; 0 is refused.
pub(crate) fn asn(item: &Item<'_>) -> Option<Asn> {
    match item.value.get_ref() {
        DeValue::Integer(_) => item.int(1..=u64::from(u32::MAX)).map(|n| Asn(n as u32)),
        _ => item.parse("AS64500").filter(|asn: &Asn| {
            if asn.0 == 0 {
                item.error(
                    "AS 0 is reserved (RFC 7607)",
                    "write the AS number of a network",
                );
            }
            asn.0 != 0
        }),
    }
}

/// Reads a list of AS numbers.
pub(crate) fn asns(item: &Item<'_>) -> Option<Vec<Asn>> {
    Some(entries(item, asn))
}

/// Reads an address with an optional port: `"192.0.2.1"` or `"192.0.2.1:1179"`.
pub(crate) fn socket(item: &Item<'_>, port: u16) -> Option<SocketAddr> {
    let text = item.str("192.0.2.1")?;
    if let Ok(addr) = text.parse::<IpAddr>() {
        return Some(SocketAddr::new(addr, port));
    }
    match text.parse() {
        Ok(addr) => Some(addr),
        Err(_) => {
            item.error(
                format!("`{text}` is not an address with an optional port"),
                "write \"192.0.2.1\", \"192.0.2.1:179\" or \"[2001:db8::1]:179\"",
            );
            None
        }
    }
}

/// Reads a host with an optional port: `"192.0.2.1"`, `"irr.example:43"` or `"[2001:db8::1]:43"`. The result always has
/// a port.
pub(crate) fn host_port(item: &Item<'_>, default: u16) -> Option<String> {
    let text = item.name()?;
    let hint = || {
        format!(
            "write a name or address, with a port if it is not {default}: \"rtr.example:{default}\""
        )
    };
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(SocketAddr::new(address, default).to_string());
    }
    if let Ok(socket) = text.parse::<SocketAddr>() {
        return Some(socket.to_string());
    }
    let (host, port) = match text.split_once(':') {
        None => (text.as_str(), Some(default)),
        Some((host, port)) => (host, port.parse().ok().filter(|port| *port > 0)),
    };
    let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let is_host = !host.is_empty() && host.chars().all(letter);
    match port.filter(|_| is_host) {
        Some(port) => Some(format!("{host}:{port}")),
        None => {
            item.error(
                format!("`{text}` is not a host with an optional port"),
                hint(),
            );
            None
        }
    }
}

/// Reads a share: `"20%"`, or `false` for no limit.
pub(crate) fn percent(item: &Item<'_>) -> Option<Option<u8>> {
    if item.value.get_ref().as_bool() == Some(false) {
        return Some(None);
    }
    let share = share_in_percent(item, 1..=100, "write \"1%\" to \"100%\", or false");
    share.map(|share| Some(share as u8))
}

/// Reads a share in a range: `"20%"`.
pub(crate) fn share_in_percent(
    item: &Item<'_>,
    range: RangeInclusive<u32>,
    hint: &str,
) -> Option<u32> {
    let text = item.str("20%")?;
    let number = text
        .strip_suffix('%')
        .and_then(|number| number.trim().parse().ok());
    let share = number.filter(|number| range.contains(number));
    if share.is_none() {
        item.error(format!("`{text}` is not a share"), hint);
    }
    share
}

/// Reads a number of 32 bits that is not below `from`.
pub(crate) fn number(item: &Item<'_>, from: u32) -> Option<u32> {
    let range = u64::from(from)..=u64::from(u32::MAX);
    item.int(range).map(|number| number as u32)
}

/// Reads a range of prefix lengths: `"8-24"` or `"24"`.
pub(crate) fn lengths(item: &Item<'_>, most: u8) -> Option<LengthRange> {
    let text = item.str("8-24")?;
    let (min, max) = text.split_once('-').unwrap_or((text, text));
    match (min.trim().parse(), max.trim().parse()) {
        (Ok(min), Ok(max)) if min <= max && max <= most => Some(LengthRange { min, max }),
        _ => {
            item.error(
                format!("`{text}` is not a range of prefix lengths"),
                format!("write shortest-longest, from 0 to {most}"),
            );
            None
        }
    }
}

/// Reads a prefix with its subnets: `"192.0.2.0/24"` (all), `"192.0.2.0/24 exact"` or `"192.0.2.0/24 25-28"`.
pub(crate) fn prefix_match(item: &Item<'_>) -> Option<PrefixMatch> {
    match parse_prefix_match(item.str("192.0.2.0/24")?) {
        Ok(prefix) => Some(prefix),
        Err(why) => {
            item.error(why, "write \"192.0.2.0/24\" (with all subnets), \"192.0.2.0/24 exact\" or \"192.0.2.0/24 25-28\"");
            None
        }
    }
}

/// Parses the same from a string.
pub(crate) fn parse_prefix_match(text: &str) -> Result<PrefixMatch, String> {
    let (prefix, lengths) = text.split_once(' ').unwrap_or((text, ""));
    let prefix: Prefix = prefix.parse().map_err(|why| format!("{why}"))?;
    let whole = PrefixMatch::or_longer(prefix);
    let lengths = lengths.trim();
    match (lengths, lengths.split_once('-')) {
        ("", _) => Ok(whole),
        ("exact", _) => Ok(PrefixMatch::exact(prefix)),
        (_, Some((min, max))) => match (min.parse::<u8>(), max.parse::<u8>()) {
            (Ok(min_len), Ok(max_len))
                if prefix.len() <= min_len && min_len <= max_len && max_len <= whole.max_len =>
            {
                Ok(PrefixMatch {
                    prefix,
                    min_len,
                    max_len,
                })
            }
            _ => Err(format!(
                "`{lengths}` is not a range of lengths inside {prefix}"
            )),
        },
        _ => Err(format!("`{lengths}` is not known after a prefix")),
    }
}

/// Reads a list of prefixes with their subnets.
pub(crate) fn prefix_matches(item: &Item<'_>) -> Option<Vec<PrefixMatch>> {
    Some(entries(item, prefix_match))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(parse_seconds("90s"), Some(90));
        assert_eq!(parse_seconds("15m"), Some(900));
        assert_eq!(parse_seconds("4 h"), Some(14_400));
        assert_eq!(parse_seconds("7d"), Some(604_800));
        assert_eq!(parse_octets("64M"), Some(64 << 20));
        assert_eq!(parse_octets("4 GiB"), Some(4 << 30));
        assert_eq!(parse_octets("4"), None);
        for wrong in ["", "90", "s", "-5s", "1.5h", "5w", "99999999999999999999d"] {
            assert_eq!(parse_seconds(wrong), None, "{wrong}");
        }
    }
}
