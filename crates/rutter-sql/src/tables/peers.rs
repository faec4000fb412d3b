//! The table `peers`.

use std::sync::Arc;

use rutter_events::{Peer, distinguisher_text};
use rutter_net::Family::{Ipv4Unicast, Ipv6Unicast};
use rutter_rib::{PeerSummary, Rib};

use super::current::Current;
use super::current::Value::{Flag, Number, Text};

/// All peers, with the results of their negotiation and their numbers of routes.
pub fn peers(rib: Arc<Rib>) -> Current<PeerSummary> {
    let columns = vec![
        ("router", Text(|of| Some(Peer::from(of).router.to_string()))),
        (
            "peer_name",
            Text(|of| Some(Peer::from(of).name.to_string())),
        ),
        (
            "peer_address",
            Text(|of| Some(Peer::from(of).address.to_string())),
        ),
        (
            "view",
            Text(|of| Some(Peer::from(of).view.name().to_owned())),
        ),
        (
            "source",
            Text(|of| Some(format!("{:?}", Peer::from(of).source).to_lowercase())),
        ),
        (
            "distinguisher",
            Text(|of| Some(distinguisher_text(Peer::from(of).distinguisher))),
        ),
        ("peer_asn", Number(|of| Some(Peer::from(of).asn.0.into()))),
        ("bgp_id", Number(|of| Some(Peer::from(of).bgp_id.into()))),
        (
            "ipv4_received",
            Number(|of| Some(of.counts[Ipv4Unicast].received.into())),
        ),
        (
            "ipv4_rejected",
            Number(|of| Some(of.counts[Ipv4Unicast].rejected().into())),
        ),
        (
            "ipv6_received",
            Number(|of| Some(of.counts[Ipv6Unicast].received.into())),
        ),
        (
            "ipv6_rejected",
            Number(|of| Some(of.counts[Ipv6Unicast].rejected().into())),
        ),
        ("established", Flag(|of: &PeerSummary| of.session.is_some())),
    ];
    Current::new(move || rib.peers(), columns.len(), columns)
}
