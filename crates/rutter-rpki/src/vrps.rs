//! Validated ROA payloads from the JSON output of validators, and origin validation (RFC 6811).

use std::fmt;
use std::path::Path;

use rutter_lpm::{Net, PrefixMap, Profile};
use rutter_net::{Asn, Ipv4Prefix, Ipv6Prefix, Prefix};
use serde::{Deserialize, Deserializer, de::Error as _};

/// The validation state of a route origin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rov {
    /// A VRP matches the route.
    Valid,
    /// VRPs cover the prefix, but none matches the route.
    Invalid,
    /// No VRP covers the prefix.
    NotFound,
}

impl Rov {
    /// Returns `valid`, `invalid` or `not-found`.
    pub fn name(self) -> &'static str {
        match self {
            Rov::Valid => "valid",
            Rov::Invalid => "invalid",
            Rov::NotFound => "not-found",
        }
    }
}

impl fmt::Display for Rov {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Maximum length and origin AS.
type Allowed = Vec<(u8, u32)>;

/// A set of VRPs.
#[derive(Debug)]
pub struct Vrps {
    ipv4: PrefixMap<Ipv4Prefix, Allowed>,
    ipv6: PrefixMap<Ipv6Prefix, Allowed>,
    len: usize,
}

/// The common format of Routinator, rpki-client, FORT, OctoRPKI and rtrtr.
#[derive(Deserialize)]
struct Document {
    roas: Vec<Vrp>,
}

/// A validated ROA payload: the AS may announce the prefix and its subnets up to a length (RFC 6811 §2).
#[derive(Deserialize, Clone, Copy, Debug)]
pub struct Vrp {
    /// The prefix.
    #[serde(deserialize_with = "prefix")]
    pub prefix: Prefix,
    /// The longest prefix length that the AS may announce.
    #[serde(rename = "maxLength")]
    pub max_len: u8,
    /// The origin AS.
    #[serde(deserialize_with = "asn")]
    pub asn: u32,
}
impl fmt::Display for Vrp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{} AS{}", self.prefix, self.max_len, self.asn)
    }
}

fn prefix<'de, D: Deserializer<'de>>(input: D) -> Result<Prefix, D::Error> {
    let text = <std::borrow::Cow<'de, str>>::deserialize(input)?;
    text.parse().map_err(D::Error::custom)
}

/// Parses a number or `AS64500`.
fn asn<'de, D: Deserializer<'de>>(input: D) -> Result<u32, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Number(u32),
        Text(String),
    }
    match Form::deserialize(input)? {
        Form::Number(number) => Ok(number),
        Form::Text(text) => {
            let parsed: Result<Asn, _> = text.parse();
            parsed.map(|asn| asn.0).map_err(D::Error::custom)
        }
    }
}

impl Vrps {
    /// Reads a JSON file. The error names the file and the expected format.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read(path);
        let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
        Self::parse(&text).map_err(|error| {
            format!(
                "{}: {error}\nVRPs are read as JSON, as `routinator vrps --format json` and `rpki-client -j` write them",
                path.display()
            )
        })
    }

    /// Parses a JSON document.
    pub fn parse(text: &[u8]) -> Result<Self, serde_json::Error> {
        let document: Document = serde_json::from_slice(text)?;
        let mut vrps = Vrps {
            ipv4: PrefixMap::new(Profile::Compact),
            ipv6: PrefixMap::new(Profile::Compact),
            len: 0,
        };
        document.roas.iter().for_each(|vrp| vrps.add(vrp));
        Ok(vrps)
    }

    /// Returns the number of VRPs.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn add(&mut self, vrp: &Vrp) {
        let entry = (vrp.max_len, vrp.asn);
        self.len += 1;
        match vrp.prefix {
            Prefix::V4(prefix) => match self.ipv4.get_mut(prefix) {
                Some(allowed) => allowed.push(entry),
                None => drop(self.ipv4.insert(prefix, vec![entry])),
            },
            Prefix::V6(prefix) => match self.ipv6.get_mut(prefix) {
                Some(allowed) => allowed.push(entry),
                None => drop(self.ipv6.insert(prefix, vec![entry])),
            },
        }
    }

    /// The VRPs that cover a prefix.
    pub fn covering(&self, prefix: Prefix) -> impl Iterator<Item = Vrp> {
        let mut all = Vec::new();
        match prefix {
            Prefix::V4(p) => {
                for (n, a) in self.ipv4.covering(p) {
                    all.extend(a.iter().map(|(max_len, asn)| Vrp {
                        prefix: Prefix::V4(n),
                        max_len: *max_len,
                        asn: *asn,
                    }));
                }
            }
            Prefix::V6(p) => {
                for (n, a) in self.ipv6.covering(p) {
                    all.extend(a.iter().map(|(max_len, asn)| Vrp {
                        prefix: Prefix::V6(n),
                        max_len: *max_len,
                        asn: *asn,
                    }));
                }
            }
        }
        all.into_iter()
    }

    /// The prefixes whose VRPs differ between two sets. Only routes that one of them covers can have another state.
    pub fn changed_prefixes(old: &Vrps, new: &Vrps) -> Vec<Prefix> {
        let mut out = Vec::new();
        changed(&old.ipv4, &new.ipv4, |prefix| out.push(Prefix::V4(prefix)));
        changed(&old.ipv6, &new.ipv6, |prefix| out.push(Prefix::V6(prefix)));
        out
    }

    /// Validates a route origin (RFC 6811 §2). A route without an origin (an empty path, or one that ends in a set) is never
    /// valid.
    pub fn validate(&self, prefix: Prefix, origin: Option<u32>) -> Rov {
        match prefix {
            Prefix::V4(p) => {
                validation_state(self.ipv4.covering(p).map(|(_, a)| a), p.len(), origin)
            }
            Prefix::V6(p) => {
                validation_state(self.ipv6.covering(p).map(|(_, a)| a), p.len(), origin)
            }
        }
    }
}

