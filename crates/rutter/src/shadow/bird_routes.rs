//! The output of `birdc show route export PROTOCOL all`: routes as BIRD advertises them, as text.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr};

use rutter_net::{Family, Prefix};
use rutter_wire::attr::{OPTIONAL, TRANSITIVE, code, write_attr};
use rutter_wire::mrt::RibEntry;

/// A route of the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct BirdRoute {
    pub(super) prefix: Prefix,
    /// The text has no path identifiers: the routes of a prefix are numbered from 1.
    path_id: u32,
    /// The attributes as an entry of a table dump has them.
    attributes: Vec<u8>,
}

/// The routes of a text, and the attributes that have no known form.
#[derive(Default, Debug)]
pub(super) struct BirdRoutes {
    pub(super) routes: Vec<BirdRoute>,
    /// The names of attributes that were left out.
    pub(super) unknown: BTreeSet<String>,
}

/// Returns whether bytes are such a text.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    bytes.starts_with(b"BIRD ") || bytes.starts_with(b"Table ")
}

impl BirdRoute {
    /// Writes the UPDATE that announces the route. `add_path`: with a path identifier.
    pub(super) fn write_update(&self, out: &mut Vec<u8>, add_path: bool) {
        out.clear();
        let entry = RibEntry {
            peer_index: 0,
            originated_s: 0,
            path_id: self.path_id,
            attributes: &self.attributes,
        };
        entry.write_update(out, self.prefix, add_path);
    }
}

impl BirdRoutes {
    /// Reads a text. The error names the line.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut found = BirdRoutes::default();
        let mut prefix = None;
        let mut paths: HashMap<Prefix, u32> = HashMap::new();
        for (number, line) in text.lines().enumerate() {
            let failed = |why: &str| format!("line {}: {why}: {}", number + 1, line.trim());
            if let Some(attribute) = line.strip_prefix('\t') {
                let read = found.attribute(attribute);
                read.map_err(failed)?;
                continue;
            }
            let first = line.split_whitespace().next().unwrap_or_default();
            if !line.starts_with(' ') {
                match first {
                    "" | "BIRD" | "Table" => continue,
                    _ => prefix = Some(first.parse().map_err(|_| failed("no prefix"))?),
                }
            }
            let prefix = prefix.ok_or_else(|| failed("a route without a prefix"))?;
            let path_id = paths.entry(prefix).or_default();
            *path_id += 1;
            found.routes.push(BirdRoute {
                prefix,
                path_id: *path_id,
                attributes: Vec::new(),
            });
        }
        Ok(found)
    }

    /// Returns whether a prefix of the family has several routes: the session has Add-Path.
    pub(super) fn has_paths(&self, family: Family) -> bool {
        let mut routes = self.routes.iter();
        routes.any(|route| route.path_id > 1 && route.prefix.family() == family)
    }

    /// Reads `BGP.med: 7` (BIRD 2) or `bgp_med: 7` (BIRD 3) into the last route. Other lines are not about BGP.
    fn attribute(&mut self, line: &str) -> Result<(), &'static str> {
        let Some((name, value)) = line.split_once(':') else {
            return Ok(());
        };
        let bgp = name
            .strip_prefix("BGP.")
            .or_else(|| name.strip_prefix("bgp_"));
        let (Some(bgp), Some(route)) = (bgp, self.routes.last_mut()) else {
            return Ok(());
        };
        let (prefix, out, value) = (route.prefix, &mut route.attributes, value.trim());
        match bgp {
            "next_hop" => next_hop(out, prefix, value),
            _ => match encode(bgp, value)? {
                Some(attribute) => attribute.write(out),
                None => {
                    self.unknown.insert(bgp.to_owned());
                    Some(())
                }
            },
        }
        .ok_or("unreadable value")
    }
}

/// An attribute: its flags, its type code and its value.
struct Encoded(u8, u8, Vec<u8>);

