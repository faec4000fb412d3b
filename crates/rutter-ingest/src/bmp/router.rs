//! One monitored router, and the effect of its messages on the table. No I/O; the caller passes the time.

mod odd_updates;
mod record;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use rutter_events::distinguisher_text;
use rutter_net::{Family, PerFamily};
use rutter_rib::{Monitored, PeerId, Source};
use rutter_wire::bmp::{
    BmpFault, Message, Mirrored, PeerDown, PeerHeader, PeerType, PeerUp, RouteMirroring,
    RouteMonitoring, StatisticsReport, Tlvs, information, termination,
};

use super::changes::Changes;
use super::monitored::{Key, Oddities, Session, VIEWS, ViewPeer, index, table_view};
use super::peer_shares::{PeerShare, PeerShares};
use super::reading::{Reading, only_with_path_ids};
use super::status::{Counter, PeerStatus, RouterStatus};
use crate::writer::{self, Writer};

pub(super) use record::families;

/// A router and the sessions that it monitors.
pub(super) struct Router {
    address: SocketAddr,
    name: Arc<str>,
    writer: Writer,
    sessions: BTreeMap<Key, (Session, Vec<Counter>)>,
    /// The views that are peers of the table.
    views: PeerShare,
    most_views: usize,
    changes: Changes,
    /// An Initiation message was received.
    introduced: bool,
    /// Peers of the table carry the router's name.
    named: bool,
    /// The warning about too many peers was logged.
    was_full: bool,
    /// The number of warnings that may still be logged.
    lines: u32,
    /// The sessions without a Peer Up whose warning was logged; at most [`MAX_WARNINGS`].
    unknown: Vec<Key>,
    status: RouterStatus,
}

/// The connection's next step after a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Continue to read.
    Continue,
    /// The router terminated the connection, with this reason.
    Close(String),
}

impl Router {
    /// A router before its first message. `most_views` limits its sessions, and its peers in the table; `shares` limits the
    /// peers of all routers of its address.
    pub fn new(
        writer: Writer,
        address: SocketAddr,
        most_views: usize,
        shares: &PeerShares,
        unix_us: u64,
    ) -> Self {
        let name = address.ip().to_canonical().to_string();
        Router {
            address,
            name: name.as_str().into(),
            writer,
            sessions: BTreeMap::new(),
            views: shares.of(address.ip()),
            most_views,
            changes: Changes::default(),
            introduced: false,
            named: false,
            was_full: false,
            lines: MAX_WARNINGS,
            unknown: Vec::new(),
            status: RouterStatus {
                name,
                address,
                description: String::new(),
                since_us: unix_us,
                messages: 0,
                faults: 0,
                unknown: 0,
                malformed: 0,
                without_next_hop: 0,
                without_peer_up: 0,
                other_families: Vec::new(),
                mirrored: 0,
                peers: Vec::new(),
            },
        }
    }

    /// Handles a message. Its routes are in the table after the next [`Router::commit`] at the latest.
    pub fn handle(&mut self, message: &Message<'_>, unix_us: u64) -> Next {
        self.status.messages += 1;
        match message {
            Message::RouteMonitoring(monitored) => {
                let all = std::iter::successors(Some(*monitored), |one| one.another());
                all.for_each(|monitored| self.route_monitoring(&monitored, unix_us));
            }
            Message::PeerUp(up) => self.peer_up(up, unix_us),
            Message::PeerDown(down) => self.peer_down(down, unix_us),
            Message::Initiation(information) => self.initiation(*information),
            Message::StatisticsReport(report) => self.statistics(report),
            Message::RouteMirroring(mirroring) => self.mirroring(mirroring),
            Message::Termination(information) => {
                return Next::Close(termination_reason(*information));
            }
            Message::Other(_) => {}
        }
        Next::Continue
    }

    /// Applies pending routes to the table.
    pub fn commit(&mut self) {
        self.writer.settle();
    }

