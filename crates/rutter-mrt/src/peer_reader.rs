//! The peers of files, and the UPDATEs of each, whatever the types of the records.

use std::collections::HashMap;
use std::net::IpAddr;

use rutter_net::{AfiSafi, Asn, Family, PerFamily, Prefix};
use rutter_wire::attr::{Attributes, code};
use rutter_wire::frame::MessageType;
use rutter_wire::mrt::{
    BgpSession, Content, Message, PeerIndexTable, Record, Rib, RibEntry, StateChange, TableDump,
};
use rutter_wire::update;

use crate::message::frame;
use crate::{PeerIndex, RecordOutcome, Skipped, Unreadable, UpdateForm};

/// Reads records as events of numbered peers. Its numbers stay the same over all files that it reads.
#[derive(Default)]
pub struct PeerReader {
    peers: Vec<FilePeer>,
    numbers: HashMap<FilePeer, usize>,
    /// The number of each peer of the latest PEER_INDEX_TABLE.
    index: PeerIndex<usize>,
    body: Vec<u8>,
}

/// A peer as a file names it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FilePeer {
    /// Its address.
    pub address: IpAddr,
    /// Its AS.
    pub asn: Asn,
    /// The address and AS of the other end; `None` in table dumps, which do not have them.
    pub local: Option<(IpAddr, Asn)>,
    /// The number of peers with this address and AS before it in its PEER_INDEX_TABLE.
    pub listed_before: u32,
}

/// An event of a peer.
#[derive(Clone, Copy, Debug)]
pub enum PeerEvent<'a> {
    /// A PEER_INDEX_TABLE names the peer.
    Listed {
        /// Its BGP Identifier.
        bgp_id: u32,
    },
    /// The peer sent an OPEN.
    Opened {
        /// Its BGP Identifier.
        bgp_id: u32,
    },
    /// An UPDATE, or an entry of a table dump as the UPDATE that announces it.
    Update(FileUpdate<'a>),
    /// The session was established.
    Established,
    /// The session is not established any more. An attempt to establish one that failed is no event.
    Down,
}

/// An UPDATE of a file.
#[derive(Clone, Copy, Debug)]
pub struct FileUpdate<'a> {
    /// The form of its numbers and prefixes.
    pub form: UpdateForm,
    /// The families of its routes.
    pub families: UpdateFamilies,
    /// The other end of the session sent it, not the peer (RFC 6396 §4.4.3).
    pub is_local: bool,
    /// The UPDATE without its header.
    pub body: &'a [u8],
}

/// The families of an UPDATE's routes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UpdateFamilies {
    /// IPv4 and IPv6 unicast.
    pub unicast: PerFamily<bool>,
    /// There are others.
    pub others: bool,
}

/// The FSM state of RFC 6396 §4.4.1 in which routes are exchanged.
const ESTABLISHED: u16 = 6;
/// The first state. The numbers of all others but Established are between.
const IDLE: u16 = 1;

/// The form of the formats without four-octet AS numbers.
const OLD_FORM: UpdateForm = UpdateForm {
    as4: false,
    add_path: false,
};

impl PeerReader {
    /// A reader that knows no peer.
    pub fn new() -> Self {
        PeerReader::default()
    }

    /// All peers so far. Their places are their numbers.
    pub fn peers(&self) -> &[FilePeer] {
        &self.peers
    }