/// Equal sets validate every route the same; the order does not matter.
impl PartialEq for Vrps {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && same(&self.ipv4, &other.ipv4) && same(&self.ipv6, &other.ipv6)
    }
}

fn changed<N: Net>(
    old: &PrefixMap<N, Allowed>,
    new: &PrefixMap<N, Allowed>,
    mut note: impl FnMut(N),
) {
    let differs = |(prefix, allowed): &(N, &Allowed)| new.get(*prefix) != Some(allowed);
    old.iter()
        .filter(differs)
        .for_each(|(prefix, _)| note(prefix));
    let is_new = |(prefix, _): &(N, &Allowed)| old.get(*prefix).is_none();
    new.iter()
        .filter(is_new)
        .for_each(|(prefix, _)| note(prefix));
}

fn same<N: Net>(one: &PrefixMap<N, Allowed>, other: &PrefixMap<N, Allowed>) -> bool {
    let sorted = |allowed: &Allowed| {
        let mut allowed = allowed.clone();
        allowed.sort_unstable();
        allowed
    };
    let has_same = |(prefix, allowed): (N, &Allowed)| {
        let found = other.get(prefix);
        found.is_some_and(|found| found == allowed || sorted(found) == sorted(allowed))
    };
    one.len() == other.len() && one.iter().all(has_same)
}

fn validation_state<'a>(
    covering: impl Iterator<Item = &'a Allowed>,
    len: u8,
    origin: Option<u32>,
) -> Rov {
    let mut state = Rov::NotFound;
    for (max_len, asn) in covering.flatten() {
        // AS 0 states that no AS may announce the prefix (RFC 6483 §4).
        if *max_len >= len && Some(*asn) == origin && *asn != 0 {
            return Rov::Valid;
        }
        state = Rov::Invalid;
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_validated_by_covering_vrps() {
        let vrps = Vrps::parse(
            br#"{"metadata":{"n":1},"roas":[
                {"asn":"AS64500","prefix":"10.0.0.0/8","maxLength":16,"ta":"x"},
                {"asn":64501,"prefix":"10.1.0.0/16","maxLength":24},
                {"asn":0,"prefix":"2001:db8::/32","maxLength":128}]}"#,
        )
        .unwrap();
        let rov = |prefix: &str, origin| vrps.validate(prefix.parse().unwrap(), origin);
        assert_eq!(vrps.len(), 3);
        assert_eq!(rov("10.1.0.0/16", Some(64_500)), Rov::Valid);
        assert_eq!(rov("10.1.0.0/16", Some(64_501)), Rov::Valid);
        assert_eq!(rov("10.1.1.0/24", Some(64_500)), Rov::Invalid);
        assert_eq!(rov("10.1.1.0/24", None), Rov::Invalid);
        assert_eq!(rov("0.0.0.0/0", Some(64_500)), Rov::NotFound);
        assert_eq!(rov("2001:db8::/32", Some(0)), Rov::Invalid);
        assert!(Vrps::parse(br#"{"roas":[{"asn":"x"}]}"#).is_err());
    }

    #[test]
    fn vrps_are_compared_without_their_order() {
        let read = |vrps: &[(u32, &str, u8)]| {
            let vrp = |(asn, prefix, max_len): &(u32, &str, u8)| {
                format!(r#"{{"asn":{asn},"prefix":"{prefix}","maxLength":{max_len}}}"#)
            };
            let all: Vec<_> = vrps.iter().map(vrp).collect();
            Vrps::parse(format!(r#"{{"roas":[{}]}}"#, all.join(",")).as_bytes()).unwrap()
        };
        let one = [(1, "10.0.0.0/8", 8), (2, "10.0.0.0/8", 9), (3, "::/8", 8)];
        let turned = [one[2], one[1], one[0]];
        assert_eq!(read(&one), read(&turned));
        for index in 0..3 {
            let mut other = one;
            other[index].0 = 7;
            assert_ne!(read(&one), read(&other));
            let mut other = one;
            other[index].2 += 1;
            assert_ne!(read(&one), read(&other));
        }
        assert_ne!(read(&one), read(&one[..2]));
        let mut elsewhere = one;
        elsewhere[2].1 = "800::/8";
        assert_ne!(read(&one), read(&elsewhere));
    }
}
