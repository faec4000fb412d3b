//! Converts MRT records to UPDATEs for a session with four-octet AS numbers.

use std::net::IpAddr;

use rutter_net::{AfiSafi, Asn, Family, PerFamily, Prefix};
use rutter_wire::attr::{AttrContext, Attributes, code, parse, write_mp_reach, write_mp_unreach};
use rutter_wire::mrt::{
    Content, Message, MrtError, PeerEntry, PeerIndexTable, Record, Rib, RibEntry, TableDump,
};
use rutter_wire::nlri::{write_ipv4, write_ipv6};
use rutter_wire::update::Writer;

use rutter_mrt::{RecordOutcome, Unreadable};

/// Converts records to UPDATEs.
#[derive(Default)]
pub(super) struct Converter {
    index: Vec<PeerEntry>,
    block: Vec<u8>,
}

/// The content of one UPDATE, before the session's form is applied.
pub(super) struct UpdateContent<'a> {
    /// The peer that sent it.
    pub peer: (IpAddr, Asn),
    /// The attributes in canonical form; empty for a withdrawal.
    pub attributes: Attributes<'a>,
    /// The next hop in MP_REACH_NLRI, for `mp_announced`.
    pub mp_next_hop: &'a [u8],
    pub withdrawn: Vec<(Prefix, u32)>,
    pub announced: Vec<(Prefix, u32)>,
    pub mp_announced: Vec<(Prefix, u32)>,
}

impl Converter {
    /// Calls a callback with each UPDATE of a record. Parts that cannot be read are left out.
    pub fn convert(
        &mut self,
        record: &Record<'_>,
        visit: &mut dyn FnMut(&UpdateContent<'_>),
    ) -> RecordOutcome {
        match record.decode() {
            Ok(Content::PeerIndexTable(table)) => self.peers(&table).into(),
            Ok(Content::Rib(rib)) => self.rib(&rib, visit),
            Ok(Content::TableDump(route)) => self.old_route(&route, visit).into(),
            Ok(Content::Message(message)) => self.message(&message, visit).into(),
            Ok(Content::StateChange(_)) => RecordOutcome::Read,
            Ok(Content::Other) => RecordOutcome::Skipped,
            Err(error) => RecordOutcome::Unreadable(error.into()),
        }
    }

    fn peers(&mut self, table: &PeerIndexTable<'_>) -> Result<(), Unreadable> {
        self.index.clear();
        for peer in table.peers() {
            self.index.push(peer?);
        }
        Ok(())
    }

    fn rib(&self, rib: &Rib<'_>, visit: &mut dyn FnMut(&UpdateContent<'_>)) -> RecordOutcome {
        let mut outcome = RecordOutcome::Read;
        for entry in rib.entries() {
            outcome = outcome.and(self.rib_entry(rib, entry, visit).err());
        }
        outcome
    }