    /// Removes all peers, because the connection is closed.
    pub fn end(&mut self, reason: &str, unix_us: u64) {
        let sessions = std::mem::take(&mut self.sessions);
        let views = sessions.values().flat_map(|(session, _)| session.views);
        let peers: Vec<PeerId> = views.flatten().map(|view| view.peer).collect();
        self.writer.end(&peers, reason, unix_us);
        self.writer.settle();
        self.views.shrink(peers.len());
    }

    /// Counts a message that could not be decoded.
    pub fn count_fault(&mut self, fault: BmpFault) {
        self.status.faults += 1;
        if self.admit_warning() {
            tracing::warn!(router = %self.name, %fault, "a BMP message is passed over");
        }
    }

    /// Returns whether the router has sent a valid BMP message.
    pub fn has_sent_bmp(&self) -> bool {
        self.status.messages > 0
    }

    /// Logs the sessions that changed, once the changes have settled.
    pub fn log_changes(&mut self) {
        if let Some(changes) = self.changes.settled() {
            tracing::info!(
                router = %self.name, sessions = self.sessions.len(), %changes, "monitored sessions"
            );
        }
    }

    /// Limits warnings: a faulty router may repeat its fault a million times.
    fn admit_warning(&mut self) -> bool {
        self.lines = self.lines.saturating_sub(1);
        self.lines > 0
    }

    /// The remote address of its connection.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The router's sysName, or its address.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Fixes the name. Later Initiation messages do not change it.
    pub fn set_name(&mut self, name: &str) {
        self.name = name.into();
        self.status.name = name.to_owned();
        self.named = true;
    }

    /// Returns whether its peers of the table carry its name.
    pub fn is_named(&self) -> bool {
        self.named
    }

    /// The status for operators.
    pub fn status(&self) -> RouterStatus {
        let peer = |(session, counters): &(Session, Vec<Counter>)| PeerStatus {
            address: session.address,
            asn: session.asn,
            distinguisher: session.distinguisher,
            counters: counters.clone(),
        };
        RouterStatus {
            peers: self.sessions.values().map(peer).collect(),
            ..self.status.clone()
        }
    }

    fn initiation(&mut self, information: Tlvs<'_>) {
        let name = information.find(information::SYS_NAME);
        let name = name.map_or_else(String::new, |name| sys_name(&name.text()));
        if !self.named && !PLACEHOLDER_NAMES.contains(&name.as_str()) {
            self.name = name.as_str().into();
            self.status.name = name;
        }
        if let Some(description) = information.find(information::SYS_DESCR) {
            self.status.description = printable(&description.text());
        }
        if !std::mem::replace(&mut self.introduced, true) {
            tracing::info!(
                router = %self.name, address = %self.address, description = %self.status.description,
                "BMP router sent its name"
            );
        }
    }

    fn peer_up(&mut self, up: &PeerUp<'_>, unix_us: u64) {
        let header = &up.peer;
        let key = Key::of(header);
        if self.adopt(up, unix_us) {
            return;
        }
        // A second Peer Up for the same session replaces the first.
        self.close(key, "the router reports the session again", unix_us);
        // Removes the old peers from the table before new ones are added.
        self.writer.settle();
        if self.sessions.len() >= self.most_views {
            self.full();
            return;
        }
        let table = up.information.find(information::TABLE_NAME);
        let table = table.map(|table| printable(&table.text()));
        let name = session_name(header, table.filter(|name| !name.is_empty()));
        tracing::debug!(router = %self.name, peer = %name, asn = %header.asn, "monitored session up");
        self.add_session(header, name, Reading::of(up), false);
    }

    fn add_session(&mut self, header: &PeerHeader, name: String, reading: Reading, implied: bool) {
        let address = match header.kind {
            // RFC 9069 leaves the address 0: the table is the router's own.
            PeerType::LocRib => self.address.ip().to_canonical(),
            _ => header.address,
        };
        self.changes.up(&name);
        let session = Session {
            name,
            address,
            asn: header.asn,
            bgp_id: header.bgp_id,
            distinguisher: header.distinguisher,
            reading,
            is_implied: implied,
            logged: Oddities::default(),
            views: [None; VIEWS],
        };
        self.sessions.insert(Key::of(header), (session, Vec::new()));
    }

