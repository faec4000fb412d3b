//! A peer as stores identify it: by permanent properties, not by its index in the table.

use std::net::IpAddr;
use std::sync::Arc;

use rutter_events::Peer;
use rutter_net::Asn;
use rutter_rib::{Source, View};
use rutter_wire::bmp::PeerType;

use crate::byte_codec::{ByteReader, CorruptRecord, put_number, put_string};

/// The properties that identify a peer of a collector over restarts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PeerKey {
    /// The monitored router or file; empty for our own sessions.
    pub router: Arc<str>,
    /// The address of the peer.
    pub address: IpAddr,
    /// The distinguisher of the router's instance (RFC 7854 §4.2).
    pub distinguisher: u64,
    /// [`View::name`].
    pub view: &'static str,
    /// The type of the peer (RFC 7854 §4.2, RFC 9069 §4.2).
    pub peer_type: PeerType,
}

/// A peer with all its stored columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPeer {
    /// The identity.
    pub key: PeerKey,
    /// The display name.
    pub name: Arc<str>,
    /// AS number.
    pub asn: Asn,
    /// BGP Identifier; 0 if unknown.
    pub bgp_id: u32,
    /// `bgp`, `bmp` or `mrt`.
    pub source: &'static str,
}

const VIEWS: [View; 5] = [
    View::AdjRibInPre,
    View::AdjRibInPost,
    View::LocRib,
    View::AdjRibOutPre,
    View::AdjRibOutPost,
];
const SOURCES: [&str; 3] = ["bgp", "bmp", "mrt"];

impl From<&Peer> for PeerKey {
    fn from(peer: &Peer) -> Self {
        Self {
            router: Arc::clone(&peer.router),
            address: peer.address,
            distinguisher: peer.distinguisher,
            view: peer.view.name(),
            peer_type: peer.peer_type,
        }
    }
}

impl From<&Peer> for StoredPeer {
    fn from(peer: &Peer) -> Self {
        Self {
            key: peer.into(),
            name: Arc::clone(&peer.name),
            asn: peer.asn,
            bgp_id: peer.bgp_id,
            source: match peer.source {
                Source::Bgp => SOURCES[0],
                Source::Bmp => SOURCES[1],
                Source::Mrt => SOURCES[2],
            },
        }
    }
}

impl StoredPeer {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_string(out, &self.name);
        put_address(out, self.key.address);
        put_number(out, self.asn.0.into());
        put_number(out, self.bgp_id.into());
        put_string(out, &self.key.router);
        put_number(out, self.key.distinguisher);
        let view = |view: &View| view.name() == self.key.view;
        out.push(VIEWS.iter().position(view).unwrap_or(0) as u8 | WITH_TYPE);
        out.push(self.key.peer_type.code());
        let source = |source: &&str| *source == self.source;
        out.push(SOURCES.iter().position(source).unwrap_or(0) as u8);
    }

    pub(crate) fn decode(reader: &mut ByteReader<'_>) -> Result<Self, CorruptRecord> {
        let name: Arc<str> = reader.string()?.into();
        let address = address(reader)?;
        let asn = Asn(reader.number_u32()?);
        let bgp_id = reader.number_u32()?;
        let router = reader.string()?.into();
        let distinguisher = reader.number()?;
        let view = reader.byte()?;
        let stored_type = match view & WITH_TYPE {
            0 => None,
            _ => Some(PeerType::from_code(reader.byte()?)),
        };
        let view = VIEWS
            .get(usize::from(view & !WITH_TYPE))
            .ok_or(CorruptRecord)?;
        let source = SOURCES
            .get(usize::from(reader.byte()?))
            .ok_or(CorruptRecord)?;
        let of_bmp = *source == SOURCES[1];
        Ok(Self {
            key: PeerKey {
                router,
                address,
                distinguisher,
                view: view.name(),
                peer_type: stored_type.unwrap_or_else(|| match of_bmp {
                    true => implied(*view, distinguisher, &name),
                    false => PeerType::Global,
                }),
            },
            name,
            asn,
            bgp_id,
            source,
        })
    }
}

/// The type of a monitored peer in a record of an earlier version, found as the database migrations find it.
fn implied(view: View, distinguisher: u64, name: &str) -> PeerType {
    match (view, distinguisher) {
        (View::LocRib, _) => PeerType::LocRib,
        _ if name.ends_with(" local") => PeerType::Local,
        (_, 0) => PeerType::Global,
        _ => PeerType::RouteDistinguisher,
    }
}

/// A flag in the byte of the view: the type follows.
const WITH_TYPE: u8 = 0x80;

pub(crate) fn put_address(out: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(address) => {
            out.push(4);
            out.extend(address.octets());
        }
        IpAddr::V6(address) => {
            out.push(6);
            out.extend(address.octets());
        }
    }
}

pub(crate) fn address(reader: &mut ByteReader<'_>) -> Result<IpAddr, CorruptRecord> {
    match reader.byte()? {
        4 => Ok(IpAddr::from(reader.array::<4>()?)),
        6 => Ok(IpAddr::from(reader.array::<16>()?)),
        _ => Err(CorruptRecord),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(view: View, peer_type: PeerType, distinguisher: u64, name: &str) -> StoredPeer {
        StoredPeer {
            key: PeerKey {
                router: "edge1".into(),
                address: "192.0.2.11".parse().unwrap(),
                distinguisher,
                view: view.name(),
                peer_type,
            },
            name: name.into(),
            asn: Asn(64_501),
            bgp_id: 7,
            source: SOURCES[1],
        }
    }

    fn again(bytes: &[u8]) -> StoredPeer {
        let mut rest = ByteReader(bytes);
        let peer = StoredPeer::decode(&mut rest).expect("a peer");
        assert!(rest.0.is_empty());
        peer
    }

    #[test]
    fn peers_that_differ_only_in_their_type_are_different() {
        let all = (0..5).map(PeerType::from_code);
        let all = all.map(|kind| peer(View::AdjRibInPre, kind, 7, "one"));
        let all: Vec<StoredPeer> = all.collect();
        for (at, peer) in all.iter().enumerate() {
            assert!(all[..at].iter().all(|other| other.key != peer.key));
            let mut bytes = Vec::new();
            peer.encode(&mut bytes);
            assert_eq!(again(&bytes), *peer);
        }
    }

    /// Rows may wait in the spool while a new version is installed.
    #[test]
    fn peers_that_an_earlier_version_stored_are_read() {
        use PeerType::{Global, LocRib, Local, RouteDistinguisher};
        for (view, peer_type, distinguisher, name) in [
            (View::AdjRibInPost, Global, 0, "192.0.2.11"),
            (View::AdjRibInPost, RouteDistinguisher, 7, "192.0.2.11 0:7"),
            (View::AdjRibInPost, Local, 7, "192.0.2.11 0:7 local"),
            (View::LocRib, LocRib, 7, "loc-rib 0:7"),
        ] {
            let peer = peer(view, peer_type, distinguisher, name);
            let mut bytes = Vec::new();
            peer.encode(&mut bytes);
            // The old form: the view without its flag, no type, and the source.
            let end = bytes.len() - 3;
            let view = bytes[end] & !WITH_TYPE;
            bytes.splice(end..end + 2, [view]);
            assert_eq!(again(&bytes), peer);
        }
    }
}
