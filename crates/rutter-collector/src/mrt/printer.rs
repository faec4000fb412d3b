//! Formats records as lines of `bgpdump -m`, or as one JSON object a line.

use std::io::Write as _;
use std::net::IpAddr;

use rutter_mrt::{RecordOutcome, Unreadable};
use rutter_net::{AfiSafi, Asn, Prefix};
use rutter_wire::attr::{AttrContext, Attributes, parse};
use rutter_wire::mrt::{
    BgpSession, Content, Message, PeerIndexTable, Record, Rib, RibEntry, TableDump,
};

use super::attributes::{self, next_hop};
use super::number::{address, number, prefix};

/// Turns records into text.
pub(super) struct Printer {
    json: bool,
    text: Vec<u8>,
    routes: u64,
    /// The formatted peers of the table, by index.
    peers: Vec<Vec<u8>>,
    cache: Vec<Cached>,
    head: Vec<u8>,
}

/// The formatted text of an attribute block.
#[derive(Clone, Default)]
struct Cached {
    block: Vec<u8>,
    printed: Vec<u8>,
}

/// The number of cached blocks. Most routes of a table share their block with others.
const CACHE: usize = 1 << 15;

impl Printer {
    /// Creates a printer of JSON, or else of text.
    pub fn new(json: bool) -> Self {
        Printer {
            json,
            text: Vec::new(),
            routes: 0,
            peers: Vec::new(),
            cache: vec![Cached::default(); CACHE],
            head: Vec::new(),
        }
    }

    /// Returns the text since the last `clear`.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Clears the text.
    pub fn clear(&mut self) {
        self.text.clear();
    }

    /// Returns the number of routes since the last call.
    pub fn take_routes(&mut self) -> u64 {
        std::mem::take(&mut self.routes)
    }

    /// Prints a record, or the readable part of a malformed record.
    pub fn record(&mut self, record: &Record<'_>) -> RecordOutcome {
        match record.decode() {
            Ok(Content::PeerIndexTable(table)) => self.peers(&table).into(),
            Ok(Content::Rib(rib)) => self.rib(&rib, record),
            Ok(Content::TableDump(route)) => self.old_route(&route, record).into(),
            Ok(Content::Message(message)) => self.message(&message, record).into(),
            Ok(Content::StateChange(change)) => {
                self.state_change(&change.session, (change.old, change.new), record);
                RecordOutcome::Read
            }
            Ok(Content::Other) => RecordOutcome::Skipped,
            Err(error) => RecordOutcome::Unreadable(error.into()),
        }
    }

    fn peers(&mut self, table: &PeerIndexTable<'_>) -> Result<(), Unreadable> {
        self.peers.clear();
        for peer in table.peers() {
            let peer = peer?;
            let mut text = Vec::new();
            write_peer(&mut text, self.json, peer.address, peer.asn);
            self.peers.push(text);
        }
        Ok(())
    }

    fn rib(&mut self, rib: &Rib<'_>, record: &Record<'_>) -> RecordOutcome {
        let mut route = Vec::new();
        prefix(&mut route, rib.prefix);
        let kind = if self.json { "state" } else { "TABLE_DUMP2" };
        self.begin(kind, "B", record);
        let mut outcome = RecordOutcome::Read;
        for entry in rib.entries() {
            let printed = match entry {
                Ok(entry) => self.rib_entry(&entry, &route),
                Err(error) => Err(error.into()),
            };
            outcome = outcome.and(printed.err());
        }
        outcome
    }

    fn rib_entry(&mut self, entry: &RibEntry<'_>, route: &[u8]) -> Result<(), Unreadable> {
        let index = entry.peer_index;
        let peer = self.peers.get(usize::from(index));
        let peer = peer.ok_or(Unreadable::NoSuchPeer(index))?;
        let start = self.text.len();
        self.text.extend_from_slice(&self.head);
        self.text.extend_from_slice(peer);
        if self.json {
            self.text.extend_from_slice(b"\"prefix\":\"");
        }
        self.text.extend_from_slice(route);
        if self.json {
            let _ = write!(self.text, "\",\"path_id\":{}", entry.path_id);
        }
        if let Err(fault) = self.attributes_of(entry) {
            self.text.truncate(start);
            return Err(fault);
        }
        self.routes += 1;
        Ok(())
    }

    /// Prints the attributes of an entry, from the cache if they are in it.
    fn attributes_of(&mut self, entry: &RibEntry<'_>) -> Result<(), Unreadable> {
        let cached = &mut self.cache[hash(entry.attributes) as usize % CACHE];
        if cached.block != entry.attributes || cached.printed.is_empty() {
            if !entry.is_whole() {
                return Err(Unreadable::Attributes);
            }
            cached.block.clear();
            cached.block.extend_from_slice(entry.attributes);
            cached.printed.clear();
            let next_hop = entry.next_hop().and_then(next_hop);
            let print = if self.json {
                attributes::json
            } else {
                attributes::text
            };
            print(&mut cached.printed, &entry.view(), next_hop);
        }
        self.text.extend_from_slice(&cached.printed);
        Ok(())
    }

    fn old_route(&mut self, route: &TableDump<'_>, record: &Record<'_>) -> Result<(), Unreadable> {
        let entry = route.entry();
        if !entry.is_whole() {
            return Err(Unreadable::Attributes);
        }
        let kind = if self.json { "state" } else { "TABLE_DUMP" };
        self.begin(kind, "B", record);
        let hop = entry.next_hop().and_then(next_hop);
        let parsed = parse(route.attributes, &lenient(false), &mut Vec::new());
        let mut block = Vec::new();
        parsed.write_canonical(&mut block);
        let view = Attributes::from_canonical(&block);
        self.route(
            route.peer,
            route.peer_asn,
            (route.prefix, 0),
            Some((&view, hop)),
        );
        Ok(())
    }

