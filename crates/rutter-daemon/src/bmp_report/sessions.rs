//! The sessions that a station knows: Peer Up and Peer Down (RFC 7854 §4.9, §4.10), and the instance of the Loc-RIB
//! (RFC 9069).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use rutter_config::Config;
use rutter_net::{Asn, Family, PerFamily};
use rutter_rib::PeerId;
use rutter_session::DownReason;
use rutter_wire::bmp::{
    PeerDown, PeerHeader, RibView, Tlv, information, write_peer_down, write_peer_up,
};
use rutter_wire::capability::Capability;
use rutter_wire::open::Open;

use crate::session_facts::SessionFacts;
use crate::shared::{Shared, unix_us};
use crate::status::PeerStatus;

/// The sessions that a station knows, by the neighbor's id in the table.
#[derive(Default)]
pub(super) struct Sessions {
    known: HashMap<PeerId, ReportedSession>,
    /// The station knows the Loc-RIB.
    pub(super) has_loc_rib: bool,
}

/// A session that a station knows.
pub(super) struct ReportedSession {
    pub(super) session: Arc<SessionFacts>,
    status: Arc<PeerStatus>,
    /// The neighbor's End-of-RIB needs no message of its own any more.
    has_end_of_rib: PerFamily<bool>,
    /// The routes of the neighbor that were rejected when the session was reported.
    pub(super) rejected_before: u64,
}

/// A change of what the station knows. Each session in it is a message.
#[derive(Default)]
pub(super) struct Reconciled {
    /// The sessions that were reported as established: their routes come next.
    pub(super) up: Vec<PeerId>,
    /// The sessions that were reported as ended. An id may be in both lists.
    pub(super) down: Vec<PeerId>,
}

/// The name of the table in a Peer Up of the Loc-RIB (RFC 9069 §5.2.1).
const TABLE: &str = "global";

impl ReportedSession {
    /// The header of messages about one table of the session.
    pub(super) fn header(&self, view: RibView) -> PeerHeader {
        let SessionFacts {
            address,
            asn,
            bgp_id,
            ..
        } = *self.session;
        PeerHeader::global(address, asn, bgp_id, view)
    }
}

