//! Converts MRT records to UPDATEs for a session with four-octet AS numbers.

use rutter_net::{AfiSafi, Family, PerFamily, Prefix};
use rutter_wire::attr::{Attributes, code, write_mp_reach, write_mp_unreach};
use rutter_wire::mrt::{
    BgpSession, Content, Message, PeerIndexTable, Record, Rib, RibEntry, TableDump,
};
use rutter_wire::nlri::{write_ipv4, write_ipv6};
use rutter_wire::update::Writer;

use rutter_mrt::{
    FilePeer, PeerIndex, RecordOutcome, Skipped, Unreadable, UpdateForm, UpdateReader,
};

/// Converts records to UPDATEs.
#[derive(Default)]
pub(super) struct Converter {
    index: PeerIndex<FilePeer>,
    body: Vec<u8>,
    updates: UpdateReader,
}

/// The content of one UPDATE, before the session's form is applied.
pub(super) struct UpdateContent<'a> {
    /// The peer that sent it.
    pub peer: FilePeer,
    /// The attributes in canonical form; empty for a withdrawal.
    pub attributes: Attributes<'a>,
    /// The next hop in MP_REACH_NLRI, for `mp_announced`.
    pub mp_next_hop: &'a [u8],
    pub withdrawn: &'a [(Prefix, u32)],
    pub announced: &'a [(Prefix, u32)],
    pub mp_announced: &'a [(Prefix, u32)],
}

impl Converter {
    /// Calls a callback with each UPDATE of a record. Parts that cannot be read are left out.
    pub fn convert(
        &mut self,
        record: &Record<'_>,
        visit: &mut dyn FnMut(&UpdateContent<'_>),
    ) -> RecordOutcome {
        match record.decode() {
            Ok(Content::PeerIndexTable(table)) => self.peers(&table),
            Ok(Content::Rib(rib)) => self.rib(&rib, visit),
            Ok(Content::TableDump(route)) => self.old_route(&route, visit),
            Ok(Content::Message(message)) => self.message(&message, visit),
            Ok(Content::OldUpdate(update)) => {
                let peer = session_peer(&update.session);
                self.update(peer, update.body, form(false, false), visit)
            }
            Ok(Content::StateChange(_)) => RecordOutcome::READ,
            Ok(Content::Other) => Skipped::Type(record.kind, record.subtype).into(),
            Err(error) => error.into(),
        }
    }

    fn peers(&mut self, table: &PeerIndexTable<'_>) -> RecordOutcome {
        self.index.read(table, |listed, listed_before| FilePeer {
            address: listed.address,
            asn: listed.asn,
            local: None,
            listed_before,
        })
    }

    fn rib(&mut self, rib: &Rib<'_>, visit: &mut dyn FnMut(&UpdateContent<'_>)) -> RecordOutcome {
        let form = form(true, rib.add_path);
        let mut index = std::mem::take(&mut self.index);
        let outcome = index.entries(rib, |peer, entry, _| {
            self.entry(*peer, rib.prefix, entry, form, visit)
        });
        self.index = index;
        outcome
    }