    /// Prints the routes of a message. The routes before a malformed one are printed too.
    fn message(&mut self, message: &Message<'_>, record: &Record<'_>) -> Result<(), Unreadable> {
        let Some(sections) = rutter_mrt::update(message)? else {
            return Ok(());
        };
        let parsed = parse(
            sections.attributes,
            &lenient(message.session.as4),
            &mut Vec::new(),
        );
        let mut block = Vec::new();
        parsed.write_canonical(&mut block);
        let view = Attributes::from_canonical(&block);
        let (path, v4) = (message.add_path, AfiSafi::IPV4_UNICAST);
        let mut routes = Vec::new();
        let mut read = rutter_mrt::routes(v4, sections.withdrawn, path, &mut routes);
        if let Some(unreach) = parsed.mp_unreach() {
            let (family, gone) = (unreach.afi_safi, unreach.withdrawn);
            read = read.and(rutter_mrt::routes(family, gone, path, &mut routes));
        }
        self.routes_of(message, record, &routes, None);
        routes.clear();
        read = read.and(rutter_mrt::routes(v4, sections.nlri, path, &mut routes));
        let hop = parsed.next_hop().map(IpAddr::from);
        self.routes_of(message, record, &routes, Some((&view, hop)));
        if let Some(reach) = parsed.mp_reach() {
            routes.clear();
            read = read.and(rutter_mrt::routes(
                reach.afi_safi,
                reach.nlri,
                path,
                &mut routes,
            ));
            let hop = next_hop(reach.next_hop);
            self.routes_of(message, record, &routes, Some((&view, hop)));
        }
        read
    }

    fn routes_of(
        &mut self,
        message: &Message<'_>,
        record: &Record<'_>,
        routes: &[(Prefix, u32)],
        attributes: Option<(&Attributes<'_>, Option<IpAddr>)>,
    ) {
        let (word, letter) = match attributes {
            Some(_) => ("announce", "A"),
            None => ("withdraw", "W"),
        };
        self.begin_message(word, letter, record);
        for route in routes {
            let session = &message.session;
            self.route(session.peer, session.peer_asn, *route, attributes);
        }
    }

    fn begin_message(&mut self, word: &str, letter: &str, record: &Record<'_>) {
        let kind = match (self.json, record.kind) {
            (true, _) => word,
            (false, EXTENDED) => "BGP4MP_ET",
            (false, _) => "BGP4MP",
        };
        self.begin(kind, letter, record);
    }

    fn state_change(&mut self, session: &BgpSession, (old, new): (u16, u16), record: &Record<'_>) {
        self.begin_message("state-change", "STATE", record);
        self.text.extend_from_slice(&self.head);
        write_peer(&mut self.text, self.json, session.peer, session.peer_asn);
        let _ = match self.json {
            true => writeln!(self.text, "\"old\":{old},\"new\":{new}}}"),
            false => writeln!(self.text, "{old}|{new}"),
        };
    }

    /// Formats the common start of all lines of a record.
    fn begin(&mut self, kind: &str, letter: &str, record: &Record<'_>) {
        let head = &mut self.head;
        head.clear();
        let (seconds, micros) = (record.unix_us / 1_000_000, record.unix_us % 1_000_000);
        let _ = match (self.json, kind) {
            (true, _) => write!(head, "{{\"time\":{},\"kind\":\"{kind}\",", record.unix_us),
            (false, "BGP4MP_ET") => write!(head, "{kind}|{seconds}.{micros:06}|{letter}|"),
            (false, _) => write!(head, "{kind}|{seconds}|{letter}|"),
        };
    }

    /// Prints a line. Without attributes the route is withdrawn.
    fn route(
        &mut self,
        peer: IpAddr,
        asn: Asn,
        (route, path_id): (Prefix, u32),
        attributes: Option<(&Attributes<'_>, Option<IpAddr>)>,
    ) {
        self.routes += 1;
        let text = &mut self.text;
        text.extend_from_slice(&self.head);
        write_peer(text, self.json, peer, asn);
        if self.json {
            text.extend_from_slice(b"\"prefix\":\"");
        }
        prefix(text, route);
        if self.json {
            let _ = write!(text, "\",\"path_id\":{path_id}");
        }
        match (attributes, self.json) {
            (Some((view, hop)), false) => attributes::text(text, view, hop),
            (Some((view, hop)), true) => attributes::json(text, view, hop),
            (None, false) => text.push(b'\n'),
            (None, true) => text.extend_from_slice(b"}\n"),
        }
    }
}

/// The MRT type BGP4MP_ET.
const EXTENDED: u16 = 17;

fn write_peer(out: &mut Vec<u8>, json: bool, peer: IpAddr, asn: Asn) {
    if json {
        out.extend_from_slice(b"\"peer_address\":\"");
    }
    address(out, peer);
    out.extend_from_slice(if json { b"\",\"peer_asn\":" } else { b"|" });
    number(out, asn.0);
    out.push(if json { b',' } else { b'|' });
}

/// Returns a context that accepts every AS path.
fn lenient(as4: bool) -> AttrContext {
    AttrContext {
        as4,
        external: false,
        accept_as_set: true,
        has_ipv4_nlri: false,
    }
}

/// Returns a fast hash. It only selects a slot of the cache.
fn hash(bytes: &[u8]) -> u64 {
    let mut hash = bytes.len() as u64;
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let word = <[u8; 8]>::try_from(chunk).map_or(0, u64::from_le_bytes);
        hash = (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
    for octet in chunks.remainder() {
        hash = (hash.rotate_left(5) ^ u64::from(*octet)).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
    hash ^ hash >> 32
}
