//! UPDATE and ROUTE-REFRESH messages, written one after the other into one buffer.

use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix, Prefix};
use rutter_wire::attr::{EXTENDED_LENGTH, OPTIONAL, code};
use rutter_wire::frame::{HEADER_LEN, MAX_LEN, MessageType};
use rutter_wire::nlri;

use crate::adj_rib_in::table::Key;

/// Builds UPDATE messages one after the other in one buffer.
#[derive(Default)]
pub(crate) struct MessageWriter {
    pub bytes: Vec<u8>,
    nlri: Vec<u8>,
}

/// The most octets of one prefix with its path identifier: 17 of IPv6 and 4.
const LONGEST_NLRI: usize = 21;

impl MessageWriter {
    /// Announces prefixes with one set of attributes, in as many messages as they need. Withdraws those that fit no message
    /// with these attributes (RFC 8654 §4): the clients must not keep an older route.
    pub fn announce<K: Nlri>(
        &mut self,
        attributes: &[u8],
        mp_next_hop: Option<&[u8]>,
        max_message_len: usize,
        prefixes: impl Iterator<Item = (K, Option<u32>)> + Clone,
    ) {
        let overhead = HEADER_LEN + 4 + attributes.len() + mp_next_hop.map_or(0, |nh| 9 + nh.len());
        let send = |this: &mut Self| match mp_next_hop {
            None => this.close_ipv4(attributes),
            Some(next_hop) => this.close_mp_reach(K::FAMILY, next_hop, attributes),
        };
        let needed = overhead + LONGEST_NLRI;
        if needed <= max_message_len {
            // Messages are longer than without RFC 8654 only if the attributes need it.
            let room = needed.max(MAX_LEN) - overhead;
            return self.fill(room, prefixes, send);
        }
        let room = max_message_len.saturating_sub(overhead);
        let fits = |(prefix, path_id): &(K, Option<u32>)| nlri_len(*prefix, *path_id) <= room;
        self.fill(room, prefixes.clone().filter(fits), send);
        self.withdraw(prefixes.filter(|prefix| !fits(prefix)));
    }

    /// Withdraws prefixes.
    pub fn withdraw<K: Nlri>(&mut self, prefixes: impl Iterator<Item = (K, Option<u32>)>) {
        let room = MAX_LEN - HEADER_LEN - 4 - 7;
        let send = |this: &mut Self| match K::FAMILY {
            Family::Ipv4Unicast => this.close_withdrawn(),
            Family::Ipv6Unicast => this.close_mp_unreach(K::FAMILY),
        };
        self.fill(room, prefixes, send);
    }

    /// End-of-RIB (RFC 4724 §2).
    pub fn end_of_rib(&mut self, family: Family) {
        self.nlri.clear();
        match family {
            Family::Ipv4Unicast => self.close_withdrawn(),
            Family::Ipv6Unicast => self.close_mp_unreach(family),
        }
    }

    /// A ROUTE-REFRESH message: subtype 1 begins, 2 ends a refresh (RFC 7313).
    pub fn route_refresh(&mut self, family: Family, subtype: u8) {
        let start = self.open(MessageType::RouteRefresh);
        let wire = family.afi_safi();
        self.bytes.extend_from_slice(&wire.afi.to_be_bytes());
        self.bytes.extend_from_slice(&[subtype, wire.safi]);
        self.close(start);
    }

    fn fill<K: Nlri>(
        &mut self,
        room: usize,
        prefixes: impl Iterator<Item = (K, Option<u32>)>,
        send: impl Fn(&mut Self),
    ) {
        self.nlri.clear();
        for (prefix, path_id) in prefixes {
            let before = self.nlri.len();
            prefix.write(&mut self.nlri, path_id);
            if self.nlri.len() > room {
                let last = self.nlri.split_off(before);
                send(self);
                self.nlri.clear();
                self.nlri.extend_from_slice(&last);
            }
        }
        if !self.nlri.is_empty() {
            send(self);
        }
    }

