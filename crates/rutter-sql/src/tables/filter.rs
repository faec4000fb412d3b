//! Conditions that the table answers itself, without reading every route.

use std::net::IpAddr;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use rutter_net::Prefix;
use rutter_rib::{PeerId, PeerSummary};

use crate::functions::{CONTAINS_OR_EQUAL, WITHIN_OR_EQUAL};

/// A condition of a query that the table answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// `prefix = '192.0.2.0/24'`.
    Is(Prefix),
    /// `prefix >>= '192.0.2.1'`: the prefix and all that cover it.
    Covers(Prefix),
    /// `prefix <<= '192.0.0.0/8'`: the prefix and all inside it.
    Inside(Prefix),
    /// `peer_asn = 64500`.
    PeerAsn(i64),
    /// `peer_name = 'amsterdam 1'`.
    PeerName(String),
    /// `peer_address = '192.0.2.1'`.
    PeerAddress(IpAddr),
}

impl Condition {
    /// Recognises one of these conditions.
    pub fn of(expr: &Expr) -> Option<Self> {
        match expr {
            Expr::BinaryExpr(BinaryExpr {
                left,
                op: Operator::Eq,
                right,
            }) => match (&**left, &**right) {
                (Expr::Column(column), Expr::Literal(value, _))
                | (Expr::Literal(value, _), Expr::Column(column)) => {
                    Self::equals(&column.name, value)
                }
                _ => None,
            },
            Expr::ScalarFunction(call) => {
                let [Expr::Column(column), Expr::Literal(value, _)] = &call.args[..] else {
                    return None;
                };
                let net = prefix_of(text(value)?)?;
                match (column.name.as_str(), call.func.name()) {
                    ("prefix", CONTAINS_OR_EQUAL) => Some(Self::Covers(net)),
                    ("prefix", WITHIN_OR_EQUAL) => Some(Self::Inside(net)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn equals(column: &str, value: &ScalarValue) -> Option<Self> {
        match column {
            // The column equals a string only in the column's own notation.
            "prefix" => prefix_of(text(value)?)
                .filter(|prefix| text(value) == Some(&prefix.to_string()))
                .map(Self::Is),
            "peer_name" => text(value).map(|name| Self::PeerName(name.to_owned())),
            "peer_address" => text(value)?.parse().ok().map(Self::PeerAddress),
            "peer_asn" => match value {
                ScalarValue::Int64(asn) => asn.map(Self::PeerAsn),
                _ => None,
            },
            _ => None,
        }
    }
}

/// The routes that a query requests, as far as its conditions limit them.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Only these prefixes, which are looked up.
    pub only: Option<Vec<Prefix>>,
    /// Only prefixes inside all of these.
    inside: Vec<Prefix>,
    /// Per peer id, whether its routes are requested; `None`: all peers.
    peers: Option<Vec<bool>>,
}

impl Wanted {
    /// Combines conditions.
    pub fn new(conditions: &[Condition], peers: &[PeerSummary]) -> Self {
        let mut wanted = Self::default();
        for condition in conditions {
            match condition {
                Condition::Is(prefix) => wanted.restrict(vec![*prefix]),
                Condition::Covers(net) => wanted.restrict(covering(*net)),
                Condition::Inside(net) => wanted.inside.push(*net),
                Condition::PeerAsn(asn) => wanted.keep(peers, |p| i64::from(asn_of(p)) == *asn),
                Condition::PeerName(name) => wanted.keep(peers, |p| *p.neighbor.name == **name),
                Condition::PeerAddress(at) => wanted.keep(peers, |p| p.neighbor.address == *at),
            }
        }
        wanted
    }

    fn restrict(&mut self, to: Vec<Prefix>) {
        self.only = Some(match self.only.take() {
            Some(held) => held.into_iter().filter(|p| to.contains(p)).collect(),
            None => to,
        });
    }

    fn keep(&mut self, peers: &[PeerSummary], wanted: impl Fn(&PeerSummary) -> bool) {
        let end = peers.last().map_or(0, |peer| peer.id.index() + 1);
        let held = self.peers.get_or_insert_with(|| vec![true; end]);
        let mut now = vec![false; end];
        for peer in peers {
            now[peer.id.index()] = held[peer.id.index()] && wanted(peer);
        }
        *held = now;
    }

    /// Returns whether a route fulfils the conditions.
    pub fn takes(&self, prefix: Prefix, peer: PeerId) -> bool {
        let peers = self.peers.as_ref();
        peers.is_none_or(|peers| peers.get(peer.index()).copied().unwrap_or(false))
            && self.inside.iter().all(|net| net.covers(prefix))
    }
}

fn asn_of(peer: &PeerSummary) -> u32 {
    let session = peer.session.as_ref();
    session
        .map_or(peer.neighbor.remote_asn, |session| session.remote_asn)
        .0
}

/// All prefixes that cover a prefix, longest first.
pub fn covering(net: Prefix) -> Vec<Prefix> {
    (0..=net.len())
        .rev()
        .filter_map(|len| Prefix::from_addr(net.addr(), len))
        .collect()
}

/// Parses a prefix. Bits behind its length are ignored, as in `inet`. An address is the prefix of its full length.
pub fn prefix_of(text: &str) -> Option<Prefix> {
    let (address, len) = match text.split_once('/') {
        Some((address, len)) => (address, Some(len.parse().ok()?)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let full = if address.is_ipv4() { 32 } else { 128 };
    Prefix::from_addr(address, len.unwrap_or(full))
}

fn text(value: &ScalarValue) -> Option<&str> {
    value.try_as_str().flatten()
}