    /// Reads a record. Calls `each` with the number of a peer, the peer, and what happened to it. Returns the
    /// outcome, that of `each` included.
    pub fn read(
        &mut self,
        record: &Record<'_>,
        mut each: impl FnMut(usize, &FilePeer, PeerEvent<'_>) -> RecordOutcome,
    ) -> RecordOutcome {
        let content = match record.decode() {
            Ok(content) => content,
            Err(error) => return error.into(),
        };
        match content {
            Content::PeerIndexTable(table) => self.peer_index(&table, &mut each),
            Content::Rib(rib) => self.rib(&rib, &mut each),
            Content::TableDump(route) => self.old_route(&route, &mut each),
            Content::Message(message) => self.message(&message, &mut each),
            Content::OldUpdate(old) => {
                let peer = self.number_of(session_peer(&old.session));
                each(peer, &self.peers[peer], update(OLD_FORM, old.body))
            }
            Content::StateChange(change) => self.state_change(&change, &mut each),
            Content::Other => Skipped::Type(record.kind, record.subtype).into(),
        }
    }

    fn number_of(&mut self, peer: FilePeer) -> usize {
        *self.numbers.entry(peer).or_insert_with(|| {
            self.peers.push(peer);
            self.peers.len() - 1
        })
    }

    fn peer_index(
        &mut self,
        table: &PeerIndexTable<'_>,
        each: &mut impl FnMut(usize, &FilePeer, PeerEvent<'_>) -> RecordOutcome,
    ) -> RecordOutcome {
        let mut outcome = RecordOutcome::READ;
        let mut index = std::mem::take(&mut self.index);
        let read = index.read(table, |listed, listed_before| {
            let peer = self.number_of(FilePeer {
                address: listed.address,
                asn: listed.asn,
                local: None,
                listed_before,
            });
            let bgp_id = listed.bgp_id;
            outcome.add(&each(peer, &self.peers[peer], PeerEvent::Listed { bgp_id }));
            peer
        });
        self.index = index;
        outcome.and(read)
    }

    fn rib(
        &mut self,
        rib: &Rib<'_>,
        each: &mut impl FnMut(usize, &FilePeer, PeerEvent<'_>) -> RecordOutcome,
    ) -> RecordOutcome {
        let form = UpdateForm {
            as4: true,
            add_path: rib.add_path,
        };
        let mut index = std::mem::take(&mut self.index);
        // A later route of the same peer replaces the one before.
        let outcome = index.entries(rib, |peer, entry, _| {
            self.entry(*peer, rib.prefix, entry, form, each)
        });
        self.index = index;
        outcome
    }

    fn old_route(
        &mut self,
        route: &TableDump<'_>,
        each: &mut impl FnMut(usize, &FilePeer, PeerEvent<'_>) -> RecordOutcome,
    ) -> RecordOutcome {
        let peer = self.number_of(FilePeer {
            address: route.peer,
            asn: route.peer_asn,
            local: None,
            listed_before: 0,
        });
        self.entry(peer, route.prefix, &route.entry(), OLD_FORM, each)
    }

    /// Reads a table entry as an UPDATE that announces it.
    fn entry(
        &mut self,
        peer: usize,
        prefix: Prefix,
        entry: &RibEntry<'_>,
        form: UpdateForm,
        each: &mut impl FnMut(usize, &FilePeer, PeerEvent<'_>) -> RecordOutcome,
    ) -> RecordOutcome {
        self.body.clear();
        entry.write_update(&mut self.body, prefix, form.add_path);
        let update = FileUpdate {
            form,
            families: UpdateFamilies::of(prefix.family()),
            is_local: false,
            body: &self.body,
        };
        each(peer, &self.peers[peer], PeerEvent::Update(update))
    }

    fn message(
        &mut self,
        message: &Message<'_>,
        each: &mut impl FnMut(usize, &FilePeer, PeerEvent<'_>) -> RecordOutcome,
    ) -> RecordOutcome {
        let (frame, outcome) = frame(message);
        let Some(frame) = frame else {
            return outcome;
        };
        let event = match frame.kind {
            MessageType::Update => PeerEvent::Update(FileUpdate {
                form: UpdateForm {
                    as4: message.session.as4,
                    add_path: message.add_path,
                },
                families: UpdateFamilies::in_update(frame.body),
                is_local: message.local,
                body: frame.body,
            }),
            MessageType::Open if !message.local => match bgp_id_in_open(frame.body) {
                Some(bgp_id) => PeerEvent::Opened { bgp_id },
                None => return Unreadable::Message.into(),
            },
            _ => return outcome,
        };
        let peer = self.number_of(session_peer(&message.session));
        outcome.and(each(peer, &self.peers[peer], event))
    }

    fn state_change(
        &mut self,
        change: &StateChange,
        each: &mut impl FnMut(usize, &FilePeer, PeerEvent<'_>) -> RecordOutcome,
    ) -> RecordOutcome {
        let event = match (change.old, change.new) {
            (_, ESTABLISHED) => PeerEvent::Established,
            // An attempt that failed. The routes of the session before, or of another one, stay.
            (IDLE..ESTABLISHED, _) => return RecordOutcome::READ,
            // States that are none count too, so that no routes stay that are gone.
            _ => PeerEvent::Down,
        };
        let peer = self.number_of(session_peer(&change.session));
        each(peer, &self.peers[peer], event)
    }
}

fn session_peer(session: &BgpSession) -> FilePeer {
    FilePeer {
        address: session.peer,
        asn: session.peer_asn,
        local: Some((session.local, session.local_asn)),
        listed_before: 0,
    }
}

fn update(form: UpdateForm, body: &[u8]) -> PeerEvent<'_> {
    PeerEvent::Update(FileUpdate {
        form,
        families: UpdateFamilies::in_update(body),
        is_local: false,
        body,
    })
}

/// The BGP Identifier in the body of an OPEN: after the version, the AS and the Hold Time (RFC 4271 §4.2).
fn bgp_id_in_open(body: &[u8]) -> Option<u32> {
    let octets = body.get(5..)?.first_chunk::<4>()?;
    Some(u32::from_be_bytes(*octets))
}

impl UpdateFamilies {
    /// One family.
    pub fn of(family: Family) -> Self {
        let mut unicast = PerFamily::both(false);
        unicast[family] = true;
        UpdateFamilies {
            unicast,
            others: false,
        }
    }

    fn in_update(body: &[u8]) -> Self {
        let mut families = UpdateFamilies {
            unicast: PerFamily::both(false),
            others: false,
        };
        let (sections, _) = update::split_reported(body);
        let has_ipv4 = !sections.withdrawn.is_empty() || !sections.nlri.is_empty();
        families.unicast[Family::Ipv4Unicast] = has_ipv4;
        let view = Attributes::as_reported(sections.attributes, true);
        for code in [code::MP_REACH_NLRI, code::MP_UNREACH_NLRI] {
            let Some([high, low, safi, ..]) = view.value(code) else {
                continue;
            };
            let afi = u16::from_be_bytes([*high, *low]);
            match (AfiSafi { afi, safi: *safi }).family() {
                Some(family) => families.unicast[family] = true,
                None => families.others = true,
            }
        }
        families
    }
}