    fn rib_entry(
        &self,
        rib: &Rib<'_>,
        entry: Result<RibEntry<'_>, MrtError>,
        visit: &mut dyn FnMut(&UpdateContent<'_>),
    ) -> Result<(), Unreadable> {
        let entry = entry?;
        let index = entry.peer_index;
        let known = self.index.get(usize::from(index));
        let peer = known.ok_or(Unreadable::NoSuchPeer(index))?;
        if !entry.is_whole() {
            return Err(Unreadable::Attributes);
        }
        let route = (rib.prefix, entry.path_id);
        table_route((peer.address, peer.asn), route, &entry, entry.view(), visit);
        Ok(())
    }

    fn old_route(
        &mut self,
        route: &TableDump<'_>,
        visit: &mut dyn FnMut(&UpdateContent<'_>),
    ) -> Result<(), Unreadable> {
        let entry = route.entry();
        if !entry.is_whole() {
            return Err(Unreadable::Attributes);
        }
        self.block.clear();
        parse(route.attributes, &lenient(false), &mut Vec::new()).write_canonical(&mut self.block);
        let view = Attributes::from_canonical(&self.block);
        let peer = (route.peer, route.peer_asn);
        table_route(peer, (route.prefix, 0), &entry, view, visit);
        Ok(())
    }

    /// An UPDATE with a fault in its routes yields the routes before the fault.
    fn message(
        &mut self,
        message: &Message<'_>,
        visit: &mut dyn FnMut(&UpdateContent<'_>),
    ) -> Result<(), Unreadable> {
        let update = rutter_mrt::update(message)?;
        let Some(sections) = update.filter(|_| !message.local) else {
            return Ok(());
        };
        let context = lenient(message.session.as4);
        let parsed = parse(sections.attributes, &context, &mut Vec::new());
        self.block.clear();
        parsed.write_canonical(&mut self.block);
        let path = message.add_path;
        let mut update = UpdateContent {
            peer: (message.session.peer, message.session.peer_asn),
            attributes: Attributes::from_canonical(&self.block),
            mp_next_hop: &[],
            withdrawn: Vec::new(),
            announced: Vec::new(),
            mp_announced: Vec::new(),
        };
        let ipv4 = AfiSafi::IPV4_UNICAST;
        let mut read = rutter_mrt::routes(ipv4, sections.withdrawn, path, &mut update.withdrawn);
        read = read.and(rutter_mrt::routes(
            ipv4,
            sections.nlri,
            path,
            &mut update.announced,
        ));
        if let Some(unreach) = parsed.mp_unreach() {
            let (family, gone) = (unreach.afi_safi, unreach.withdrawn);
            read = read.and(rutter_mrt::routes(
                family,
                gone,
                path,
                &mut update.withdrawn,
            ));
        }
        if let Some(reach) = parsed.mp_reach() {
            update.mp_next_hop = reach.next_hop;
            let into = &mut update.mp_announced;
            read = read.and(rutter_mrt::routes(reach.afi_safi, reach.nlri, path, into));
        }
        visit(&update);
        read
    }
}

fn table_route(
    peer: (IpAddr, Asn),
    route: (Prefix, u32),
    entry: &RibEntry<'_>,
    attributes: Attributes<'_>,
    visit: &mut dyn FnMut(&UpdateContent<'_>),
) {
    let in_mp = entry.view().value(code::MP_REACH_NLRI).is_some();
    let (announced, mp_announced) = match in_mp {
        true => (Vec::new(), vec![route]),
        false => (vec![route], Vec::new()),
    };
    visit(&UpdateContent {
        peer,
        attributes,
        mp_next_hop: entry.next_hop().unwrap_or_default(),
        withdrawn: Vec::new(),
        announced,
        mp_announced,
    });
}

impl UpdateContent<'_> {
    /// The number of announced and withdrawn routes.
    pub fn routes(&self) -> usize {
        self.withdrawn.len() + self.announced.len() + self.mp_announced.len()
    }

    /// Appends the UPDATEs. `add_path` names the families with path identifiers. IPv4 routes in NLRI share one UPDATE
    /// with IPv4 withdrawals; each other part is a separate UPDATE.
    pub fn write(&self, out: &mut Vec<u8>, add_path: PerFamily<bool>) {
        let of = |routes: &[(Prefix, u32)], family: Family| -> Vec<(Prefix, u32)> {
            let of_family = routes.iter().filter(|(p, _)| p.family() == family);
            of_family.copied().collect()
        };
        let v4 = of(&self.withdrawn, Family::Ipv4Unicast);
        if !v4.is_empty() || !self.announced.is_empty() {
            let mut writer = Writer::new(out);
            write_prefixes(writer.out(), &v4, add_path);
            if self.announced.is_empty() {
                writer.attributes();
            } else {
                self.put_attributes(writer.attributes());
            }
            write_prefixes(writer.nlri(), &self.announced, add_path);
            writer.finish();
        }
        let v6 = of(&self.withdrawn, Family::Ipv6Unicast);
        if !v6.is_empty() {
            let mut writer = Writer::new(out);
            let attributes = writer.attributes();
            write_mp_unreach(attributes, AfiSafi::IPV6_UNICAST, |out| {
                write_prefixes(out, &v6, add_path)
            });
            writer.nlri();
            writer.finish();
        }
        for family in Family::ALL {
            let routes = of(&self.mp_announced, family);
            if routes.is_empty() {
                continue;
            }
            let mut writer = Writer::new(out);
            let attributes = writer.attributes();
            self.put_attributes(attributes);
            write_mp_reach(attributes, family.afi_safi(), self.mp_next_hop, |out| {
                write_prefixes(out, &routes, add_path);
            });
            writer.nlri();
            writer.finish();
        }
    }

    fn put_attributes(&self, out: &mut Vec<u8>) {
        let moved = |code: u8| matches!(code, code::MP_REACH_NLRI | code::MP_UNREACH_NLRI);
        for raw in self.attributes.iter().filter(|raw| !moved(raw.code)) {
            out.extend_from_slice(raw.wire);
        }
    }
}

fn write_prefixes(out: &mut Vec<u8>, routes: &[(Prefix, u32)], add_path: PerFamily<bool>) {
    for (prefix, path_id) in routes {
        let id = add_path[prefix.family()].then_some(*path_id);
        match prefix {
            Prefix::V4(prefix) => write_ipv4(out, id, *prefix),
            Prefix::V6(prefix) => write_ipv6(out, id, *prefix),
        }
    }
}

fn lenient(as4: bool) -> AttrContext {
    AttrContext {
        as4,
        external: false,
        accept_as_set: true,
        has_ipv4_nlri: false,
    }
}
