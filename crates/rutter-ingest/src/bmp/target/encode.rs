//! Peers and routes as BMP messages.

use std::net::IpAddr;

use rutter_net::{AfiSafi, Asn, Family, PerFamily, Prefix};
use rutter_rib::{PeerSummary, RouteView, SessionInfo, View};
use rutter_wire::attr::write_mp_reach;
use rutter_wire::bmp::{
    PeerDown, PeerHeader, PeerType, RibView, Tlv, information, write_peer_down, write_peer_up,
    write_route_monitoring,
};
use rutter_wire::capability::{AddPathFamily, AddPathMode, Capability};
use rutter_wire::frame::{MessageType, begin, finish};
use rutter_wire::nlri::{write_ipv4, write_ipv6};
use rutter_wire::open::Open;
use rutter_wire::update::{Writer, write_end_of_rib};

use crate::bmp::router::instance;

/// A peer whose session is established.
#[derive(Clone)]
pub(super) struct Peer {
    /// The name of the monitored router; empty for our own sessions.
    pub router: String,
    header: PeerHeader,
    /// The name of a Loc-RIB (RFC 9069 §4.4), if it has one.
    table: Option<String>,
    as4: bool,
    add_path: PerFamily<bool>,
}

impl Peer {
    /// `None` while there is no session.
    pub fn of(summary: &PeerSummary) -> Option<Self> {
        let session: &SessionInfo = summary.session.as_ref()?;
        let monitored = summary.neighbor.monitored.as_deref();
        let view = monitored.map_or(View::AdjRibInPre, |one| one.view);
        let distinguisher = monitored.map_or(0, |one| one.distinguisher);
        let address = match view {
            View::LocRib => IpAddr::from([0; 4]),
            _ => summary.neighbor.address,
        };
        let mut header = PeerHeader::global(
            address,
            session.remote_asn,
            session.remote_bgp_id,
            wire_view(view),
        );
        header.distinguisher = distinguisher;
        header.kind = match monitored.map_or(PeerType::Global, |one| one.peer_type) {
            // Several peers of an MRT file may share one address.
            PeerType::Global if distinguisher != 0 => PeerType::RouteDistinguisher,
            reported => reported,
        };
        let named =
            view == View::LocRib && *summary.neighbor.name != instance("loc-rib", distinguisher);
        let family = |f: Family| session.family(f).is_some_and(|one| one.add_path_receive);
        Some(Peer {
            router: monitored.map_or_else(String::new, |one| one.router.to_string()),
            header,
            table: named.then(|| {
                // The next station appends the distinguisher again.
                let (name, behind) = (&*summary.neighbor.name, instance("", distinguisher));
                name.strip_suffix(&*behind).unwrap_or(name).to_owned()
            }),
            as4: session.as4,
            add_path: PerFamily::from_fn(family),
        })
    }

    /// Returns whether both are views of one session.
    pub fn is_of_same_session(&self, other: &Peer) -> bool {
        let key = |peer: &Peer| {
            (
                peer.header.kind,
                peer.header.distinguisher,
                peer.header.address,
            )
        };
        self.router == other.router && key(self) == key(other)
    }

    /// Returns whether the UPDATEs of both have the same form. Each message states the size of its AS numbers.
    pub fn is_read_like(&self, other: &Peer) -> bool {
        self.is_of_same_session(other) && self.add_path == other.add_path
    }

    /// Appends a Peer Up.
    pub fn write_peer_up(&self, out: &mut Vec<u8>, unix_us: u64) {
        let out_view = matches!(
            self.header.view(),
            RibView::AdjRibOutPre | RibView::AdjRibOutPost
        );
        // The receiver of the routes is the side that receives several paths.
        let (router, peer) = match out_view {
            false => (AddPathMode::Receive, AddPathMode::Send),
            true => (AddPathMode::Send, AddPathMode::Receive),
        };
        let (router, peer) = match self.header.view() {
            RibView::LocRib => (AddPathMode::Both, AddPathMode::Both),
            _ => (router, peer),
        };
        let sent = self.open(self.header.asn, router);
        let received = self.open(self.header.asn, peer);
        let table = self.table.as_ref().map(|table| Tlv {
            kind: information::TABLE_NAME,
            value: table.as_bytes(),
        });
        let local = match self.header.address {
            IpAddr::V4(_) => IpAddr::from([0; 4]),
            IpAddr::V6(_) => IpAddr::from([0; 16]),
        };
        let header = self.at(unix_us);
        write_peer_up(
            out,
            &header,
            local,
            (0, 0),
            &sent,
            &received,
            table.as_slice(),
        );
    }