impl Encoded {
    fn write(self, out: &mut Vec<u8>) -> Option<()> {
        let Encoded(flags, code, value) = self;
        // No attribute is longer.
        u16::try_from(value.len()).ok()?;
        // An empty list is no attribute.
        if !value.is_empty() || code == code::AS_PATH || code == code::ATOMIC_AGGREGATE {
            write_attr(out, flags, code, &value);
        }
        Some(())
    }
}

/// Encodes a value; `None` for an attribute that this version does not know.
fn encode(name: &str, text: &str) -> Result<Option<Encoded>, &'static str> {
    let number = || text.parse::<u32>().ok().map(|n| n.to_be_bytes().to_vec());
    let (flags, code, value) = match name {
        "origin" => (TRANSITIVE, code::ORIGIN, origin(text)),
        "as_path" | "path" => (TRANSITIVE, code::AS_PATH, as_path(text)),
        "med" => (OPTIONAL, code::MULTI_EXIT_DISC, number()),
        "local_pref" => (TRANSITIVE, code::LOCAL_PREF, number()),
        "atomic_aggr" => (TRANSITIVE, code::ATOMIC_AGGREGATE, Some(Vec::new())),
        "aggregator" => (OPTIONAL | TRANSITIVE, code::AGGREGATOR, aggregator(text)),
        "community" => (
            OPTIONAL | TRANSITIVE,
            code::COMMUNITIES,
            tuples(text, community),
        ),
        "ext_community" => (
            OPTIONAL | TRANSITIVE,
            code::EXTENDED_COMMUNITIES,
            tuples(text, extended_community),
        ),
        "large_community" => (
            OPTIONAL | TRANSITIVE,
            code::LARGE_COMMUNITIES,
            tuples(text, large_community),
        ),
        "otc" => (OPTIONAL | TRANSITIVE, code::ONLY_TO_CUSTOMER, number()),
        _ => return Ok(None),
    };
    let value = value.ok_or("unreadable value")?;
    Ok(Some(Encoded(flags, code, value)))
}

/// Writes the next hop where a table dump has it: NEXT_HOP for IPv4, and for the rest the short form of MP_REACH_NLRI
/// (RFC 6396 §4.3.4).
fn next_hop(out: &mut Vec<u8>, prefix: Prefix, text: &str) -> Option<()> {
    let addresses = text.split_whitespace().map(str::parse::<IpAddr>);
    let addresses: Vec<IpAddr> = addresses.collect::<Result<_, _>>().ok()?;
    match (prefix, addresses.as_slice()) {
        (Prefix::V4(_), [IpAddr::V4(address)]) => {
            write_attr(out, TRANSITIVE, code::NEXT_HOP, &address.octets());
        }
        (_, [_] | [_, _]) => {
            let octets = |address: &IpAddr| match address {
                IpAddr::V4(address) => address.octets().to_vec(),
                IpAddr::V6(address) => address.octets().to_vec(),
            };
            let octets: Vec<u8> = addresses.iter().flat_map(octets).collect();
            let value = [&[octets.len() as u8], octets.as_slice()].concat();
            write_attr(out, OPTIONAL, code::MP_REACH_NLRI, &value);
        }
        _ => return None,
    }
    Some(())
}

fn origin(text: &str) -> Option<Vec<u8>> {
    let names = ["IGP", "EGP", "Incomplete"];
    let number = names
        .iter()
        .position(|name| name.eq_ignore_ascii_case(text))?;
    Some(vec![number as u8])
}