impl Sessions {
    pub(super) fn get(&self, peer: PeerId) -> Option<&ReportedSession> {
        self.known.get(&peer)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (PeerId, &ReportedSession)> {
        self.known.iter().map(|(id, one)| (*id, one))
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// Reports the sessions that ended or began since the last call.
    pub(super) fn reconcile(&mut self, shared: &Shared, out: &mut Vec<u8>) -> Reconciled {
        let mut present = HashMap::new();
        for status in shared.peers.all() {
            let session = status.with(|details| details.peer.zip(details.monitored.clone()));
            if let Some((id, session)) = session {
                present.insert(id, (session, status));
            }
        }
        let mut done = Reconciled::default();
        self.known.retain(|id, known| {
            let now = present.get(id);
            let stays = now.is_some_and(|(now, _)| Arc::ptr_eq(now, &known.session));
            if !stays {
                let reason = known.status.with(|details| details.last_down.clone());
                write_end(out, known, reason.as_ref());
                done.down.push(*id);
            }
            stays
        });
        for (id, (session, status)) in present {
            if let Entry::Vacant(place) = self.known.entry(id) {
                let counts = shared.rib.counts(id);
                let rejected = counts.iter().map(|counts| u64::from(counts.rejected()));
                let session = ReportedSession {
                    // All routes before it are in the table, and End-of-RIB follows them.
                    has_end_of_rib: PerFamily::from_fn(|family| session.has_end_of_rib(family)),
                    rejected_before: rejected.sum(),
                    session,
                    status,
                };
                write_start(out, &session);
                done.up.push(id);
                place.insert(session);
            }
        }
        done
    }

    /// Returns the families in which neighbors have sent End-of-RIB since the last call. Only the first one of a session
    /// counts.
    pub(super) fn take_end_of_ribs(&mut self) -> Vec<(PeerId, Family)> {
        let mut taken = Vec::new();
        for (id, known) in &mut self.known {
            for family in Family::ALL {
                if !known.has_end_of_rib[family] && known.session.has_end_of_rib(family) {
                    known.has_end_of_rib[family] = true;
                    taken.push((*id, family));
                }
            }
        }
        taken
    }

    /// Reports that no session is monitored any more. Returns the number of messages.
    pub(super) fn end_all(&mut self, loc_rib: &PeerHeader, out: &mut Vec<u8>) -> u64 {
        let mut messages = 0;
        for (_, known) in self.known.drain() {
            let header = at(known.header(RibView::AdjRibInPre), unix_us());
            write_peer_down(out, &header, PeerDown::DECONFIGURED, &[]);
            messages += 1;
        }
        if std::mem::take(&mut self.has_loc_rib) {
            let header = at(*loc_rib, unix_us());
            write_peer_down(out, &header, PeerDown::LOCAL_SYSTEM_CLOSED, &table_name());
            messages += 1;
        }
        messages
    }
}

/// The header of messages about the Loc-RIB.
pub(super) fn loc_rib_header(config: &Config) -> PeerHeader {
    let address = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    let bgp_id = u32::from(config.router_id);
    PeerHeader::global(address, config.asn, bgp_id, RibView::LocRib)
}

/// Appends the Peer Up of the Loc-RIB. Both OPENs describe its routes (RFC 9069 §5.2).
pub(super) fn write_loc_rib_up(out: &mut Vec<u8>, loc_rib: &PeerHeader) {
    let open = loc_rib_open(loc_rib.asn, loc_rib.bgp_id);
    let table = Tlv {
        kind: information::TABLE_NAME,
        value: TABLE.as_bytes(),
    };
    let (header, address) = (at(*loc_rib, unix_us()), loc_rib.address);
    write_peer_up(out, &header, address, (0, 0), &open, &open, &[table]);
}

fn loc_rib_open(asn: Asn, bgp_id: u32) -> Vec<u8> {
    let families = Family::ALL.map(|family| Capability::MultiProtocol(family.afi_safi()));
    let mut capabilities = families.to_vec();
    capabilities.push(Capability::FourOctetAs(asn));
    let mut open = Vec::new();
    Open::new(asn, 0, bgp_id, capabilities).encode(&mut open);
    open
}

/// The data of a Peer Down of the Loc-RIB (RFC 9069 §5.3).
fn table_name() -> Vec<u8> {
    let mut data = information::TABLE_NAME.to_be_bytes().to_vec();
    data.extend_from_slice(&(TABLE.len() as u16).to_be_bytes());
    data.extend_from_slice(TABLE.as_bytes());
    data
}

fn write_start(out: &mut Vec<u8>, one: &ReportedSession) {
    let session = &one.session;
    let header = at(one.header(RibView::AdjRibInPre), session.since_unix_us);
    let unknown = match session.address {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let local = session.local.map(|local| local.ip().to_canonical());
    let local = local.filter(|local| local.is_ipv4() == unknown.is_ipv4());
    let port = |address: Option<std::net::SocketAddr>| address.map_or(0, |one| one.port());
    write_peer_up(
        out,
        &header,
        local.unwrap_or(unknown),
        (port(session.local), port(session.remote)),
        &session.opens.sent,
        &session.opens.received,
        &[],
    );
}

fn write_end(out: &mut Vec<u8>, one: &ReportedSession, reason: Option<&DownReason>) {
    let header = at(one.header(RibView::AdjRibInPre), unix_us());
    let mut data = Vec::new();
    let reason = match reason {
        Some(DownReason::Sent(notification)) => {
            notification.encode(&mut data);
            PeerDown::LOCAL_NOTIFICATION
        }
        Some(DownReason::Received(notification)) => {
            notification.encode(&mut data);
            PeerDown::REMOTE_NOTIFICATION
        }
        Some(DownReason::Restarting) => {
            data.extend_from_slice(&MANUAL_STOP.to_be_bytes());
            PeerDown::LOCAL_EVENT
        }
        Some(DownReason::ConnectionLost | DownReason::ConnectFailed | DownReason::Replaced) => {
            PeerDown::REMOTE_NO_DATA
        }
        None => PeerDown::DECONFIGURED,
    };
    write_peer_down(out, &header, reason, &data);
}

/// The event ManualStop (RFC 4271 §8.1.2).
const MANUAL_STOP: u16 = 2;

fn at(header: PeerHeader, unix_us: u64) -> PeerHeader {
    PeerHeader {
        unix_us: Some(unix_us),
        ..header
    }
}
