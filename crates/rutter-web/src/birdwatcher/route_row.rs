//! A route as birdwatcher shows it.

use std::fmt::Display;
use std::io;
use std::net::IpAddr;

use rutter_api::{AttributesRow, RouteSource};
use rutter_net::Prefix;
use serde::Serialize;

use super::sessions::SessionNames;

/// A route of an answer, before it has BIRD's names.
pub(super) struct ShownRoute<'a> {
    pub(super) prefix: Prefix,
    pub(super) peer: &'a RouteSource,
    pub(super) best: bool,
    pub(super) attributes: &'a AttributesRow,
    /// A large community for the reason against the route.
    pub(super) reason: Option<[u32; 3]>,
}

#[derive(Serialize)]
struct BirdRoute<'a> {
    network: String,
    gateway: String,
    interface: &'a str,
    from_protocol: String,
    /// The table keeps no time per route. No route is older than its session.
    age: String,
    learnt_from: IpAddr,
    primary: bool,
    metric: u32,
    #[serde(rename = "type")]
    kind: [&'a str; 2],
    bgp: BirdAttributes<'a>,
}

#[derive(Serialize)]
struct BirdAttributes<'a> {
    origin: &'a str,
    as_path: Vec<&'a str>,
    next_hop: String,
    local_pref: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    med: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    otc: Option<String>,
    communities: Vec<Vec<u32>>,
    large_communities: Vec<Vec<u32>>,
    ext_communities: Vec<Vec<&'a str>>,
}

/// The preference of BGP routes in BIRD, which birdwatcher calls the metric.
const PREFERENCE: u32 = 100;

/// Writes a route as JSON.
pub(super) fn write(
    route: &ShownRoute<'_>,
    names: &SessionNames,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    let session = names.get(route.peer);
    let row = BirdRoute {
        network: route.prefix.to_string(),
        gateway: optional(route.attributes.next_hop).unwrap_or_default(),
        interface: "",
        from_protocol: session.protocol,
        age: session.since,
        learnt_from: route.peer.address,
        primary: route.best,
        metric: PREFERENCE,
        kind: ["BGP", "univ"],
        bgp: bgp(route),
    };
    Ok(serde_json::to_writer(out, &row)?)
}

fn bgp<'a>(route: &ShownRoute<'a>) -> BirdAttributes<'a> {
    let attributes = route.attributes;
    let mut large = numbers(&attributes.large_communities);
    large.extend(route.reason.map(Vec::from));
    BirdAttributes {
        origin: match attributes.origin.as_deref() {
            Some("igp") => "IGP",
            Some("egp") => "EGP",
            _ => "Incomplete",
        },
        as_path: as_path(attributes.as_path.as_deref().unwrap_or_default()),
        next_hop: optional(attributes.next_hop).unwrap_or_default(),
        local_pref: optional(attributes.local_pref).unwrap_or_else(|| "100".to_owned()),
        med: optional(attributes.multi_exit_disc),
        otc: optional(attributes.only_to_customer),
        communities: numbers(&attributes.communities),
        large_communities: large,
        ext_communities: extended(&attributes.extended_communities),
    }
}

fn optional(value: Option<impl Display>) -> Option<String> {
    value.map(|value| value.to_string())
}

/// The AS numbers of a path. Looking glasses read numbers alone, so those of a set stand without braces.
fn as_path(text: &str) -> Vec<&str> {
    let parts = text.split(|c: char| !c.is_ascii_digit());
    parts.filter(|part| !part.is_empty()).collect()
}

fn numbers(communities: &[String]) -> Vec<Vec<u32>> {
    let parts = |text: &String| text.split(':').map(str::parse).collect::<Result<_, _>>();
    communities
        .iter()
        .filter_map(|one| parts(one).ok())
        .collect()
}

/// Extended communities in three parts; those of unknown types have their value in hexadecimal digits.
fn extended(communities: &[String]) -> Vec<Vec<&str>> {
    let parts = |text: &'_ String| -> Vec<_> { text.split(':').map(str::len).collect() };
    let split = |text| match parts(text).len() {
        3 => text.split(':').collect(),
        _ => vec![
            "generic",
            text.get(..10).unwrap_or(text),
            text.get(10..).unwrap_or(""),
        ],
    };
    communities.iter().map(split).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_have_the_forms_that_looking_glasses_read() {
        assert_eq!(
            as_path("64500 {64501,64502} 1"),
            ["64500", "64501", "64502", "1"]
        );
        assert_eq!(
            numbers(&["64500:1".into(), "1:2:3".into()]),
            [vec![64_500, 1], vec![1, 2, 3]]
        );
        let texts = ["rt:64500:1".to_owned(), "0x0102030405060708".to_owned()];
        assert_eq!(
            extended(&texts),
            [["rt", "64500", "1"], ["generic", "0x01020304", "05060708"]]
        );
    }
}