/// `3311 3312 {64496 64497}`: a sequence, and sets in braces.
fn as_path(text: &str) -> Option<Vec<u8>> {
    const SET: u8 = 1;
    const SEQUENCE: u8 = 2;
    let spaced = text.replace('{', " { ").replace('}', " } ");
    let mut segments: Vec<(u8, Vec<u32>)> = Vec::new();
    let mut kind = SEQUENCE;
    for word in spaced.split_whitespace() {
        match word {
            "{" => {
                kind = SET;
                segments.push((SET, Vec::new()));
            }
            "}" => kind = SEQUENCE,
            _ => {
                let asn = word.parse().ok()?;
                match segments
                    .last_mut()
                    .filter(|(last, all)| *last == kind && all.len() < 255)
                {
                    Some((_, ases)) => ases.push(asn),
                    None => segments.push((kind, vec![asn])),
                }
            }
        }
    }
    let octets = |(kind, ases): (u8, Vec<u32>)| {
        let ases = ases.iter().flat_map(|asn| asn.to_be_bytes());
        let count = ases.clone().count() / 4;
        [kind, count as u8]
            .into_iter()
            .chain(ases)
            .collect::<Vec<u8>>()
    };
    Some(segments.into_iter().flat_map(octets).collect())
}

/// `192.0.2.1 AS3311`.
fn aggregator(text: &str) -> Option<Vec<u8>> {
    let (address, asn) = text.split_once(" AS")?;
    let address: Ipv4Addr = address.parse().ok()?;
    let asn: u32 = asn.parse().ok()?;
    Some([asn.to_be_bytes(), address.octets()].concat())
}

/// `(64500,1) (64500,2)`: a list of values in parentheses.
fn tuples(text: &str, value: fn(&[&str]) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for tuple in text.split_terminator(')') {
        let (_, parts) = tuple.split_once('(')?;
        let parts: Vec<&str> = parts.split(',').map(str::trim).collect();
        out.extend(value(&parts)?);
    }
    Some(out)
}

fn community(parts: &[&str]) -> Option<Vec<u8>> {
    let [high, low] = parts else {
        return None;
    };
    let octets = |text: &str| text.parse::<u16>().ok().map(u16::to_be_bytes);
    Some([octets(high)?, octets(low)?].concat())
}

fn large_community(parts: &[&str]) -> Option<Vec<u8>> {
    let [global, one, two] = parts else {
        return None;
    };
    let octets = |text: &str| text.parse::<u32>().ok().map(u32::to_be_bytes);
    Some([octets(global)?, octets(one)?, octets(two)?].concat())
}

/// `(rt, 64500, 77)`, `(ro, 192.0.2.1, 5)` or `(generic, 0x43000000, 0x1)` (RFC 4360, RFC 5668).
fn extended_community(parts: &[&str]) -> Option<Vec<u8>> {
    let [kind, key, value] = parts else {
        return None;
    };
    let subtype = match *kind {
        "rt" => 2,
        "ro" => 3,
        "generic" => {
            let octets = |text: &str| {
                let number = u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()?;
                Some(number.to_be_bytes())
            };
            return Some([octets(key)?, octets(value)?].concat());
        }
        _ => return None,
    };
    let short = |text: &str| text.parse::<u16>().ok().map(u16::to_be_bytes);
    if let Ok(address) = key.parse::<Ipv4Addr>() {
        return Some([&[1, subtype], &address.octets()[..], &short(value)?].concat());
    }
    match key.parse::<u32>().ok()? {
        asn @ 0..=0xffff => {
            let value: u32 = value.parse().ok()?;
            let asn = (asn as u16).to_be_bytes();
            Some([&[0, subtype], &asn[..], &value.to_be_bytes()].concat())
        }
        asn => Some([&[2, subtype], &asn.to_be_bytes()[..], &short(value)?].concat()),
    }
}

#[cfg(test)]
mod tests {
    use rutter_wire::attr::Attributes;

    use super::*;

