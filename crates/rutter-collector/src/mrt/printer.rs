//! Formats records as lines of `bgpdump -m`, or as one JSON object a line.

use std::io::Write as _;
use std::net::IpAddr;

use rutter_mrt::{RecordOutcome, Skipped, Unreadable, UpdateForm, UpdateReader, UpdateRoutes};
use rutter_net::{Asn, Family, Prefix};
use rutter_wire::attr::Attributes;
use rutter_wire::mrt::{
    BgpSession, Content, Message, PeerIndexTable, Record, Rib, RibEntry, TableDump,
};

use super::attributes;
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
    updates: UpdateReader,
    body: Vec<u8>,
}

/// The facts about an UPDATE that its record states.
struct UpdateSource<'a> {
    /// The first field of its lines.
    kind: &'a str,
    session: &'a BgpSession,
    /// The collector sent it itself.
    is_local: bool,
    form: UpdateForm,
}

/// The formatted text of the attributes of a table entry.
#[derive(Clone)]
struct Cached {
    family: Family,
    block: Vec<u8>,
    printed: Vec<u8>,
    outcome: RecordOutcome,
}

/// The number of cached blocks. Most routes of a table share their block with others.
const CACHE: usize = 1 << 15;

impl Printer {
    /// Creates a printer of JSON, or else of text.
    pub fn new(json: bool) -> Self {
        let empty = Cached {
            family: Family::Ipv4Unicast,
            block: Vec::new(),
            printed: Vec::new(),
            outcome: RecordOutcome::Read,
        };
        Printer {
            json,
            text: Vec::new(),
            routes: 0,
            peers: Vec::new(),
            cache: vec![empty; CACHE],
            head: Vec::new(),
            updates: UpdateReader::default(),
            body: Vec::new(),
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
            Ok(Content::TableDump(route)) => self.old_route(&route, record),
            Ok(Content::Message(message)) => self.message(&message, record),
            Ok(Content::OldUpdate(update)) => {
                let source = UpdateSource {
                    kind: "BGP",
                    session: &update.session,
                    is_local: false,
                    form: UpdateForm {
                        as4: false,
                        add_path: false,
                    },
                };
                self.update(&source, update.body, record)
            }
            Ok(Content::StateChange(change)) => {
                self.state_change(&change.session, (change.old, change.new), record);
                RecordOutcome::Read
            }
            Ok(Content::Other) => {
                RecordOutcome::Skipped(Skipped::Type(record.kind, record.subtype))
            }
            Err(error) => error.into(),
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
        let kind = match (self.json, rib.add_path) {
            (true, _) => "state",
            (false, false) => "TABLE_DUMP2",
            (false, true) => "TABLE_DUMP2_AP",
        };
        self.begin(kind, "B", record);
        let mut outcome = RecordOutcome::Read;
        for entry in rib.entries() {
            outcome = outcome.and(match entry {
                Ok(entry) => self.rib_entry(&entry, rib, &route),
                Err(error) => error.into(),
            });
        }
        outcome
    }

    fn rib_entry(&mut self, entry: &RibEntry<'_>, rib: &Rib<'_>, route: &[u8]) -> RecordOutcome {
        let index = entry.peer_index;
        let Some(peer) = self.peers.get(usize::from(index)) else {
            return Unreadable::NoSuchPeer(index).into();
        };
        let start = self.text.len();
        self.text.extend_from_slice(&self.head);
        self.text.extend_from_slice(peer);
        if self.json {
            self.text.extend_from_slice(b"\"prefix\":\"");
        }
        self.text.extend_from_slice(route);
        if self.json {
            let _ = write!(self.text, "\",\"path_id\":{}", entry.path_id);
        } else if rib.add_path {
            self.text.push(b'|');
            number(&mut self.text, entry.path_id);
        }
        match self.attributes_of(entry, rib.prefix) {
            Ok(outcome) => {
                self.routes += 1;
                outcome
            }
            Err(fault) => {
                self.text.truncate(start);
                fault.into()
            }
        }
    }

    /// Prints the attributes of an entry, from the cache if they are in it.
    fn attributes_of(
        &mut self,
        entry: &RibEntry<'_>,
        prefix: Prefix,
    ) -> Result<RecordOutcome, Unreadable> {
        let cached = &mut self.cache[hash(entry.attributes) as usize % CACHE];
        let family = prefix.family();
        let known = cached.block == entry.attributes && cached.family == family;
        if !known || cached.printed.is_empty() {
            self.body.clear();
            entry.write_update(&mut self.body, prefix, false);
            let update = self.updates.read(&self.body, TABLE_FORM)?;
            cached.family = family;
            cached.outcome = update.outcome;
            cached.block.clear();
            cached.block.extend_from_slice(entry.attributes);
            cached.printed.clear();
            let printed = &mut cached.printed;
            print_attributes(self.json, printed, &update.attributes, next_hop_of(&update));
        }
        self.text.extend_from_slice(&cached.printed);
        Ok(cached.outcome)
    }

    fn old_route(&mut self, route: &TableDump<'_>, record: &Record<'_>) -> RecordOutcome {
        let kind = if self.json { "state" } else { "TABLE_DUMP" };
        self.begin(kind, "B", record);
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        route.entry().write_update(&mut body, route.prefix, false);
        let mut updates = std::mem::take(&mut self.updates);
        let form = UpdateForm {
            as4: false,
            ..TABLE_FORM
        };
        let outcome = match updates.read(&body, form) {
            Ok(update) => {
                let attributes = Some((&update.attributes, next_hop_of(&update)));
                let peer = (route.peer, route.peer_asn);
                self.route(peer, (route.prefix, None), attributes);
                update.outcome
            }
            Err(fault) => fault.into(),
        };
        self.updates = updates;
        self.body = body;
        outcome
    }

    fn message(&mut self, message: &Message<'_>, record: &Record<'_>) -> RecordOutcome {
        let body = match rutter_mrt::update(message) {
            Ok(Some(body)) => body,
            Ok(None) => return RecordOutcome::Read,
            Err(fault) => return fault.into(),
        };
        let form = UpdateForm {
            as4: message.session.as4,
            add_path: message.add_path,
        };
        let kind = match (record.kind, message.local, message.add_path) {
            (EXTENDED, false, false) => "BGP4MP_ET",
            (EXTENDED, false, true) => "BGP4MP_ET_AP",
            (EXTENDED, true, false) => "BGP4MP_ET_LOCAL",
            (EXTENDED, true, true) => "BGP4MP_ET_LOCAL_AP",
            (_, false, false) => "BGP4MP",
            (_, false, true) => "BGP4MP_AP",
            (_, true, false) => "BGP4MP_LOCAL",
            (_, true, true) => "BGP4MP_LOCAL_AP",
        };
        let source = UpdateSource {
            kind,
            session: &message.session,
            is_local: message.local,
            form,
        };
        self.update(&source, body, record)
    }

    /// Prints the routes of an UPDATE. The routes before a malformed one are printed too.
    fn update(
        &mut self,
        source: &UpdateSource<'_>,
        body: &[u8],
        record: &Record<'_>,
    ) -> RecordOutcome {
        let mut updates = std::mem::take(&mut self.updates);
        let outcome = match updates.read(body, source.form) {
            Ok(update) => {
                self.update_routes(source, &update, record);
                update.outcome
            }
            Err(fault) => fault.into(),
        };
        self.updates = updates;
        outcome
    }

    fn update_routes(
        &mut self,
        source: &UpdateSource<'_>,
        update: &UpdateRoutes<'_>,
        record: &Record<'_>,
    ) {
        let attributes = &update.attributes;
        let parts = [
            (update.withdrawn, None),
            (update.announced, Some((attributes, update.next_hop))),
            (
                update.mp_announced,
                Some((attributes, update.mp_next_hop_address)),
            ),
        ];
        for (routes, attributes) in parts {
            let (word, letter) = match attributes {
                Some(_) => ("announce", "A"),
                None => ("withdraw", "W"),
            };
            self.begin(if self.json { word } else { source.kind }, letter, record);
            if self.json && source.is_local {
                self.head.extend_from_slice(b"\"local\":true,");
            }
            for (prefix, path_id) in routes {
                let path_id = source.form.add_path.then_some(*path_id);
                let peer = (source.session.peer, source.session.peer_asn);
                self.route(peer, (*prefix, path_id), attributes);
            }
        }
    }

    fn state_change(&mut self, session: &BgpSession, (old, new): (u16, u16), record: &Record<'_>) {
        let kind = match (self.json, record.kind) {
            (true, _) => "state-change",
            (false, EXTENDED) => "BGP4MP_ET",
            (false, OLDEST) => "BGP",
            (false, _) => "BGP4MP",
        };
        self.begin(kind, "STATE", record);
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
        let _ = match (self.json, record.kind) {
            (true, _) => write!(head, "{{\"time\":{},\"kind\":\"{kind}\",", record.unix_us),
            (false, EXTENDED) => write!(head, "{kind}|{seconds}.{micros:06}|{letter}|"),
            (false, _) => write!(head, "{kind}|{seconds}|{letter}|"),
        };
    }

    /// Prints a line. Without attributes the route is withdrawn.
    fn route(
        &mut self,
        (peer, asn): (IpAddr, Asn),
        (route, path_id): (Prefix, Option<u32>),
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
            let _ = write!(text, "\",\"path_id\":{}", path_id.unwrap_or(0));
        } else if let Some(path_id) = path_id {
            text.push(b'|');
            number(text, path_id);
        }
        match attributes {
            Some((view, hop)) => print_attributes(self.json, text, view, hop),
            None if self.json => text.extend_from_slice(b"}\n"),
            None => text.push(b'\n'),
        }
    }
}

/// The MRT type BGP4MP_ET.
const EXTENDED: u16 = 17;
/// The MRT type BGP.
const OLDEST: u16 = 5;
/// The form of an UPDATE that is made of a table entry.
const TABLE_FORM: UpdateForm = UpdateForm {
    as4: true,
    add_path: false,
};

fn print_attributes(
    json: bool,
    out: &mut Vec<u8>,
    attributes: &Attributes<'_>,
    next_hop: Option<IpAddr>,
) {
    match json {
        true => attributes::json(out, attributes, next_hop),
        false => attributes::text(out, attributes, next_hop),
    }
}

/// The next hop of the only route of a table entry.
fn next_hop_of(entry: &UpdateRoutes<'_>) -> Option<IpAddr> {
    match entry.announced {
        [] => entry.mp_next_hop_address,
        _ => entry.next_hop,
    }
}

fn write_peer(out: &mut Vec<u8>, json: bool, peer: IpAddr, asn: Asn) {
    if json {
        out.extend_from_slice(b"\"peer_address\":\"");
    }
    address(out, peer);
    out.extend_from_slice(if json { b"\",\"peer_asn\":" } else { b"|" });
    number(out, asn.0);
    out.push(if json { b',' } else { b'|' });
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