    /// An OPEN that describes the form of the routes. The real OPEN is not known.
    fn open(&self, asn: Asn, mode: AddPathMode) -> Vec<u8> {
        let families = [AfiSafi::IPV4_UNICAST, AfiSafi::IPV6_UNICAST];
        let mut capabilities = families.map(Capability::MultiProtocol).to_vec();
        if self.as4 || self.header.kind == PeerType::LocRib {
            capabilities.push(Capability::FourOctetAs(asn));
        }
        let with_paths = Family::ALL.into_iter().filter(|f| self.add_path[*f]);
        let with_paths: Vec<AddPathFamily> = with_paths
            .map(|family| AddPathFamily {
                afi_safi: family.afi_safi(),
                mode,
            })
            .collect();
        if !with_paths.is_empty() {
            capabilities.push(Capability::AddPath(with_paths));
        }
        let mut out = Vec::new();
        Open::new(asn, 0, self.header.bgp_id, capabilities).encode(&mut out);
        out
    }

    /// Appends a Peer Down.
    pub fn write_peer_down(&self, out: &mut Vec<u8>, unix_us: u64) {
        write_peer_down(out, &self.at(unix_us), PeerDown::REMOTE_NO_DATA, &[]);
    }

    /// Appends an UPDATE of this peer unchanged.
    pub fn write_update(&self, out: &mut Vec<u8>, body: &[u8], unix_us: u64) {
        let mut message = Vec::with_capacity(body.len() + 19);
        let start = begin(&mut message, MessageType::Update);
        message.extend_from_slice(body);
        finish(&mut message, start);
        write_route_monitoring(out, &self.at(unix_us).with_as4(self.as4), &message);
    }

    /// Appends a route of the table.
    pub fn write_route(&self, out: &mut Vec<u8>, prefix: Prefix, route: &RouteView<'_>) {
        let path_id = self.add_path[prefix.family()].then_some(route.path_id);
        let mut message = Vec::new();
        let mut writer = Writer::new(&mut message);
        let attributes = writer.attributes();
        attributes.extend_from_slice(route.attrs.block());
        let view = route.attrs.attributes();
        let plain = match (prefix, route.attrs.next_hop()) {
            (Prefix::V4(prefix), None) => Some(prefix),
            (Prefix::V4(prefix), Some(IpAddr::V4(_))) if view.next_hop().is_some() => Some(prefix),
            _ => None,
        };
        if plain.is_none() {
            let next_hop = next_hop(route);
            let family = prefix.family().afi_safi();
            write_mp_reach(attributes, family, &next_hop, |out| match prefix {
                Prefix::V4(prefix) => write_ipv4(out, path_id, prefix),
                Prefix::V6(prefix) => write_ipv6(out, path_id, prefix),
            });
        }
        let nlri = writer.nlri();
        if let Some(prefix) = plain {
            write_ipv4(nlri, path_id, prefix);
        }
        writer.finish();
        // The table stores four-octet AS numbers for every session.
        write_route_monitoring(out, &self.header.with_as4(true), &message);
    }

    /// Appends the End-of-RIB of a family.
    pub fn write_end_of_rib(&self, out: &mut Vec<u8>, family: Family) {
        let mut message = Vec::new();
        write_end_of_rib(&mut message, family.afi_safi());
        write_route_monitoring(out, &self.header, &message);
    }

    fn at(&self, unix_us: u64) -> PeerHeader {
        PeerHeader {
            unix_us: Some(unix_us),
            ..self.header
        }
    }
}

fn wire_view(view: View) -> RibView {
    match view {
        View::AdjRibInPre => RibView::AdjRibInPre,
        View::AdjRibInPost => RibView::AdjRibInPost,
        View::LocRib => RibView::LocRib,
        View::AdjRibOutPre => RibView::AdjRibOutPre,
        View::AdjRibOutPost => RibView::AdjRibOutPost,
    }
}

fn next_hop(route: &RouteView<'_>) -> Vec<u8> {
    let mut octets = match route.attrs.next_hop() {
        Some(IpAddr::V4(address)) => address.octets().to_vec(),
        Some(IpAddr::V6(address)) => address.octets().to_vec(),
        None => Vec::new(),
    };
    if let Some(link_local) = route.attrs.link_local_next_hop() {
        octets.extend_from_slice(&link_local.octets());
    }
    octets
}
