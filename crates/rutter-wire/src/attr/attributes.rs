//! The view that a parse returns.

use std::net::Ipv4Addr;

use rutter_net::{Asn, Community, ExtendedCommunity, LargeCommunity};

use super::aggregator::Aggregator;
use super::large_communities;
use super::parse::{Head, head};
use super::table::{SLOTS, UNKNOWN, slot_of};
use super::{AsPath, MpReach, MpUnreach, Origin, be_u32, code};
use super::{aigp, communities, extended_communities, ipv6_extended_communities};

/// The places of the attributes in a block. Each attribute is decoded on request. Discarded attributes count as absent.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    block: &'a [u8],
    /// Value offset and length by row.
    spans: [(u16, u16); SLOTS],
    /// A bit for each row whose attribute is present.
    present: u32,
    /// AS numbers take four octets.
    pub(super) as4: bool,
    /// Each kept attribute already has its canonical form, and no gap separates it from the next one.
    pub(super) clean: bool,
    /// First octet of the kept attributes that are in the canonical block.
    core_start: usize,
    /// The first octet after them.
    core_end: usize,
}

/// One attribute as received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawAttribute<'a> {
    /// Flags as received.
    pub flags: u8,
    /// Type code.
    pub code: u8,
    /// The value alone.
    pub value: &'a [u8],
    /// Flags, type, length and value.
    pub wire: &'a [u8],
}

impl<'a> Attributes<'a> {
    /// A view of a block that [`Attributes::write_canonical`] wrote, or for which [`Attributes::is_canonical`] was
    /// true. Builds the index only; nothing is checked again.
    pub fn from_canonical(block: &'a [u8]) -> Self {
        let mut attributes = Self::empty(block, true);
        let mut at = 0;
        while let Some(head) = attributes.head_at(at) {
            at = head.end;
            match slot_of(head.code) {
                UNKNOWN => attributes.keep_unknown(&head, true),
                slot => attributes.keep(slot, &head),
            }
        }
        attributes
    }

    /// Nothing kept yet.
    #[inline(always)]
    pub(super) fn empty(block: &'a [u8], as4: bool) -> Self {
        Attributes {
            block: block.get(..usize::from(u16::MAX)).unwrap_or(block),
            spans: [(0, 0); SLOTS],
            present: 0,
            as4,
            clean: true,
            core_start: 0,
            core_end: 0,
        }
    }

    /// Records an attribute that has a row.
    #[inline(always)]
    pub(super) fn keep(&mut self, slot: usize, head: &Head) {
        self.present |= 1 << slot;
        self.spans[slot] = (head.value as u16, (head.end - head.value) as u16);
        match head.code {
            code::MP_REACH_NLRI | code::MP_UNREACH_NLRI => {}
            // Their AS numbers must be widened.
            code::AS_PATH | code::AGGREGATOR | code::AS4_PATH | code::AS4_AGGREGATOR
                if !self.as4 =>
            {
                self.clean = false;
            }
            _ => self.keep_core(head, head.flags & RESERVED_FLAGS == 0),
        }
    }

    /// Records an attribute that has no row but belongs in the canonical block.
    pub(super) fn keep_unknown(&mut self, head: &Head, as_it_is: bool) {
        self.keep_core(head, as_it_is && head.flags & RESERVED_FLAGS == 0);
    }

    #[inline(always)]
    fn keep_core(&mut self, head: &Head, as_it_is: bool) {
        if self.core_end == self.core_start {
            self.core_start = head.at;
        } else {
            self.clean &= self.core_end == head.at;
        }
        self.clean &= as_it_is;
        self.core_end = head.end;
    }

    /// The block ends here.
    pub(super) fn cut(&mut self, at: usize) {
        self.block = &self.block[..at];
    }

    /// Drops NEXT_HOP: all routes are in MP_REACH_NLRI (RFC 4760 §3).
    #[inline(always)]
    pub(super) fn ignore_next_hop(&mut self) {
        const BIT: u32 = 1 << slot_of(code::NEXT_HOP);
        self.clean &= self.present & BIT == 0;
        self.present &= !BIT;
    }