    /// Returns whether a message adds a session, so that the router needs its name.
    pub fn adds_session(&self, message: &Message<'_>) -> bool {
        match message {
            Message::PeerUp(_) => true,
            Message::RouteMonitoring(monitored) => self.lacks_peer_up(&monitored.peer),
            _ => false,
        }
    }

    /// Returns whether routes of a Loc-RIB come without a Peer Up. Some routers send none, although RFC 9069 §4.4
    /// requires it.
    fn lacks_peer_up(&self, header: &PeerHeader) -> bool {
        header.kind == PeerType::LocRib && !self.sessions.contains_key(&Key::of(header))
    }

    /// Adds the session of a Loc-RIB that has no Peer Up.
    fn imply_peer_up(&mut self, header: &PeerHeader) {
        if self.sessions.len() >= self.most_views {
            return self.full();
        }
        let name = session_name(header, None);
        if self.admit_warning() {
            tracing::warn!(
                router = %self.name, peer = %name,
                "the router reports routes of its Loc-RIB, but has sent no Peer Up for it: they are shown"
            );
        }
        self.add_session(header, name, Reading::default(), true);
    }

    /// Takes a Peer Up for a session whose routes came before it. They stay, under the name that they have. Returns
    /// `false` if there is no such session, or if it has another AS.
    fn adopt(&mut self, up: &PeerUp<'_>, unix_us: u64) -> bool {
        let Some((session, _)) = self.sessions.get_mut(&Key::of(&up.peer)) else {
            return false;
        };
        let (view, reading) = (up.peer.view(), Reading::of(up));
        let Some(known) = &mut session.views[index(view)] else {
            return false;
        };
        if !session.is_implied || session.asn != up.peer.asn {
            return false;
        }
        session.is_implied = false;
        session.reading = reading;
        session.bgp_id = up.peer.bgp_id;
        let agreed = reading.add_path(view);
        known.add_path = PerFamily::from_fn(|family| match known.shown[family] {
            true => known.add_path[family],
            false => agreed[family],
        });
        let info = writer::session(session.asn, session.bgp_id, known.as4, known.add_path);
        self.writer.up(known.peer, info, unix_us);
        tracing::debug!(router = %self.name, peer = %session.name, "monitored session up after its routes");
        true
    }

    fn peer_down(&mut self, down: &PeerDown<'_>, unix_us: u64) {
        let reason = down.to_string();
        let key = Key::of(&down.peer);
        if let Some((session, _)) = self.sessions.get(&key) {
            tracing::debug!(
                router = %self.name, peer = %session.name, %reason, "monitored session down"
            );
            self.changes.down(&session.name, &reason);
        }
        self.close(key, &reason, unix_us);
    }

    /// Removes a session and all its views from the table.
    fn close(&mut self, key: Key, reason: &str, unix_us: u64) {
        let Some((session, _)) = self.sessions.remove(&key) else {
            return;
        };
        let views = session.views.into_iter().flatten();
        let peers: Vec<PeerId> = views.map(|view| view.peer).collect();
        self.views.shrink(peers.len());
        self.writer.end(&peers, reason, unix_us);
    }

    fn route_monitoring(&mut self, monitored: &RouteMonitoring<'_>, unix_us: u64) {
        if self.lacks_peer_up(&monitored.peer) {
            self.imply_peer_up(&monitored.peer);
        }
        let Some(peer) = self.view_peer(&monitored.peer, unix_us) else {
            self.status.unknown += 1;
            self.warn_unknown(&monitored.peer);
            return;
        };
        self.check_path_ids(monitored, unix_us);
        let pushed = self.writer.update(peer, monitored.update(), unix_us);
        self.count_oddities(monitored, &pushed);
        self.count_other_families(monitored);
    }

    /// Logs once that the routes of a session are passed over. A session that the limit refused has a warning already.
    fn warn_unknown(&mut self, header: &PeerHeader) {
        let key = Key::of(header);
        let has_warning =
            self.was_full || self.sessions.contains_key(&key) || self.unknown.contains(&key);
        if !has_warning && self.admit_warning() {
            self.unknown.push(key);
            tracing::warn!(
                router = %self.name, peer = %session_name(header, None),
                "the router reports routes, but there is no Peer Up in force for their session: they are not shown"
            );
        }
    }