    fn old_route(
        &mut self,
        route: &TableDump<'_>,
        visit: &mut dyn FnMut(&UpdateContent<'_>),
    ) -> RecordOutcome {
        let peer = FilePeer {
            address: route.peer,
            asn: route.peer_asn,
            local: None,
            listed_before: 0,
        };
        let form = form(false, false);
        self.entry(peer, route.prefix, &route.entry(), form, visit)
    }

    fn entry(
        &mut self,
        peer: FilePeer,
        prefix: Prefix,
        entry: &RibEntry<'_>,
        form: UpdateForm,
        visit: &mut dyn FnMut(&UpdateContent<'_>),
    ) -> RecordOutcome {
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        entry.write_update(&mut body, prefix, form.add_path);
        let outcome = self.update(peer, &body, form, visit);
        self.body = body;
        outcome
    }

    fn message(
        &mut self,
        message: &Message<'_>,
        visit: &mut dyn FnMut(&UpdateContent<'_>),
    ) -> RecordOutcome {
        let (body, outcome) = rutter_mrt::update(message);
        let Some(body) = body else {
            return outcome;
        };
        let form = form(message.session.as4, message.add_path);
        let peer = session_peer(&message.session);
        outcome.and(match message.local {
            // The collector's own messages are not routes of the peer.
            true => self.update(peer, body, form, &mut |_| {}),
            false => self.update(peer, body, form, visit),
        })
    }

    /// An UPDATE with a fault in its routes yields the routes before the fault.
    fn update(
        &mut self,
        peer: FilePeer,
        body: &[u8],
        form: UpdateForm,
        visit: &mut dyn FnMut(&UpdateContent<'_>),
    ) -> RecordOutcome {
        let update = self.updates.read(body, form);
        let (mut announced, mut mp_announced) = (update.announced, update.mp_announced);
        let mut outcome = update.outcome;
        // The receiver would withdraw them (RFC 7606 §3 (d)).
        if !announced.is_empty() && update.next_hop.is_none() {
            announced = &[];
            outcome.add(&Unreadable::NextHop.into());
        }
        // With such a next hop the receiver would reset the session (RFC 7606 §7.11).
        if !mp_announced.is_empty() && !matches!(update.mp_next_hop.len(), 4 | 16 | 32) {
            mp_announced = &[];
            outcome.add(&Unreadable::NextHop.into());
        }
        visit(&UpdateContent {
            peer,
            attributes: update.attributes,
            mp_next_hop: update.mp_next_hop,
            withdrawn: update.withdrawn,
            announced,
            mp_announced,
        });
        outcome
    }
}

/// The peer of a message. Its routes are those of the peer with this address and AS in a table dump.
fn session_peer(session: &BgpSession) -> FilePeer {
    FilePeer {
        address: session.peer,
        asn: session.peer_asn,
        local: None,
        listed_before: 0,
    }
}

fn form(as4: bool, add_path: bool) -> UpdateForm {
    UpdateForm { as4, add_path }
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
        let v4 = of(self.withdrawn, Family::Ipv4Unicast);
        if !v4.is_empty() || !self.announced.is_empty() {
            let mut writer = Writer::new(out);
            write_prefixes(writer.out(), &v4, add_path);
            if self.announced.is_empty() {
                writer.attributes();
            } else {
                self.put_attributes(writer.attributes());
            }
            write_prefixes(writer.nlri(), self.announced, add_path);
            writer.finish();
        }
        let v6 = of(self.withdrawn, Family::Ipv6Unicast);
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
            let routes = of(self.mp_announced, family);
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

#[cfg(test)]
mod tests {
    use rutter_net::Asn;

    use super::*;

    /// An IPv4 route without NEXT_HOP, and one with it.
    #[test]
    fn routes_without_a_next_hop_are_left_out() {
        let head = [0x40, 1, 1, 0, 0x40, 2, 6, 2, 1, 0, 0, 0xfb, 0xf5];
        let next_hop = [0x40, 3, 4, 192, 0, 2, 1];
        for (attributes, routes, expected) in [
            (&head[..], 0, Some(Unreadable::NextHop)),
            (&[&head[..], &next_hop].concat(), 1, None),
        ] {
            let len = attributes.len() as u8;
            let body = [&[0, 0, 0, len][..], attributes, &[24, 203, 0, 113]].concat();
            let peer = FilePeer {
                address: [192, 0, 2, 11].into(),
                asn: Asn(64501),
                local: None,
                listed_before: 0,
            };
            let mut played = 0;
            let mut converter = Converter::default();
            let outcome = converter.update(peer, &body, form(true, false), &mut |content| {
                played += content.routes();
            });
            assert_eq!((played, outcome.unreadable()), (routes, expected));
        }
    }
}