    /// The block that was parsed, up to the first length that is wrong.
    pub fn block(&self) -> &'a [u8] {
        self.block
    }

    #[inline(always)]
    pub(super) fn has(&self, code: u8) -> bool {
        self.present & 1 << slot_of(code) != 0
    }

    /// The value of an attribute with a row.
    #[inline(always)]
    fn known(&self, code: u8) -> Option<&'a [u8]> {
        if !self.has(code) {
            return None;
        }
        let (start, len) = self.spans[slot_of(code)];
        self.block
            .get(usize::from(start)..)?
            .get(..usize::from(len))
    }

    /// A four-octet number.
    #[inline(always)]
    fn number(&self, code: u8) -> Option<u32> {
        self.known(code)?.try_into().ok().map(u32::from_be_bytes)
    }

    /// ORIGIN.
    #[inline]
    pub fn origin(&self) -> Option<Origin> {
        self.known(code::ORIGIN)?
            .first()
            .and_then(|&octet| Origin::from_octet(octet))
    }

    /// AS_PATH as received. On a two-octet session the numbers from AS4_PATH are missing: see
    /// [`Attributes::write_canonical`].
    #[inline]
    pub fn as_path(&self) -> Option<AsPath<'a>> {
        let value = self.known(code::AS_PATH)?;
        Some(AsPath::new(value, self.as4))
    }

    /// AS4_PATH of a two-octet session.
    pub fn as4_path(&self) -> Option<AsPath<'a>> {
        let value = self.known(code::AS4_PATH)?;
        Some(AsPath::new(value, true))
    }

    /// NEXT_HOP; absent where the UPDATE has only MP_REACH_NLRI (RFC 4760 §3).
    #[inline]
    pub fn next_hop(&self) -> Option<Ipv4Addr> {
        self.number(code::NEXT_HOP).map(Ipv4Addr::from_bits)
    }

    /// MULTI_EXIT_DISC.
    #[inline]
    pub fn multi_exit_disc(&self) -> Option<u32> {
        self.number(code::MULTI_EXIT_DISC)
    }

    /// LOCAL_PREF; always absent on external sessions.
    #[inline]
    pub fn local_pref(&self) -> Option<u32> {
        self.number(code::LOCAL_PREF)
    }

    /// Whether ATOMIC_AGGREGATE is present.
    pub fn atomic_aggregate(&self) -> bool {
        self.has(code::ATOMIC_AGGREGATE)
    }

    /// AGGREGATOR. On a two-octet session the number from AS4_AGGREGATOR is missing.
    pub fn aggregator(&self) -> Option<Aggregator> {
        Aggregator::decode(self.known(code::AGGREGATOR)?)
    }

    /// AS4_AGGREGATOR of a two-octet session.
    pub fn as4_aggregator(&self) -> Option<Aggregator> {
        Aggregator::decode(self.known(code::AS4_AGGREGATOR)?)
    }

    /// COMMUNITIES, empty if absent.
    #[inline]
    pub fn communities(&self) -> impl Iterator<Item = Community> + Clone + use<'a> {
        communities::iter(self.known(code::COMMUNITIES).unwrap_or_default())
    }

    /// EXTENDED COMMUNITIES, empty if absent.
    #[inline]
    pub fn extended_communities(
        &self,
    ) -> impl Iterator<Item = ExtendedCommunity> + Clone + use<'a> {
        let value = self.known(code::EXTENDED_COMMUNITIES);
        extended_communities::iter(value.unwrap_or_default())
    }

    /// IPv6 Address Specific Extended Communities (RFC 5701), empty if absent.
    pub fn ipv6_extended_communities(&self) -> impl Iterator<Item = [u8; 20]> + Clone + use<'a> {
        let value = self.known(code::IPV6_EXTENDED_COMMUNITIES);
        ipv6_extended_communities::iter(value.unwrap_or_default())
    }

    /// LARGE_COMMUNITY, empty if absent.
    #[inline]
    pub fn large_communities(&self) -> impl Iterator<Item = LargeCommunity> + Clone + use<'a> {
        large_communities::iter(self.known(code::LARGE_COMMUNITIES).unwrap_or_default())
    }

    /// ORIGINATOR_ID; always absent on external sessions.
    pub fn originator_id(&self) -> Option<u32> {
        self.number(code::ORIGINATOR_ID)
    }

    /// CLUSTER_LIST, empty if absent; always absent on external sessions.
    pub fn cluster_list(&self) -> impl Iterator<Item = u32> + Clone + use<'a> {
        let value = self.known(code::CLUSTER_LIST).unwrap_or_default();
        value.chunks_exact(4).map(be_u32)
    }

    /// Only to Customer (RFC 9234).
    #[inline]
    pub fn only_to_customer(&self) -> Option<Asn> {
        self.number(code::ONLY_TO_CUSTOMER).map(Asn)
    }

    /// The accumulated metric of AIGP (RFC 7311); always absent on external sessions.
    pub fn aigp(&self) -> Option<u64> {
        aigp::metric(self.known(code::AIGP)?)
    }

    /// MP_REACH_NLRI.
    #[inline]
    pub fn mp_reach(&self) -> Option<MpReach<'a>> {
        MpReach::decode(self.known(code::MP_REACH_NLRI)?)
    }

    /// MP_UNREACH_NLRI.
    #[inline]
    pub fn mp_unreach(&self) -> Option<MpUnreach<'a>> {
        MpUnreach::decode(self.known(code::MP_UNREACH_NLRI)?)
    }

    /// The value of any attribute, known or not.
    pub fn value(&self, code: u8) -> Option<&'a [u8]> {
        match slot_of(code) {
            UNKNOWN => self
                .iter()
                .find(|raw| raw.code == code)
                .map(|raw| raw.value),
            _ => self.known(code),
        }
    }

    /// Every attribute that was not discarded, in received order.
    pub fn iter(&self) -> impl Iterator<Item = RawAttribute<'a>> + Clone + use<'a> {
        Iter {
            attributes: *self,
            at: 0,
            seen_unknown: [0; 4],
        }
    }

    /// Returns whether the block is its own canonical form, so that it can be interned unchanged.
    #[inline]
    pub fn is_canonical(&self) -> bool {
        self.clean && self.core_end - self.core_start == self.block.len()
    }

    /// The canonical form, if it is a slice of the received block. It may lack attributes at the beginning or end of
    /// the block, such as MP_REACH_NLRI. Cheaper than [`Attributes::write_canonical`].
    #[inline]
    pub fn canonical_slice(&self) -> Option<&'a [u8]> {
        if !self.clean {
            return None;
        }
        self.block.get(self.core_start..self.core_end)
    }

    #[inline]
    pub(super) fn head_at(&self, at: usize) -> Option<Head> {
        if at >= self.block.len() {
            return None;
        }
        head(self.block, at).ok()
    }
}

