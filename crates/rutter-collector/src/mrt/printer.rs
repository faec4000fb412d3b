//! Formats records as lines of `bgpdump -m`, or as one JSON object a line.

use std::io::Write as _;
use std::net::IpAddr;

use rutter_mrt::{
    EntryReader, PeerIndex, RecordOutcome, Skipped, UpdateForm, UpdateReader, UpdateRoutes,
};
use rutter_net::{Asn, Prefix};
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
    peers: PeerIndex<Vec<u8>>,
    /// Table entries, and the text of their attributes.
    entries: EntryReader<Vec<u8>>,
    head: Vec<u8>,
    updates: UpdateReader,
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

impl Printer {
    /// Creates a printer of JSON, or else of text.
    pub fn new(json: bool) -> Self {
        Printer {
            json,
            text: Vec::new(),
            routes: 0,
            peers: PeerIndex::default(),
            entries: EntryReader::default(),
            head: Vec::new(),
            updates: UpdateReader::default(),
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
            Ok(Content::PeerIndexTable(table)) => self.peers(&table),
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
                RecordOutcome::READ
            }
            Ok(Content::Other) => Skipped::Type(record.kind, record.subtype).into(),
            Err(error) => error.into(),
        }
    }

    fn peers(&mut self, table: &PeerIndexTable<'_>) -> RecordOutcome {
        let json = self.json;
        self.peers.read(table, |peer, _| {
            let mut text = Vec::new();
            write_peer(&mut text, json, peer.address, peer.asn);
            text
        })
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
        let mut peers = std::mem::take(&mut self.peers);
        let outcome = peers.entries(rib, |peer, entry, _| {
            self.rib_entry(peer, entry, rib, &route)
        });
        self.peers = peers;
        outcome
    }

    fn rib_entry(
        &mut self,
        peer: &[u8],
        entry: &RibEntry<'_>,
        rib: &Rib<'_>,
        route: &[u8],
    ) -> RecordOutcome {
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
        self.end_entry(start, entry, rib.prefix, true)
    }

    /// Ends the line of an entry with its attributes. An entry without readable ones has no line.
    fn end_entry(
        &mut self,
        start: usize,
        entry: &RibEntry<'_>,
        prefix: Prefix,
        as4: bool,
    ) -> RecordOutcome {
        let json = self.json;
        let read = self.entries.read(entry, prefix, as4, |text, update| {
            text.clear();
            print_attributes(json, text, &update.attributes, update.entry_next_hop());
        });
        match read {
            Ok((text, outcome)) => {
                self.text.extend_from_slice(text);
                self.routes += 1;
                outcome.clone()
            }
            Err(fault) => {
                self.text.truncate(start);
                fault.into()
            }
        }
    }

    fn old_route(&mut self, route: &TableDump<'_>, record: &Record<'_>) -> RecordOutcome {
        let kind = if self.json { "state" } else { "TABLE_DUMP" };
        self.begin(kind, "B", record);
        let start = self.text.len();
        self.start_route((route.peer, route.peer_asn), (route.prefix, None));
        self.end_entry(start, &route.entry(), route.prefix, false)
    }

    fn message(&mut self, message: &Message<'_>, record: &Record<'_>) -> RecordOutcome {
        let (body, outcome) = rutter_mrt::update(message);
        let Some(body) = body else {
            return outcome;
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
        outcome.and(self.update(&source, body, record))
    }

    /// Prints the routes of an UPDATE. The routes before a malformed one are printed too.
    fn update(
        &mut self,
        source: &UpdateSource<'_>,
        body: &[u8],
        record: &Record<'_>,
    ) -> RecordOutcome {
        let mut updates = std::mem::take(&mut self.updates);
        let update = updates.read(body, source.form);
        self.update_routes(source, &update, record);
        let outcome = update.outcome;
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
        peer: (IpAddr, Asn),
        route: (Prefix, Option<u32>),
        attributes: Option<(&Attributes<'_>, Option<IpAddr>)>,
    ) {
        self.routes += 1;
        self.start_route(peer, route);
        match attributes {
            Some((view, hop)) => print_attributes(self.json, &mut self.text, view, hop),
            None if self.json => self.text.extend_from_slice(b"}\n"),
            None => self.text.push(b'\n'),
        }
    }

    /// Prints a line up to the attributes.
    fn start_route(&mut self, (peer, asn): (IpAddr, Asn), (route, path_id): (Prefix, Option<u32>)) {
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
    }
}

/// The MRT type BGP4MP_ET.
const EXTENDED: u16 = 17;
/// The MRT type BGP.
const OLDEST: u16 = 5;
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

fn write_peer(out: &mut Vec<u8>, json: bool, peer: IpAddr, asn: Asn) {
    if json {
        out.extend_from_slice(b"\"peer_address\":\"");
    }
    address(out, peer);
    out.extend_from_slice(if json { b"\",\"peer_asn\":" } else { b"|" });
    number(out, asn.0);
    out.push(if json { b',' } else { b'|' });
}
