//! Answers `explain` for a route that is not in the table.

use std::net::IpAddr;

use rutter_net::{Asn, Community, LargeCommunity, Prefix};
use rutter_rib::PeerSummary;
use rutter_wire::attr::{self, AttrContext, code};

use super::peers::PeerSelector;
use super::{Failure, RowWriter};
use crate::convert::{Sources, explain_row};
use crate::{Backend, Line, WhatIf};

/// Sends the explanation of a prefix under the assumption that a neighbor announces it.
pub(super) fn explain(
    backend: &dyn Backend,
    target: &str,
    route: &WhatIf,
    rows: &mut RowWriter<'_>,
) -> Result<(), Failure> {
    let prefix: Prefix = target.parse().map_err(|error| {
        Failure::refused(format!("{error}: with --from, write the whole prefix"))
    })?;
    let peers = backend.peers();
    let peer = neighbor(&peers, &route.from)?;
    let next_hop = route.next_hop.unwrap_or(peer.neighbor.address);
    let (block, mp_next_hop) = attributes(peer, prefix, next_hop, route)?;
    let context = AttrContext {
        as4: true,
        external: peer.neighbor.kind.is_external(),
        accept_as_set: true,
        has_ipv4_nlri: mp_next_hop.is_empty(),
    };
    let mut faults = Vec::new();
    let attributes = attr::parse(&block, &context, &mut faults);
    if let Some(fault) = faults.first() {
        return Err(Failure::refused(format!("the route is malformed: {fault}")));
    }
    let explanation = backend
        .explain_with(prefix, peer.id, &attributes, &mp_next_hop)
        .ok_or_else(|| Failure::refused("the neighbor was removed meanwhile"))?;
    let row = explain_row(&explanation, &Sources::new(&peers));
    rows.send(&Line::Explain(Box::new(row)))
}

fn neighbor<'a>(peers: &'a [PeerSummary], from: &str) -> Result<&'a PeerSummary, Failure> {
    let wanted = PeerSelector::new(from);
    let matches = |peer: &&PeerSummary| {
        let neighbor = &peer.neighbor;
        wanted.matches(&neighbor.name, neighbor.address, neighbor.remote_asn.0)
    };
    peers.iter().find(matches).ok_or_else(|| wanted.not_found())
}

/// The attribute block of the route, and the octets of its next hop in MP_REACH_NLRI.
fn attributes(
    peer: &PeerSummary,
    prefix: Prefix,
    next_hop: IpAddr,
    route: &WhatIf,
) -> Result<(Vec<u8>, Vec<u8>), Failure> {
    let own = [peer.neighbor.remote_asn.0];
    let path: &[u32] = match route.as_path.as_slice() {
        [] => &own,
        path => path,
    };
    if path.len() > MAX_PATH || route.communities.len() > MAX_COMMUNITIES {
        return Err(Failure::refused(format!(
            "a route to explain has at most {MAX_PATH} AS numbers and {MAX_COMMUNITIES} communities"
        )));
    }
    let mut block = Vec::new();
    attr::write_attr(&mut block, attr::TRANSITIVE, code::ORIGIN, &[0]);
    let mut segment = vec![AS_SEQUENCE, path.len() as u8];
    segment.extend(path.iter().flat_map(|asn| Asn(*asn).0.to_be_bytes()));
    attr::write_attr(&mut block, attr::TRANSITIVE, code::AS_PATH, &segment);
    let mp_next_hop = match (prefix, next_hop) {
        (Prefix::V4(_), IpAddr::V4(address)) => {
            let octets = address.octets();
            attr::write_attr(&mut block, attr::TRANSITIVE, code::NEXT_HOP, &octets);
            Vec::new()
        }
        (_, IpAddr::V4(address)) => address.octets().to_vec(),
        (_, IpAddr::V6(address)) => address.octets().to_vec(),
    };
    communities(&route.communities, &mut block)?;
    Ok((block, mp_next_hop))
}

/// The longest AS_PATH segment (RFC 4271 §4.3 counts in one octet).
const MAX_PATH: usize = 255;
const MAX_COMMUNITIES: usize = 1_000;
const AS_SEQUENCE: u8 = 2;

fn communities(all: &[String], block: &mut Vec<u8>) -> Result<(), Failure> {
    let (mut standard, mut large) = (Vec::new(), Vec::new());
    for community in all {
        if let Ok(community) = community.parse::<Community>() {
            standard.extend(community.0.to_be_bytes());
        } else if let Ok(community) = community.parse::<LargeCommunity>() {
            let parts = [community.global, community.local1, community.local2];
            large.extend(parts.iter().flat_map(|part| part.to_be_bytes()));
        } else {
            return Err(Failure::refused(format!(
                "`{community}` is no community: write 64500:1 or 64500:1:2"
            )));
        }
    }
    let flags = attr::OPTIONAL | attr::TRANSITIVE;
    for (code, value) in [
        (code::COMMUNITIES, standard),
        (code::LARGE_COMMUNITIES, large),
    ] {
        if !value.is_empty() {
            attr::write_attr(block, flags, code, &value);
        }
    }
    Ok(())
}