#[derive(Clone)]
struct Iter<'a> {
    attributes: Attributes<'a>,
    at: usize,
    seen_unknown: [u64; 4],
}

impl Iter<'_> {
    fn is_kept(&mut self, head: &Head) -> bool {
        let slot = slot_of(head.code);
        if slot != UNKNOWN {
            return self.attributes.has(head.code)
                && usize::from(self.attributes.spans[slot].0) == head.value;
        }
        let (word, bit) = (usize::from(head.code >> 6), 1 << (head.code & 63));
        let again = self.seen_unknown[word] & bit != 0;
        self.seen_unknown[word] |= bit;
        !again && head.flags & super::OPTIONAL != 0
    }
}

impl<'a> Iterator for Iter<'a> {
    type Item = RawAttribute<'a>;

    fn next(&mut self) -> Option<RawAttribute<'a>> {
        loop {
            let head = self.attributes.head_at(self.at)?;
            self.at = head.end;
            if self.is_kept(&head) {
                let block = self.attributes.block;
                return Some(RawAttribute {
                    flags: head.flags,
                    code: head.code,
                    value: &block[head.value..head.end],
                    wire: &block[head.at..head.end],
                });
            }
        }
    }
}

/// Flags without a meaning: zero when sent, ignored when received (RFC 4271 §4.3).
pub(super) const RESERVED_FLAGS: u8 = 0x0f;
