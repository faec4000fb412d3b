//! The table `routers`: the routers that report by BMP.

use std::net::SocketAddr;

use super::current::Current;
use super::current::Value::{Number, Text, Time};

/// A router that is connected to the station.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Router {
    /// Its own name.
    pub name: String,
    /// The address of its connection.
    pub address: SocketAddr,
    /// Hardware and software, as it reports them.
    pub description: String,
    /// The time of its connection, in microseconds since 1970.
    pub since_us: u64,
    /// Monitored sessions that are up.
    pub peers: u64,
    /// Messages received.
    pub messages: u64,
    /// Messages that could not be read.
    pub faults: u64,
    /// UPDATEs ignored because their peer is not known.
    pub unknown: u64,
    /// UPDATEs that were malformed.
    pub malformed: u64,
    /// UPDATEs that announced routes without a next hop.
    pub without_next_hop: u64,
    /// UPDATEs of a Loc-RIB without a Peer Up.
    pub without_peer_up: u64,
    /// Messages that were mirrored.
    pub mirrored: u64,
    /// UPDATEs with routes of families that Rutter does not keep.
    pub other_families: u64,
}

/// All connected routers, as a function returns them.
pub fn routers(routers: impl Fn() -> Vec<Router> + Send + Sync + 'static) -> Current<Router> {
    let columns = vec![
        ("router", Text(|of: &Router| Some(of.name.clone()))),
        ("address", Text(|of| Some(of.address.to_string()))),
        ("state", Text(|_| Some("connected".to_owned()))),
        ("description", Text(|of| Some(of.description.clone()))),
        ("since", Time(|of| of.since_us)),
        ("peers", Number(|of| Some(of.peers as i64))),
        ("messages", Number(|of| Some(of.messages as i64))),
        ("faults", Number(|of| Some(of.faults as i64))),
        ("unknown", Number(|of| Some(of.unknown as i64))),
        ("malformed", Number(|of| Some(of.malformed as i64))),
        (
            "without_next_hop",
            Number(|of| Some(of.without_next_hop as i64)),
        ),
        (
            "without_peer_up",
            Number(|of| Some(of.without_peer_up as i64)),
        ),
        ("mirrored", Number(|of| Some(of.mirrored as i64))),
        (
            "other_families",
            Number(|of| Some(of.other_families as i64)),
        ),
    ];
    Current::new(routers, columns.len(), columns)
}
