//! A peer as stores know it: by what names it for good, not by its place in the table.

use std::net::IpAddr;
use std::sync::Arc;

use rutter_events::Peer;
use rutter_net::Asn;
use rutter_rib::{Source, View};

use crate::bytes::{Damaged, Octets, put_number, put_text};

/// What tells one peer of a collector from all others, over restarts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PeerKey {
    /// The monitored router or file; empty for sessions of our own.
    pub router: Arc<str>,
    /// Address of the peer.
    pub address: IpAddr,
    /// Which of the router's instances (RFC 7854 §4.2).
    pub distinguisher: u64,
    /// [`View::name`].
    pub view: &'static str,
}

/// A peer with all that is stored of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPeer {
    /// What names it.
    pub key: PeerKey,
    /// Name for people.
    pub name: Arc<str>,
    /// AS number.
    pub asn: Asn,
    /// BGP Identifier; 0 where unknown.
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
        put_text(out, &self.name);
        put_address(out, self.key.address);
        put_number(out, self.asn.0.into());
        put_number(out, self.bgp_id.into());
        put_text(out, &self.key.router);
        put_number(out, self.key.distinguisher);
        let view = |view: &View| view.name() == self.key.view;
        out.push(VIEWS.iter().position(view).unwrap_or(0) as u8);
        let source = |source: &&str| *source == self.source;
        out.push(SOURCES.iter().position(source).unwrap_or(0) as u8);
    }

    pub(crate) fn decode(octets: &mut Octets<'_>) -> Result<Self, Damaged> {
        let name = octets.text()?.into();
        let address = address(octets)?;
        let asn = Asn(octets.small()?);
        let bgp_id = octets.small()?;
        let router = octets.text()?.into();
        let distinguisher = octets.number()?;
        let view = VIEWS.get(usize::from(octets.octet()?)).ok_or(Damaged)?;
        let source = SOURCES.get(usize::from(octets.octet()?)).ok_or(Damaged)?;
        Ok(Self {
            key: PeerKey {
                router,
                address,
                distinguisher,
                view: view.name(),
            },
            name,
            asn,
            bgp_id,
            source,
        })
    }
}

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

pub(crate) fn address(octets: &mut Octets<'_>) -> Result<IpAddr, Damaged> {
    match octets.octet()? {
        4 => Ok(IpAddr::from(octets.array::<4>()?)),
        6 => Ok(IpAddr::from(octets.array::<16>()?)),
        _ => Err(Damaged),
    }
}
