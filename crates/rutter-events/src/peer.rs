//! The peer of a route, as every stored row names it.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use rutter_net::{Asn, PerFamily};
use rutter_rib::{PeerId, PeerSummary, Source, View};
use rutter_wire::attr::{Attributes, code};
use rutter_wire::bmp::PeerType;

/// A peer: of one of our own sessions, of a monitored router, or of a file.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The id in the table. Never store it: it is reused after the peer is removed.
    pub id: PeerId,
    /// The display name.
    pub name: Arc<str>,
    /// Address.
    pub address: IpAddr,
    /// AS number.
    pub asn: Asn,
    /// BGP Identifier; 0 where unknown.
    pub bgp_id: u32,
    /// The monitored router or file that reports this peer; empty for our own sessions.
    pub router: Arc<str>,
    /// The source of its routes.
    pub source: Source,
    /// The monitored RIB of the router.
    pub view: View,
    /// The peer type (RFC 7854 §4.2); global for our own sessions and files.
    pub peer_type: PeerType,
    /// The Peer Distinguisher (RFC 7854 §4.2); 0 is the global instance.
    pub distinguisher: u64,
    /// The form of its updates.
    pub(crate) reading: Reading,
}

/// The negotiated parameters that decide the form of updates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub as4: bool,
    pub external: bool,
    pub accept_as_set: bool,
    /// Another router or a file reports the updates: malformed ones withdraw nothing.
    pub reported: bool,
    /// For each family, whether NLRI carry path identifiers; `None` if the family was not negotiated.
    pub add_path: PerFamily<Option<bool>>,
}

impl From<&PeerSummary> for Peer {
    fn from(summary: &PeerSummary) -> Self {
        let neighbor = &summary.neighbor;
        let session = summary.session.as_ref();
        let monitored = neighbor.monitored.as_deref();
        let family = |family| session.and_then(|session| session.family(family));
        Self {
            id: summary.id,
            name: Arc::clone(&neighbor.name),
            address: neighbor.address,
            asn: session.map_or(neighbor.remote_asn, |session| session.remote_asn),
            bgp_id: session.map_or(0, |session| session.remote_bgp_id),
            router: monitored.map_or_else(|| "".into(), |m| Arc::clone(&m.router)),
            source: monitored.map_or(Source::Bgp, |m| m.source),
            view: monitored.map_or(View::AdjRibInPre, |m| m.view),
            peer_type: monitored.map_or(PeerType::Global, |m| m.peer_type),
            distinguisher: monitored.map_or(0, |m| m.distinguisher),
            reading: Reading {
                as4: session.is_none_or(|session| session.as4),
                external: neighbor.kind.is_external(),
                accept_as_set: !neighbor.import.settings().reject_as_set,
                reported: monitored.is_some(),
                add_path: PerFamily::from_fn(|f| family(f).map(|agreed| agreed.add_path_receive)),
            },
        }
    }
}

impl Peer {
    /// A remark about a reported route with these attributes and this next hop; empty for usual routes.
    pub(crate) fn remark(&self, block: &[u8], next_hop: Option<IpAddr>) -> &'static str {
        let has_attribute = || {
            let attributes = Attributes::from_canonical(block);
            attributes.value(code::NEXT_HOP).is_some()
        };
        match next_hop {
            _ if self.source == Source::Bgp => "",
            None if has_attribute() => UNREADABLE_NEXT_HOP,
            None => NO_NEXT_HOP,
            Some(_) if self.view.is_locally_originated(next_hop) => LOCALLY_ORIGINATED,
            Some(_) => "",
        }
    }
}

/// The `detail` of a reported route without a next hop.
const NO_NEXT_HOP: &str = "without a next hop";
/// The `detail` of a reported route whose next hop has a wrong length.
const UNREADABLE_NEXT_HOP: &str = "unreadable next hop";
/// The `detail` of a route that the reporting router originates itself.
const LOCALLY_ORIGINATED: &str = "locally originated";

/// Formats a Route Distinguisher (RFC 4364 §4.2). An unknown type is written as a number.
pub fn distinguisher_text(value: u64) -> String {
    let octets = value.to_be_bytes();
    let [_, _, a, b, c, d, e, f] = octets;
    match value >> 48 {
        0 => format!("{}:{}", u16::from_be_bytes([a, b]), value as u32),
        1 => format!(
            "{}:{}",
            Ipv4Addr::new(a, b, c, d),
            u16::from_be_bytes([e, f])
        ),
        2 => format!("{}:{}", (value >> 16) as u32, value as u16),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::distinguisher_text;

    #[test]
    fn distinguishers_are_written_as_in_the_standard() {
        assert_eq!(distinguisher_text(0), "0:0");
        assert_eq!(distinguisher_text(0x0000_fbf4_0001_0000), "64500:65536");
        assert_eq!(distinguisher_text(0x0001_c000_0201_0007), "192.0.2.1:7");
        assert_eq!(distinguisher_text(0x0002_0003_0d40_0007), "200000:7");
        assert_eq!(distinguisher_text(u64::MAX), "18446744073709551615");
    }
}