    fn open(&mut self, kind: MessageType) -> usize {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0xff; 16]);
        self.bytes.extend_from_slice(&[0, 0, kind as u8]);
        start
    }

    fn close(&mut self, start: usize) {
        let len = (self.bytes.len() - start) as u16;
        self.bytes[start + 16..start + 18].copy_from_slice(&len.to_be_bytes());
    }

    fn close_ipv4(&mut self, attributes: &[u8]) {
        let start = self.open(MessageType::Update);
        self.bytes.extend_from_slice(&[0, 0]);
        self.put_length(attributes.len());
        self.bytes.extend_from_slice(attributes);
        self.bytes.extend_from_slice(&self.nlri);
        self.close(start);
    }

    fn close_withdrawn(&mut self) {
        let start = self.open(MessageType::Update);
        self.put_length(self.nlri.len());
        self.bytes.extend_from_slice(&self.nlri);
        self.bytes.extend_from_slice(&[0, 0]);
        self.close(start);
    }

    fn close_mp_reach(&mut self, family: Family, next_hop: &[u8], attributes: &[u8]) {
        let start = self.open(MessageType::Update);
        let value_len = 5 + next_hop.len() + self.nlri.len();
        self.bytes.extend_from_slice(&[0, 0]);
        self.put_length(4 + value_len + attributes.len());
        self.bytes
            .extend_from_slice(&[OPTIONAL | EXTENDED_LENGTH, code::MP_REACH_NLRI]);
        self.put_length(value_len);
        let wire = family.afi_safi();
        self.bytes.extend_from_slice(&wire.afi.to_be_bytes());
        self.bytes
            .extend_from_slice(&[wire.safi, next_hop.len() as u8]);
        self.bytes.extend_from_slice(next_hop);
        self.bytes.push(0);
        self.bytes.extend_from_slice(&self.nlri);
        self.bytes.extend_from_slice(attributes);
        self.close(start);
    }

    fn close_mp_unreach(&mut self, family: Family) {
        let start = self.open(MessageType::Update);
        let value_len = 3 + self.nlri.len();
        // RFC 4724 §2 shows End-of-RIB with a short length field, and some speakers accept nothing else.
        let long = value_len > 255;
        self.bytes.extend_from_slice(&[0, 0]);
        self.put_length(if long { 4 } else { 3 } + value_len);
        if long {
            self.bytes
                .extend_from_slice(&[OPTIONAL | EXTENDED_LENGTH, code::MP_UNREACH_NLRI]);
            self.put_length(value_len);
        } else {
            self.bytes
                .extend_from_slice(&[OPTIONAL, code::MP_UNREACH_NLRI, value_len as u8]);
        }
        let wire = family.afi_safi();
        self.bytes.extend_from_slice(&wire.afi.to_be_bytes());
        self.bytes.push(wire.safi);
        self.bytes.extend_from_slice(&self.nlri);
        self.close(start);
    }

    fn put_length(&mut self, len: usize) {
        self.bytes.extend_from_slice(&(len as u16).to_be_bytes());
    }
}

/// A prefix type that can be written as NLRI.
pub(crate) trait Nlri: Key {
    fn write(self, out: &mut Vec<u8>, path_id: Option<u32>);
}

impl Nlri for Ipv4Prefix {
    fn write(self, out: &mut Vec<u8>, path_id: Option<u32>) {
        nlri::write_ipv4(out, path_id, self);
    }
}

impl Nlri for Ipv6Prefix {
    fn write(self, out: &mut Vec<u8>, path_id: Option<u32>) {
        nlri::write_ipv6(out, path_id, self);
    }
}

/// The octets of a prefix as NLRI.
fn nlri_len<K: Nlri>(prefix: K, path_id: Option<u32>) -> usize {
    let prefix: Prefix = prefix.into();
    1 + usize::from(prefix.len()).div_ceil(8) + path_id.map_or(0, |_| 4)
}
