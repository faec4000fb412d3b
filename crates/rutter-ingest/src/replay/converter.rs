//! Converts MRT records to UPDATEs for a session with four-octet AS numbers.

use std::net::IpAddr;

use rutter_net::{AfiSafi, Asn, Family, PerFamily, Prefix};
use rutter_wire::attr::{Attributes, code, write_mp_reach, write_mp_unreach};
use rutter_wire::mrt::{
    Content, Message, PeerEntry, PeerIndexTable, Record, Rib, RibEntry, TableDump,
};
use rutter_wire::nlri::{write_ipv4, write_ipv6};
use rutter_wire::update::Writer;

use rutter_mrt::{RecordOutcome, Skipped, Unreadable, UpdateForm, UpdateReader};

/// Converts records to UPDATEs.
#[derive(Default)]
pub(super) struct Converter {
    index: Vec<PeerEntry>,
    body: Vec<u8>,
    updates: UpdateReader,
}

/// The content of one UPDATE, before the session's form is applied.
pub(super) struct UpdateContent<'a> {
    /// The peer that sent it.
    pub peer: (IpAddr, Asn),
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
            Ok(Content::PeerIndexTable(table)) => self.peers(&table).into(),
            Ok(Content::Rib(rib)) => self.rib(&rib, visit),
            Ok(Content::TableDump(route)) => self.old_route(&route, visit),
            Ok(Content::Message(message)) => self.message(&message, visit),
            Ok(Content::OldUpdate(update)) => {
                let peer = (update.session.peer, update.session.peer_asn);
                self.update(peer, update.body, form(false, false), visit)
            }
            Ok(Content::StateChange(_)) => RecordOutcome::Read,
            Ok(Content::Other) => {
                RecordOutcome::Skipped(Skipped::Type(record.kind, record.subtype))
            }
            Err(error) => error.into(),
        }
    }

    fn peers(&mut self, table: &PeerIndexTable<'_>) -> Result<(), Unreadable> {
        self.index.clear();
        for peer in table.peers() {
            self.index.push(peer?);
        }
        Ok(())
    }

    fn rib(&mut self, rib: &Rib<'_>, visit: &mut dyn FnMut(&UpdateContent<'_>)) -> RecordOutcome {
        let mut outcome = RecordOutcome::Read;
        for entry in rib.entries() {
            outcome = outcome.and(match entry {
                Ok(entry) => self.rib_entry(rib, &entry, visit),
                Err(error) => error.into(),
            });
        }
        outcome
    }

    fn rib_entry(
        &mut self,
        rib: &Rib<'_>,
        entry: &RibEntry<'_>,
        visit: &mut dyn FnMut(&UpdateContent<'_>),
    ) -> RecordOutcome {
        let index = entry.peer_index;
        let Some(peer) = self.index.get(usize::from(index)).copied() else {
            return Unreadable::NoSuchPeer(index).into();
        };
        let form = form(true, rib.add_path);
        self.entry((peer.address, peer.asn), rib.prefix, entry, form, visit)
    }

    fn old_route(
        &mut self,
        route: &TableDump<'_>,
        visit: &mut dyn FnMut(&UpdateContent<'_>),
    ) -> RecordOutcome {
        let peer = (route.peer, route.peer_asn);
        let form = form(false, false);
        self.entry(peer, route.prefix, &route.entry(), form, visit)
    }

    fn entry(
        &mut self,
        peer: (IpAddr, Asn),
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
        let body = match rutter_mrt::update(message) {
            Ok(Some(body)) => body,
            Ok(None) => return RecordOutcome::Read,
            Err(fault) => return fault.into(),
        };
        let form = form(message.session.as4, message.add_path);
        let peer = (message.session.peer, message.session.peer_asn);
        match message.local {
            // The collector's own messages are not routes of the peer.
            true => self.update(peer, body, form, &mut |_| {}),
            false => self.update(peer, body, form, visit),
        }
    }

    /// An UPDATE with a fault in its routes yields the routes before the fault.
    fn update(
        &mut self,
        peer: (IpAddr, Asn),
        body: &[u8],
        form: UpdateForm,
        visit: &mut dyn FnMut(&UpdateContent<'_>),
    ) -> RecordOutcome {
        match self.updates.read(body, form) {
            Ok(update) => {
                let (mut announced, mut mp_announced) = (update.announced, update.mp_announced);
                let mut outcome = update.outcome;
                // The receiver would withdraw them (RFC 7606 §3 (d)).
                if !announced.is_empty() && update.next_hop.is_none() {
                    announced = &[];
                    outcome = outcome.and(Unreadable::NextHop.into());
                }
                // With such a next hop the receiver would reset the session (RFC 7606 §7.11).
                if !mp_announced.is_empty() && !matches!(update.mp_next_hop.len(), 4 | 16 | 32) {
                    mp_announced = &[];
                    outcome = outcome.and(Unreadable::NextHop.into());
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
            Err(fault) => fault.into(),
        }
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
    use super::*;

    /// An IPv4 route without NEXT_HOP, and one with it.
    #[test]
    fn routes_without_a_next_hop_are_left_out() {
        let head = [0x40, 1, 1, 0, 0x40, 2, 6, 2, 1, 0, 0, 0xfb, 0xf5];
        let next_hop = [0x40, 3, 4, 192, 0, 2, 1];
        for (attributes, routes, expected) in [
            (&head[..], 0, RecordOutcome::from(Unreadable::NextHop)),
            (&[&head[..], &next_hop].concat(), 1, RecordOutcome::Read),
        ] {
            let len = attributes.len() as u8;
            let body = [&[0, 0, 0, len][..], attributes, &[24, 203, 0, 113]].concat();
            let peer = (IpAddr::from([192, 0, 2, 11]), Asn(64501));
            let mut played = 0;
            let mut converter = Converter::default();
            let outcome = converter.update(peer, &body, form(true, false), &mut |content| {
                played += content.routes();
            });
            assert_eq!((played, outcome), (routes, expected));
        }
    }
}
