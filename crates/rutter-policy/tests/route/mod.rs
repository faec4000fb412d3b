//! Routes for tests, from their text form.
#![allow(dead_code)]

use std::net::IpAddr;

use rutter_net::{Community, ExtendedCommunity, LargeCommunity};
use rutter_wire::attr::{AttrContext, Attributes, OPTIONAL, TRANSITIVE, code, parse, write_attr};

/// The attributes of a route.
#[derive(Clone, Debug, Default)]
pub struct Route {
    /// `"64501 64502 {64503 64504}"`.
    pub path: String,
    /// Standard (`64500:1`), large (`64500:1:2`) and extended (`rt:1:2`, `ro:1:2`) communities.
    pub communities: Vec<String>,
    /// The values of Origin Validation State communities (RFC 8097).
    pub origin_states: Vec<u8>,
    pub otc: Option<u32>,
    pub originator: Option<[u8; 4]>,
    pub clusters: Vec<[u8; 4]>,
}

impl Route {
    pub fn path(path: &str) -> Self {
        Route {
            path: path.into(),
            ..Route::default()
        }
    }

    pub fn communities(communities: &str) -> Self {
        Route {
            path: "64501".into(),
            communities: communities.split_whitespace().map(str::to_owned).collect(),
            ..Route::default()
        }
    }

    pub fn block(&self) -> Vec<u8> {
        let mut out = Vec::new();
        write_attr(&mut out, TRANSITIVE, code::ORIGIN, &[0]);
        write_attr(&mut out, TRANSITIVE, code::AS_PATH, &as_path(&self.path));
        let (mut standard, mut extended, mut large) = (Vec::new(), Vec::new(), Vec::new());
        for text in &self.communities {
            let subtypes = [("rt:", 2), ("ro:", 3)].into_iter();
            let mut bare =
                subtypes.filter_map(|(name, subtype)| Some((subtype, text.strip_prefix(name)?)));
            match bare.next() {
                Some((subtype, bare)) => extended.extend(as_specific(subtype, bare).0),
                None if text.matches(':').count() == 1 => {
                    standard.extend(text.parse::<Community>().unwrap().0.to_be_bytes());
                }
                None => {
                    let c: LargeCommunity = text.parse().unwrap();
                    large.extend(
                        [c.global, c.local1, c.local2]
                            .iter()
                            .flat_map(|n| n.to_be_bytes()),
                    );
                }
            }
        }
        for value in &self.origin_states {
            extended.extend([0x43, 0, 0, 0, 0, 0, 0, *value]);
        }
        let optional = OPTIONAL | TRANSITIVE;
        for (code, value) in [
            (code::COMMUNITIES, standard),
            (code::EXTENDED_COMMUNITIES, extended),
            (code::LARGE_COMMUNITIES, large),
        ] {
            if !value.is_empty() {
                write_attr(&mut out, optional, code, &value);
            }
        }
        if let Some(otc) = self.otc {
            write_attr(
                &mut out,
                optional,
                code::ONLY_TO_CUSTOMER,
                &otc.to_be_bytes(),
            );
        }
        if let Some(id) = self.originator {
            write_attr(&mut out, OPTIONAL, code::ORIGINATOR_ID, &id);
            write_attr(
                &mut out,
                OPTIONAL,
                code::CLUSTER_LIST,
                &self.clusters.concat(),
            );
        }
        out
    }
}

/// Calls `then` with the parsed attributes.
pub fn with<T>(route: &Route, then: impl FnOnce(&Attributes<'_>) -> T) -> T {
    let context = AttrContext {
        as4: true,
        external: route.originator.is_none(),
        accept_as_set: true,
        has_ipv4_nlri: false,
    };
    let (block, mut faults) = (route.block(), Vec::new());
    let attributes = parse(&block, &context, &mut faults);
    assert_eq!(faults, [], "{route:?}");
    then(&attributes)
}

pub fn addr(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn as_specific(subtype: u8, text: &str) -> ExtendedCommunity {
    let (high, low) = text.split_once(':').unwrap();
    let (high, low): (u32, u32) = (high.parse().unwrap(), low.parse().unwrap());
    match u16::try_from(high) {
        Ok(asn) => ExtendedCommunity::two_octet_as(subtype, asn, low),
        Err(_) => ExtendedCommunity::four_octet_as(subtype, high, low as u16),
    }
}

fn as_path(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, piece) in text.split(['{', '}']).enumerate() {
        let asns: Vec<u32> = piece
            .split_whitespace()
            .map(|asn| asn.parse().unwrap())
            .collect();
        if !asns.is_empty() {
            out.extend([if index % 2 == 1 { 1 } else { 2 }, asns.len() as u8]);
            out.extend(asns.iter().flat_map(|asn| asn.to_be_bytes()));
        }
    }
    out
}