    /// Returns the table's peer for a view. Its session matches the AS number size in the header.
    fn view_peer(&mut self, header: &PeerHeader, unix_us: u64) -> Option<PeerId> {
        let (session, _) = self.sessions.get_mut(&Key::of(header))?;
        let at = index(header.view());
        let (asn, bgp_id, as4) = (session.asn, session.bgp_id, header.as4());
        if let Some(known) = &mut session.views[at] {
            if known.as4 != as4 {
                known.as4 = as4;
                let info = writer::session(asn, bgp_id, as4, known.add_path);
                self.writer.up(known.peer, info, unix_us);
            }
            return Some(known.peer);
        }
        if self.views.peers() >= self.most_views {
            self.full();
            return None;
        }
        if !self.views.grow(self.writer.rib().free_monitored_ids()) {
            self.refuse_peer();
            return None;
        }
        let monitored = Monitored {
            router: Arc::clone(&self.name),
            source: Source::Bmp,
            view: table_view(header.view()),
            peer_type: header.kind,
            distinguisher: header.distinguisher,
        };
        let added = self
            .writer
            .add_peer(&session.name, session.address, session.asn, monitored);
        let peer = match added {
            Ok(peer) => peer,
            Err(error) => {
                self.views.shrink(1);
                if self.admit_warning() {
                    tracing::error!(router = %self.name, %error, "a monitored peer is left out");
                }
                return None;
            }
        };
        let add_path = session.reading.add_path(header.view());
        let info = writer::session(asn, bgp_id, as4, add_path);
        self.writer.up(peer, info, unix_us);
        session.views[at] = Some(ViewPeer {
            peer,
            as4,
            add_path,
            shown: PerFamily::both(false),
        });
        Some(peer)
    }

    /// Logs once that the limit of sessions and views is reached.
    fn full(&mut self) {
        if !std::mem::replace(&mut self.was_full, true) {
            tracing::warn!(
                router = %self.name, most = self.most_views,
                "no more peers of this router are taken: raise bmp.max-peers"
            );
        }
    }

    /// Logs now and then that the routers of an address have so many peers that others would find none.
    fn refuse_peer(&self) {
        if let Some(left_out) = self.views.admit_refusal() {
            tracing::warn!(
                router = %self.name, address = %self.address.ip(), left_out,
                "no more peers of the routers at this address, or in its IPv6 /64, are taken: they have half of the peers that the table can take \
                 beside all others; report fewer sessions"
            );
        }
    }

    /// Checks that negotiated path identifiers are really present. An UPDATE that is only valid without them shows
    /// that the router omits them. Without a Peer Up, an UPDATE shows that it has them if it is only valid with them, or
    /// names a prefix twice without them.
    fn check_path_ids(&mut self, monitored: &RouteMonitoring<'_>, unix_us: u64) {
        let header = &monitored.peer;
        let Some((session, _)) = self.sessions.get_mut(&Key::of(header)) else {
            return;
        };
        let Some(view) = &mut session.views[index(header.view())] else {
            return;
        };
        for family in Family::ALL {
            let is_known = !view.add_path[family] && !session.is_implied;
            if is_known || view.shown[family] {
                continue;
            }
            let Some(with) = only_with_path_ids(monitored.update(), family, session.is_implied)
            else {
                continue;
            };
            view.shown[family] = true;
            if with == view.add_path[family] {
                continue;
            }
            view.add_path[family] = with;
            let info = writer::session(session.asn, session.bgp_id, view.as4, view.add_path);
            self.writer.up(view.peer, info, unix_us);
            let what = match with {
                false => "path identifiers were agreed on, but the router leaves them out",
                true => "the router reports path identifiers without a Peer Up that agrees on them",
            };
            tracing::info!(router = %self.name, peer = %session.name, %family, "{what}");
        }
    }

