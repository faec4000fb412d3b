//! From routes to UPDATE messages, in the style that the clients of a group share.

use std::net::{Ipv4Addr, Ipv6Addr};

use rutter_net::{Asn, Community, Family, Ipv4Prefix, Ipv6Prefix, PerFamily};
use rutter_policy::ExportPolicy;
use rutter_wire::attr::{self, Attributes, RawAttribute, code};
use rutter_wire::nlri;

use crate::adj_rib_in::table::Key;
use crate::advertise::audience::{EVERYONE, Modification};
use crate::{AttrSet, PeerKind};

const HEADER_LEN: usize = 19;
const UPDATE: u8 = 2;
/// The length limit without RFC 8654. With it, too, messages are longer only if the attributes need it.
const MESSAGE_LEN: usize = 4096;

const OPTIONAL: u8 = 0x80;
const TRANSITIVE: u8 = 0x40;
const EXTENDED_LENGTH: u8 = 0x10;

/// Everything that shapes the bytes of a client's messages. Clients with equal styles share one stream.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Style {
    pub kind: PeerKind,
    pub local_asn: Asn,
    /// Our own addresses as next hop; `None` keeps the next hop.
    pub next_hop_self: Option<(Option<Ipv4Addr>, Option<Ipv6Addr>)>,
    pub as4: bool,
    pub max_message_len: usize,
    pub families: PerFamily<bool>,
    pub add_path: PerFamily<bool>,
    pub add_path_limit: u16,
    pub extended_next_hop: bool,
    /// RFC 9234: ONLY_TO_CUSTOMER with our AS is added where it is absent.
    pub add_otc: bool,
    /// Our BGP Identifier where routes are reflected (RFC 4456), else 0.
    pub cluster_id: u32,
}

/// The facts about a route's sender that attributes for internal peers need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sender {
    pub internal: bool,
    pub bgp_id: u32,
    /// The LOCAL_PREF of its routes without one.
    pub default_local_pref: u32,
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

impl Style {
    /// Returns whether this style's clients can receive the route at all: an IPv4 route with an IPv6 next hop needs
    /// RFC 8950.
    pub fn can_carry(&self, family: Family, set: &AttrSet) -> bool {
        family != Family::Ipv4Unicast || set.mp_next_hop().len() < 16 || self.extended_next_hop
    }

    fn sends_block_as_is(
        &self,
        set: &AttrSet,
        modification: Modification,
        policy: &ExportPolicy,
    ) -> bool {
        self.kind == PeerKind::RouteServerClient
            && self.as4
            && !self.add_otc
            && self.next_hop_self.is_none()
            && modification == Modification::default()
            && (set.audience() == EVERYONE || !policy.scrub())
    }

    /// Appends the attributes for clients of this style, without MP_REACH_NLRI.
    pub fn write_attributes(
        &self,
        out: &mut Vec<u8>,
        set: &AttrSet,
        family: Family,
        modification: Modification,
        sender: Sender,
        policy: &ExportPolicy,
    ) {
        if self.sends_block_as_is(set, modification, policy) {
            out.extend_from_slice(set.block());
            return;
        }
        let attributes = set.attributes();
        let mut wide = Vec::new();
        let mut rewriter = Rewriter {
            style: self,
            modification,
            sender,
            policy,
            attributes: &attributes,
            out: if self.as4 { out } else { &mut wide },
        };
        rewriter.rewrite(family);
        if !self.as4 {
            Attributes::from_canonical(&wide).write_two_octet(out);
        }
    }

    /// The next hop octets for MP_REACH_NLRI; `None` where NLRI go into the message's own field.
    pub fn mp_next_hop<'a>(
        &self,
        set: &'a AttrSet,
        family: Family,
        own: &'a mut [u8; 16],
    ) -> Option<&'a [u8]> {
        match (family, self.next_hop_self) {
            (Family::Ipv4Unicast, Some((Some(_), _))) => None,
            (_, Some((_, Some(address)))) => {
                *own = address.octets();
                Some(own)
            }
            (Family::Ipv4Unicast, _) if set.mp_next_hop().is_empty() => None,
            _ => Some(set.mp_next_hop()),
        }
    }
}

/// Rewrites a set's attributes where they may not pass unchanged.
struct Rewriter<'a, 'o> {
    style: &'a Style,
    modification: Modification,
    sender: Sender,
    policy: &'a ExportPolicy,
    attributes: &'a Attributes<'a>,
    out: &'o mut Vec<u8>,
}