    const TEXT: &str = "BIRD 2.0.12 ready.
Table members:
45.3.0.0/24          unicast [AS3311 03:00:20.233] * (100) [AS3311i]
\tvia 192.0.2.11 on lan
\tType: BGP univ
\tBGP.origin: IGP
\tBGP.as_path: 3311 3311 {64496 64497}
\tBGP.next_hop: 192.0.2.11
\tBGP.med: 7
\tBGP.local_pref: 100
\tBGP.aggregator: 192.0.2.9 AS3311
\tBGP.community: (3311,9) (3311,10)
\tBGP.ext_community: (rt, 64500, 77) (generic, 0x43000000, 0x1) (ro, 192.0.2.1, 5)
\tBGP.large_community:\x20
                     unicast [AS3312 03:00:20.233] (100) [AS3312i]
\tBGP.origin: Incomplete
\tBGP.as_path: 3312
\tBGP.next_hop: 192.0.2.12
\tBGP.large_community: (64500, 1, 2)
\tBGP.0x63 [t]: ab 01
2001:db8:1::/48      unicast [AS3311_6 03:00:20.233] * (100) [AS3311i]
\tbgp_origin: EGP
\tbgp_path: 3311
\tbgp_next_hop: 2001:db8::1 fe80::1
\tbgp_otc: 64500
";

    fn attributes(route: &BirdRoute) -> Attributes<'_> {
        Attributes::as_reported(&route.attributes, true)
    }

    #[test]
    fn every_attribute_is_read() {
        let found = BirdRoutes::parse(TEXT).unwrap();
        let prefixes: Vec<String> = found
            .routes
            .iter()
            .map(|route| route.prefix.to_string())
            .collect();
        assert_eq!(prefixes, ["45.3.0.0/24", "45.3.0.0/24", "2001:db8:1::/48"]);
        assert!(found.unknown.iter().eq(["0x63 [t]"]));
        let first = attributes(&found.routes[0]);
        assert_eq!(
            first.as_path().unwrap().to_string(),
            "3311 3311 {64496,64497}"
        );
        assert_eq!(first.next_hop(), Some(Ipv4Addr::new(192, 0, 2, 11)));
        assert_eq!(first.multi_exit_disc(), Some(7));
        assert_eq!(
            first
                .communities()
                .map(|c| c.to_string())
                .collect::<Vec<_>>(),
            ["3311:9", "3311:10"]
        );
        assert_eq!(
            first.value(code::EXTENDED_COMMUNITIES).unwrap(),
            [
                0, 2, 0xfb, 0xf4, 0, 0, 0, 77, 0x43, 0, 0, 0, 0, 0, 0, 1, 1, 3, 192, 0, 2, 1, 0, 5
            ]
        );
        assert_eq!(first.value(code::LARGE_COMMUNITIES), None);
        let second = attributes(&found.routes[1]);
        assert_eq!(
            second
                .large_communities()
                .map(|c| c.to_string())
                .collect::<Vec<_>>(),
            ["64500:1:2"]
        );
        let third = attributes(&found.routes[2]);
        assert_eq!(third.only_to_customer().map(|asn| asn.0), Some(64500));
    }

    #[test]
    fn an_update_announces_each_route() {
        let found = BirdRoutes::parse(TEXT).unwrap();
        let mut body = Vec::new();
        let mut reader = rutter_mrt::UpdateReader::default();
        assert!(found.has_paths(Family::Ipv4Unicast) && !found.has_paths(Family::Ipv6Unicast));
        let form = rutter_mrt::UpdateForm {
            as4: true,
            add_path: true,
        };
        for (route, path_id) in found.routes.iter().zip([1, 2, 1]) {
            route.write_update(&mut body, true);
            let update = reader.read(&body, form);
            assert_eq!(update.outcome, rutter_mrt::RecordOutcome::READ);
            let all = [update.announced, update.mp_announced].concat();
            assert_eq!(all, [(route.prefix, path_id)]);
        }
    }

    #[test]
    fn an_error_names_its_line() {
        let error = |text: &str| BirdRoutes::parse(text).unwrap_err();
        assert_eq!(error("Table a:\nhello\n"), "line 2: no prefix: hello");
        let bad = "Table a:\n45.3.0.0/24 unicast\n\tBGP.med: x\n";
        assert_eq!(error(bad), "line 3: unreadable value: BGP.med: x");
        assert_eq!(
            error("   unicast\n"),
            "line 1: a route without a prefix: unicast"
        );
    }
}
