//! A neighbor as a record: the state of its session, its counters, and the bytes of its connection. And all neighbors of the
//! table as a record.

use std::net::IpAddr;
use std::sync::Arc;

use rutter_config::Config;
use rutter_net::{Asn, Family, PerFamily};
use rutter_rib::{Neighbor, PeerId, PeerSummary};
use rutter_session::Session;
use rutter_wire::handover::{BadRecord, Reader, Writer};

use crate::connection::UnsentBytes;
use crate::neighbor_settings::NeighborSettings;
use crate::peer::Peer;
use crate::shared::Shared;
use crate::status::PeerStatus;

/// A neighbor that was read.
pub(super) struct TakenPeer {
    pub(super) peer: Peer,
    /// The bytes of its established connection.
    pub(super) bytes: Option<UnsentBytes>,
    pub(super) pending_refreshes: PerFamily<bool>,
}

/// Appends a neighbor.
pub(super) fn write(peer: &Peer, out: &mut Writer) {
    out.address(peer.address());
    out.bool(peer.settings.dynamic.is_some());
    out.number(peer.settings.table.remote_asn.0);
    write_local(&peer.settings.table, out);
    out.optional(peer.id.map(|id| id.0.into()));
    out.bool(peer.had_connection);
    for family in Family::ALL {
        out.bool(peer.is_over_limit(family));
    }
    peer.status.write_state(out);
    peer.session.write_state(out);
    let bytes = peer.session.established().and_then(|connection| {
        let connection = peer.connections[connection.index()].as_ref()?;
        Some(connection.unsent_bytes())
    });
    out.bool(bytes.is_some());
    if let Some(bytes) = bytes {
        out.octets(&bytes.received);
        out.octets(&bytes.control);
        out.count(bytes.control_written);
    }
    let refreshes = peer.established.as_ref();
    let refreshes = refreshes.map_or(PerFamily::both(false), |e| e.pending_refreshes);
    refreshes.iter().for_each(|pending| out.bool(*pending));
}

/// Reads a neighbor. Its settings come from this process's configuration.
pub(super) fn read(
    shared: &Shared,
    config: &Config,
    record: &[u8],
) -> Result<TakenPeer, BadRecord> {
    let mut state = Reader::new(record);
    let address = state.address("address")?;
    let is_dynamic = state.bool("kind of neighbor")?;
    let asn = Asn(state.number("AS number")?);
    let settings = match is_dynamic {
        true => dynamic_settings(config, address, asn),
        false => configured_settings(config, address),
    };
    let mut settings = settings.ok_or(BadRecord("neighbor of this configuration"))?;
    read_local([&mut settings], &mut state)?;
    let id: Option<u16> = state.optional("id")?;
    let now_ms = shared.clock.now_ms();
    let thread = shared.claim_thread();
    let neighbor = Arc::clone(&settings.config);
    let status = Arc::new(PeerStatus::new(neighbor, thread, is_dynamic, now_ms));
    let mut peer = Peer::new(settings, Arc::clone(&status), 0);
    peer.id = id.map(PeerId);
    peer.had_connection = state.bool("connection")?;
    for family in Family::ALL {
        peer.set_over_limit(family, state.bool("limit")?);
    }
    status.read_state(&mut state)?;
    let config = peer.settings.session.clone();
    peer.session = Session::from_state(config, shared.seed_for(address), now_ms, &mut state)?;
    let bytes = match state.bool("connection")? {
        true => Some(UnsentBytes {
            received: state.octets("received bytes")?.to_vec(),
            control: state.octets("messages")?.to_vec(),
            control_written: state.number("written bytes")?,
        }),
        false => None,
    };
    if peer.session.established().is_some() != bytes.is_some() {
        return Err(BadRecord("connection"));
    }
    let mut pending_refreshes = PerFamily::both(false);
    for family in Family::ALL {
        pending_refreshes[family] = state.bool("refresh")?;
    }
    status.with(|details| details.peer = peer.id);
    Ok(TakenPeer {
        peer,
        bytes,
        pending_refreshes,
    })
}

/// Appends the neighbors of a table, without the peers of monitored routers and files.
pub(super) fn write_in_table(peers: &[PeerSummary], out: &mut Writer) {
    let own = peers
        .iter()
        .filter(|peer| peer.neighbor.monitored.is_none());
    for PeerSummary { id, neighbor, .. } in own {
        out.number(id.0);
        out.address(neighbor.address);
        out.number(neighbor.remote_asn.0);
        write_local(neighbor, out);
    }
}

/// Reads the neighbors of a table, except neighbors that the configuration of this process lacks.
pub(super) fn read_in_table(
    config: &Config,
    record: &[u8],
) -> Result<Vec<(PeerId, Neighbor)>, BadRecord> {
    let mut state = Reader::new(record);
    let mut all = Vec::new();
    while !state.is_empty() {
        let id = PeerId(state.number("id")?);
        let address = state.address("address")?;
        let asn = Asn(state.number("AS number")?);
        let settings = configured_settings(config, address);
        let mut settings = settings.or_else(|| dynamic_settings(config, address, asn));
        read_local(&mut settings, &mut state)?;
        all.extend(settings.map(|settings| (id, settings.table)));
    }
    Ok(all)
}

/// Appends our own addresses.
fn write_local(neighbor: &Neighbor, out: &mut Writer) {
    let addresses = [
        neighbor.local_ipv4.map(IpAddr::V4),
        neighbor.local_ipv6.map(IpAddr::V6),
    ];
    for address in addresses {
        out.bool(address.is_some());
        address.into_iter().for_each(|address| out.address(address));
    }
}

/// Reads our own addresses into the settings, if there are any.
fn read_local<'a>(
    settings: impl IntoIterator<Item = &'a mut NeighborSettings>,
    state: &mut Reader<'_>,
) -> Result<(), BadRecord> {
    let mut settings = settings.into_iter().next();
    for _ in 0..2 {
        if state.bool("own address")? {
            let address = state.address("own address")?;
            if let Some(settings) = &mut settings {
                settings.set_local(address);
            }
        }
    }
    Ok(())
}

fn configured_settings(config: &Config, address: IpAddr) -> Option<NeighborSettings> {
    let neighbor = config.neighbor(address)?;
    Some(NeighborSettings::new(config, neighbor))
}

fn dynamic_settings(config: &Config, address: IpAddr, asn: Asn) -> Option<NeighborSettings> {
    let mut sections = config.dynamic_neighbors.iter();
    let section = sections.find(|section| section.admits(address))?;
    Some(NeighborSettings::dynamic(config, section, address, asn))
}
