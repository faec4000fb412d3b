//! The neighbors of a table that is read, and their ranks.

use std::collections::HashMap;
use std::net::IpAddr;

use rutter_net::{Asn, Family, PerFamily};
use rutter_wire::handover::{BadRecord, Reader};

use super::TableImport;
use crate::adj_rib_in::epochs::{EPOCHS, EpochSet};
use crate::adj_rib_in::tally::Tally;
use crate::decision::PeerRank;
use crate::lifecycle::style;
use crate::{FamilyInfo, Neighbor, NotKept, PeerId, SessionInfo};

impl TableImport<'_> {
    /// Begins the last stage. `neighbors` are those of the other table now.
    pub fn begin_last_stage(&mut self, neighbors: Vec<(PeerId, Neighbor)>) {
        self.is_last_stage = true;
        self.awaited = neighbors.iter().map(|(peer, _)| *peer).collect();
        let mut topology = self.rib.topology.write();
        let present: HashMap<PeerId, IpAddr> = neighbors
            .iter()
            .map(|(id, neighbor)| (*id, neighbor.address))
            .collect();
        let gone: Vec<PeerId> = topology
            .iter()
            .filter(|(id, peer)| present.get(id) != Some(&peer.neighbor.address))
            .map(|(id, _)| id)
            .collect();
        if !gone.is_empty() {
            topology.remove_all(&gone);
        }
        for (id, neighbor) in neighbors {
            match topology.peer(id) {
                Some(_) => drop(topology.replace(id, neighbor)),
                None => topology.add_as(id, neighbor),
            }
        }
        topology.rebuild_rules();
        drop(topology);
        self.rib.changed();
    }

    pub(super) fn rank(&mut self, item: &mut Reader<'_>) -> Result<(), BadRecord> {
        let id = PeerId(item.number("neighbor")?);
        let rank = PeerRank {
            external: item.bool("kind of neighbor")?,
            bgp_id: item.number("BGP Identifier")?,
            address: u128::from_be_bytes(address(item)?),
            default_local_pref: item.number("LOCAL_PREF")?,
        };
        let end = self.ranks.len().max(id.index() + 1);
        self.ranks.resize_with(end, PeerRank::default);
        self.tallies.resize_with(end, PerFamily::default);
        self.set_rank(id, rank);
        Ok(())
    }

    /// Changes the rank of a neighbor whose tally there is.
    pub(super) fn set_rank(&mut self, id: PeerId, rank: PeerRank) {
        let none = Tally::default().received;
        let mut tallies = self.tallies[id.index()].iter();
        let has_routes = tallies.any(|tally| tally.received != none);
        self.has_other_ranks |= has_routes && self.ranks[id.index()] != rank;
        self.ranks[id.index()] = rank;
    }

    pub(super) fn neighbor(&mut self, item: &mut Reader<'_>) -> Result<(), BadRecord> {
        let id = PeerId(item.number("neighbor")?);
        let place = self.awaited.iter().position(|awaited| *awaited == id);
        self.awaited
            .swap_remove(place.ok_or(BadRecord("neighbor"))?);
        let bgp_id = item.number("BGP Identifier")?;
        let not_kept = NotKept {
            paths: item.number("count of paths")?,
            blocked: item.number("count of blocked routes")?,
        };
        let mut topology = self.rib.topology.write();
        topology.ranks[id.index()].bgp_id = bgp_id;
        let peer = topology.peer_mut(id).ok_or(BadRecord("neighbor"))?;
        for family in Family::ALL {
            let epochs = &mut peer.epochs[family];
            epochs.present = item.u8("epoch")?;
            epochs.stale = EpochSet::from_bits(item.u8("epochs")?);
            epochs.removing = EpochSet::from_bits(item.u8("epochs")?);
            if usize::from(epochs.present) >= EPOCHS || !epochs.removing.is_empty() {
                return Err(BadRecord("epoch"));
            }
            let are_missing = item.bool("missing routes")?;
            peer.counts.restore(family, not_kept, are_missing);
        }
        if item.bool("session")? {
            let session = read_session(item)?;
            let of_client = style(peer, &session, self.rib.cluster_id);
            let of_client = of_client.filter(|style| style.advertises);
            peer.group = of_client.map(|style| self.rib.group(style));
            peer.session = Some(session);
        }
        topology.refresh_rank(id);
        Ok(())
    }
}

fn address(item: &mut Reader<'_>) -> Result<[u8; 16], BadRecord> {
    let octets = item.raw(16, "address")?;
    octets.try_into().map_err(|_| BadRecord("address"))
}

fn read_session(item: &mut Reader<'_>) -> Result<SessionInfo, BadRecord> {
    let mut session = SessionInfo {
        remote_bgp_id: item.number("BGP Identifier")?,
        remote_asn: Asn(item.number("AS number")?),
        as4: item.bool("length of AS numbers")?,
        max_message_len: item.number("length of messages")?,
        enhanced_refresh: item.bool("refresh")?,
        families: PerFamily::both(None),
    };
    for family in Family::ALL {
        if item.bool("family")? {
            session.families[family] = Some(FamilyInfo {
                add_path_receive: item.bool("Add-Path")?,
                add_path_send: item.bool("Add-Path")?,
                extended_next_hop: item.bool("next hop of a family")?,
            });
        }
    }
    Ok(session)
}