impl Rewriter<'_, '_> {
    fn rewrite(&mut self, family: Family) {
        let attributes = self.attributes;
        let mut added = self.attributes_to_add(family);
        for raw in attributes.iter() {
            while let Some(code) = added.next_if(|code| *code < raw.code) {
                self.add(code);
            }
            added.next_if_eq(&raw.code);
            self.pass(&raw);
        }
        added.for_each(|code| self.add(code));
    }

    /// The codes of the attributes that the result must contain, ascending. [`Rewriter::pass`] handles those that the
    /// set has already.
    fn attributes_to_add(&self, family: Family) -> std::iter::Peekable<std::vec::IntoIter<u8>> {
        let mut codes = Vec::new();
        if self.new_ipv4_next_hop().is_some() && family == Family::Ipv4Unicast {
            codes.push(code::NEXT_HOP);
        }
        if self.is_internal() {
            codes.push(code::LOCAL_PREF);
        }
        if self.added_communities().next().is_some() {
            codes.push(code::COMMUNITIES);
        }
        if self.reflects() {
            codes.extend([code::ORIGINATOR_ID, code::CLUSTER_LIST]);
        }
        if self.style.add_otc {
            codes.push(code::ONLY_TO_CUSTOMER);
        }
        codes.into_iter().peekable()
    }

    fn add(&mut self, code: u8) {
        match code {
            code::NEXT_HOP => self.write_next_hop(),
            code::LOCAL_PREF => {
                let local_pref = self.sender.default_local_pref.to_be_bytes();
                attr::write_attr(self.out, TRANSITIVE, code, &local_pref);
            }
            code::COMMUNITIES => self.write_communities(),
            code::ORIGINATOR_ID => {
                let id = self.sender.bgp_id.to_be_bytes();
                attr::write_attr(self.out, OPTIONAL, code, &id);
            }
            code::CLUSTER_LIST => self.write_cluster_list(&[]),
            code::ONLY_TO_CUSTOMER => {
                let asn = self.style.local_asn.0.to_be_bytes();
                attr::write_attr(self.out, OPTIONAL | TRANSITIVE, code, &asn);
            }
            _ => {}
        }
    }

    fn pass(&mut self, raw: &RawAttribute<'_>) {
        match raw.code {
            code::AS_PATH => self.write_as_path(),
            code::NEXT_HOP if self.new_ipv4_next_hop().is_some() => self.write_next_hop(),
            code::COMMUNITIES => self.write_communities(),
            code::EXTENDED_COMMUNITIES | code::LARGE_COMMUNITIES => self.write_scrubbed(raw),
            code::LOCAL_PREF if !self.is_internal() => {}
            code::MULTI_EXIT_DISC if self.style.kind == PeerKind::External => {}
            code::ORIGINATOR_ID if !self.is_internal() => {}
            code::CLUSTER_LIST if !self.is_internal() => {}
            code::CLUSTER_LIST if self.reflects() => self.write_cluster_list(raw.value),
            _ => self.out.extend_from_slice(raw.wire),
        }
    }

    fn is_internal(&self) -> bool {
        matches!(
            self.style.kind,
            PeerKind::Internal | PeerKind::ReflectorClient
        )
    }

    /// RFC 4456 §8: from an internal peer to an internal peer.
    fn reflects(&self) -> bool {
        self.is_internal() && self.sender.internal
    }

    fn new_ipv4_next_hop(&self) -> Option<Ipv4Addr> {
        self.style.next_hop_self.and_then(|(ipv4, _)| ipv4)
    }

    fn write_next_hop(&mut self) {
        if let Some(address) = self.new_ipv4_next_hop() {
            attr::write_attr(self.out, TRANSITIVE, code::NEXT_HOP, &address.octets());
        }
    }

    fn write_as_path(&mut self) {
        let times = match self.style.kind {
            PeerKind::External => 1,
            _ => 0,
        };
        let path = self.attributes.as_path();
        let (asn, times) = match self.modification.prepend {
            0 => (self.style.local_asn, times),
            // An exchange's prepends repeat the member's AS, not the exchange's (as ARouteServer does).
            more => {
                let first = path.and_then(|path| path.first());
                (
                    first.unwrap_or(self.style.local_asn),
                    times + usize::from(more),
                )
            }
        };
        attr::write_as_path_prepended(self.out, path, asn, times);
    }

    fn write_cluster_list(&mut self, held: &[u8]) {
        let mut value = self.style.cluster_id.to_be_bytes().to_vec();
        value.extend_from_slice(held);
        attr::write_attr(self.out, OPTIONAL, code::CLUSTER_LIST, &value);
    }