    fn statistics(&mut self, report: &StatisticsReport<'_>) {
        let Some((_, counters)) = self.sessions.get_mut(&Key::of(&report.peer)) else {
            return;
        };
        for one in report.iter().take(MAX_COUNTERS) {
            let counter = Counter {
                kind: one.kind,
                afi_safi: one.afi_safi,
                name: one.name(),
                value: one.value,
            };
            let same = |c: &Counter| c.kind == one.kind && c.afi_safi == one.afi_safi;
            match counters.iter().position(same) {
                Some(at) => counters[at] = counter,
                None if counters.len() < MAX_COUNTERS => counters.push(counter),
                None => {}
            }
        }
    }

    fn mirroring(&mut self, mirroring: &RouteMirroring<'_>) {
        for mirrored in mirroring.iter() {
            match mirrored {
                Mirrored::Message(_) => self.status.mirrored += 1,
                Mirrored::Errored => {
                    self.warn_mirrored(
                        mirroring,
                        "the router treats a malformed UPDATE as a withdrawal",
                    );
                }
                Mirrored::Lost => self.warn_mirrored(mirroring, "mirrored messages were lost"),
            }
        }
    }

    fn warn_mirrored(&mut self, mirroring: &RouteMirroring<'_>, what: &str) {
        if self.admit_warning() {
            tracing::warn!(router = %self.name, peer = %mirroring.peer.address, "{what}");
        }
    }
}

/// The name of a session's peers. `table` is the name of a Loc-RIB.
fn session_name(header: &PeerHeader, table: Option<String>) -> String {
    let address = header.address;
    let named = |name: &str| instance(name, header.distinguisher);
    match header.kind {
        PeerType::LocRib => named(table.as_deref().unwrap_or("loc-rib")),
        // The distinguisher may be that of a VPN (RFC 7854 §4.2).
        PeerType::Local => named(&address.to_string()) + " local",
        // A distinguisher of 0 is shown, too: only the default instance has none.
        PeerType::RouteDistinguisher => {
            format!("{address} {}", distinguisher_text(header.distinguisher))
        }
        PeerType::Other(code) => named(&address.to_string()) + &format!(" type {code}"),
        PeerType::Global => named(&address.to_string()),
    }
}

/// The sysName values that mean "no name": empty, or BIRD's words.
const PLACEHOLDER_NAMES: [&str; 2] = ["", "Not defined"];
/// The number of warnings that a connection may log.
const MAX_WARNINGS: u32 = 20;
/// The number of counters kept for a session.
const MAX_COUNTERS: usize = 64;

fn termination_reason(information: Tlvs<'_>) -> String {
    let reason = information.find(termination::REASON).and_then(|tlv| {
        let octets = <[u8; 2]>::try_from(tlv.value).ok()?;
        Some(termination::words(u16::from_be_bytes(octets)))
    });
    let text = information.find(termination::STRING);
    match (reason, text) {
        (Some(reason), Some(text)) => format!("{reason}: {}", printable(&text.text())),
        (Some(reason), None) => reason.to_owned(),
        (None, Some(text)) => printable(&text.text()),
        (None, None) => "no reason given".to_owned(),
    }
}

/// Shortens and trims a sysName. Databases hold 255 characters, including a suffix such as ` #2`. Some ignore trailing
/// spaces when they compare names.
fn sys_name(text: &str) -> String {
    let shown: String = printable(text).chars().take(LONGEST_NAME).collect();
    shown.trim().to_owned()
}

/// The longest router name without its suffix, in characters.
const LONGEST_NAME: usize = 230;

/// The name of a peer in one of the router's instances. Several instances may have a peer with the same address.
pub(super) fn instance(name: &str, distinguisher: u64) -> String {
    match distinguisher {
        0 => name.to_owned(),
        _ => format!("{name} {}", distinguisher_text(distinguisher)),
    }
}

/// Removes control characters from a router's text and limits its length, for logs and rows.
fn printable(text: &str) -> String {
    let shown = text.chars().filter(|c| !c.is_control());
    shown.take(255).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_in_every_database() {
        assert_eq!(sys_name(" edge1 \u{0}"), "edge1");
        let long = "x".repeat(229) + " edge";
        assert_eq!(sys_name(&long), "x".repeat(229));
        assert_eq!(sys_name(&"ü".repeat(300)).chars().count(), LONGEST_NAME);
    }
}
