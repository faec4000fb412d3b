//! The peers of monitored routers and files as a record. The configuration names none of them, unlike neighbors.

use std::sync::Arc;

use rutter_net::Asn;
use rutter_policy::ImportPolicy;
use rutter_wire::bmp::PeerType;
use rutter_wire::handover::{BadRecord, Reader, Writer};

use crate::{Monitored, Neighbor, PeerId, PeerSummary, Source, View};

impl Monitored {
    /// Appends those of these peers whose routes another router reports or a file holds. Returns their number.
    pub fn write_peers(peers: &[PeerSummary], out: &mut Writer) -> usize {
        let mut count = 0;
        for PeerSummary { id, neighbor, .. } in peers {
            let Some(monitored) = &neighbor.monitored else {
                continue;
            };
            out.number(id.0);
            out.string(&neighbor.name);
            out.address(neighbor.address);
            out.number(neighbor.remote_asn.0);
            out.string(&monitored.router);
            out.u8(place(&SOURCES, monitored.source));
            out.u8(place(&VIEWS, monitored.view));
            out.u8(monitored.peer_type.code());
            out.number(monitored.distinguisher);
            count += 1;
        }
        count
    }

    /// Reads the peers of a record up to its end.
    pub fn read_peers(record: &[u8]) -> Result<Vec<(PeerId, Neighbor)>, BadRecord> {
        let import = Arc::new(ImportPolicy::collecting());
        let mut state = Reader::new(record);
        let mut peers = Vec::new();
        while !state.is_empty() {
            let id = PeerId(state.number("peer")?);
            let name = state.string("name")?;
            let address = state.address("address")?;
            let asn = Asn(state.number("AS number")?);
            let monitored = Monitored {
                router: state.string("name of a router")?.into(),
                source: at(&SOURCES, state.u8("source")?).ok_or(BadRecord("source"))?,
                view: at(&VIEWS, state.u8("view")?).ok_or(BadRecord("view"))?,
                peer_type: PeerType::from_code(state.u8("kind of peer")?),
                distinguisher: state.number("distinguisher")?,
            };
            let peer = Neighbor::monitored(name, address, asn, monitored, Arc::clone(&import));
            peers.push((id, peer));
        }
        Ok(peers)
    }
}

/// By their numbers in records.
const SOURCES: [Source; 3] = [Source::Bgp, Source::Bmp, Source::Mrt];
const VIEWS: [View; 5] = [
    View::AdjRibInPre,
    View::AdjRibInPost,
    View::LocRib,
    View::AdjRibOutPre,
    View::AdjRibOutPost,
];

fn place<T: PartialEq>(all: &[T], wanted: T) -> u8 {
    let place = all.iter().position(|one| *one == wanted);
    place.map_or(u8::MAX, |place| place as u8)
}

fn at<T: Copy>(all: &[T], place: u8) -> Option<T> {
    all.get(usize::from(place)).copied()
}