    fn added_communities(&self) -> impl Iterator<Item = Community> + use<> {
        let v = self.modification;
        [
            (v.add_no_export, Community::NO_EXPORT),
            (v.add_no_advertise, Community::NO_ADVERTISE),
            (v.long_lived_stale, Community::LLGR_STALE),
        ]
        .into_iter()
        .filter_map(|(on, community)| on.then_some(community))
    }

    fn write_communities(&mut self) {
        let scrub = self.policy.scrub();
        let held: Vec<Community> = self.attributes.communities().collect();
        let kept = held
            .iter()
            .copied()
            .filter(|community| !scrub || !self.policy.is_action_community(*community));
        let new = self
            .added_communities()
            .filter(|community| !held.contains(community));
        let value: Vec<u8> = kept.chain(new).flat_map(|c| c.0.to_be_bytes()).collect();
        if !value.is_empty() {
            let flags = OPTIONAL | TRANSITIVE;
            attr::write_attr(self.out, flags, code::COMMUNITIES, &value);
        }
    }

    fn write_scrubbed(&mut self, raw: &RawAttribute<'_>) {
        let mut value = Vec::with_capacity(raw.value.len());
        if raw.code == code::EXTENDED_COMMUNITIES {
            for community in self.attributes.extended_communities() {
                let leaves = !self.is_internal() && self.style.kind == PeerKind::External;
                let passes = community.is_transitive() || !leaves;
                if passes && !(self.policy.scrub() && self.policy.is_action_extended(community)) {
                    value.extend_from_slice(&community.0);
                }
            }
        } else {
            for community in self.attributes.large_communities() {
                if !(self.policy.scrub() && self.policy.is_action_large(community)) {
                    for part in [community.global, community.local1, community.local2] {
                        value.extend_from_slice(&part.to_be_bytes());
                    }
                }
            }
        }
        if !value.is_empty() {
            attr::write_attr(self.out, raw.flags & !EXTENDED_LENGTH, raw.code, &value);
        }
    }
}

/// Builds UPDATE messages one after the other in one buffer.
#[derive(Default)]
pub(crate) struct MessageWriter {
    pub bytes: Vec<u8>,
    nlri: Vec<u8>,
}

/// An attribute block does not fit any message that the clients accept (RFC 8654 §4).
#[derive(Debug)]
pub(crate) struct TooLong;

impl MessageWriter {
    /// Announces prefixes with one set of attributes, in as many messages as they need.
    pub fn announce<K: Nlri>(
        &mut self,
        attributes: &[u8],
        mp_next_hop: Option<&[u8]>,
        max_message_len: usize,
        prefixes: impl Iterator<Item = (K, Option<u32>)>,
    ) -> Result<(), TooLong> {
        let overhead = HEADER_LEN + 4 + attributes.len() + mp_next_hop.map_or(0, |nh| 9 + nh.len());
        // 17 octets of IPv6 prefix and 4 of path identifier are the longest single NLRI.
        let needed = overhead + 21;
        if needed > max_message_len {
            return Err(TooLong);
        }
        let room = needed.max(MESSAGE_LEN) - overhead;
        let send = |this: &mut Self| match mp_next_hop {
            None => this.close_ipv4(attributes),
            Some(next_hop) => this.close_mp_reach(K::FAMILY, next_hop, attributes),
        };
        self.fill(room, prefixes, send);
        Ok(())
    }

    /// Withdraws prefixes.
    pub fn withdraw<K: Nlri>(&mut self, prefixes: impl Iterator<Item = (K, Option<u32>)>) {
        let room = MESSAGE_LEN - HEADER_LEN - 4 - 7;
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
        let start = self.open(5);
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

    fn open(&mut self, kind: u8) -> usize {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0xff; 16]);
        self.bytes.extend_from_slice(&[0, 0, kind]);
        start
    }

    fn close(&mut self, start: usize) {
        let len = (self.bytes.len() - start) as u16;
        self.bytes[start + 16..start + 18].copy_from_slice(&len.to_be_bytes());
    }

    fn close_ipv4(&mut self, attributes: &[u8]) {
        let start = self.open(UPDATE);
        self.bytes.extend_from_slice(&[0, 0]);
        self.put_length(attributes.len());
        self.bytes.extend_from_slice(attributes);
        self.bytes.extend_from_slice(&self.nlri);
        self.close(start);
    }

    fn close_withdrawn(&mut self) {
        let start = self.open(UPDATE);
        self.put_length(self.nlri.len());
        self.bytes.extend_from_slice(&self.nlri);
        self.bytes.extend_from_slice(&[0, 0]);
        self.close(start);
    }

    fn close_mp_reach(&mut self, family: Family, next_hop: &[u8], attributes: &[u8]) {
        let start = self.open(UPDATE);
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
        let start = self.open(UPDATE);
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
