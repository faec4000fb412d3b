//! The view that a parse leaves behind.

use std::net::Ipv4Addr;

use rutter_net::{AfiSafi, Asn, Community, ExtendedCommunity, LargeCommunity};

use super::{AsPath, Origin};

/// Where the attributes of a block are; decodes each when asked. Discarded ones count as absent.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    block: &'a [u8],
}

/// One attribute as it stands on the wire.
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

/// MP_REACH_NLRI taken apart (RFC 4760 §3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MpReach<'a> {
    /// The family.
    pub afi_safi: AfiSafi,
    /// The next hop's octets: 4, 16 or 32 for IP unicast (RFC 2545, RFC 8950).
    pub next_hop: &'a [u8],
    /// The NLRI.
    pub nlri: &'a [u8],
}

/// MP_UNREACH_NLRI taken apart (RFC 4760 §4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MpUnreach<'a> {
    /// The family.
    pub afi_safi: AfiSafi,
    /// The withdrawn NLRI.
    pub withdrawn: &'a [u8],
}

/// Who aggregated the route (RFC 4271 §5.1.7).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Aggregator {
    /// The aggregating AS.
    pub asn: Asn,
    /// The BGP Identifier of the speaker.
    pub router_id: Ipv4Addr,
}

impl<'a> Attributes<'a> {
    /// A view of a block that [`Attributes::write_canonical`] wrote (or that [`Attributes::is_canonical`] held to be
    /// one). Only indexes: nothing is checked again.
    pub fn from_canonical(block: &'a [u8]) -> Self {
        Attributes { block }
    }
    /// The block that was parsed.
    pub fn block(&self) -> &'a [u8] {
        self.block
    }
    /// ORIGIN.
    pub fn origin(&self) -> Option<Origin> {
        todo!()
    }
    /// AS_PATH as received; on a two-octet session without what AS4_PATH adds: see [`Attributes::write_canonical`].
    pub fn as_path(&self) -> Option<AsPath<'a>> {
        todo!()
    }
    /// AS4_PATH of a two-octet session.
    pub fn as4_path(&self) -> Option<AsPath<'a>> {
        todo!()
    }
    /// NEXT_HOP; absent where the UPDATE has only MP_REACH_NLRI (RFC 4760 §3).
    pub fn next_hop(&self) -> Option<Ipv4Addr> {
        todo!()
    }
    /// MULTI_EXIT_DISC.
    pub fn multi_exit_disc(&self) -> Option<u32> {
        todo!()
    }
    /// LOCAL_PREF; always absent on external sessions.
    pub fn local_pref(&self) -> Option<u32> {
        todo!()
    }
    /// Whether ATOMIC_AGGREGATE is present.
    pub fn atomic_aggregate(&self) -> bool {
        todo!()
    }
    /// AGGREGATOR.
    pub fn aggregator(&self) -> Option<Aggregator> {
        todo!()
    }
    /// AS4_AGGREGATOR of a two-octet session.
    pub fn as4_aggregator(&self) -> Option<Aggregator> {
        todo!()
    }
    /// COMMUNITIES, empty if absent.
    pub fn communities(&self) -> impl Iterator<Item = Community> + Clone + 'a {
        std::iter::empty()
    }
    /// EXTENDED COMMUNITIES, empty if absent.
    pub fn extended_communities(&self) -> impl Iterator<Item = ExtendedCommunity> + Clone + 'a {
        std::iter::empty()
    }
    /// IPv6 Address Specific Extended Communities (RFC 5701), empty if absent.
    pub fn ipv6_extended_communities(&self) -> impl Iterator<Item = [u8; 20]> + Clone + 'a {
        std::iter::empty()
    }
    /// LARGE_COMMUNITY, empty if absent.
    pub fn large_communities(&self) -> impl Iterator<Item = LargeCommunity> + Clone + 'a {
        std::iter::empty()
    }
    /// ORIGINATOR_ID; always absent on external sessions.
    pub fn originator_id(&self) -> Option<u32> {
        todo!()
    }
    /// CLUSTER_LIST, empty if absent; always absent on external sessions.
    pub fn cluster_list(&self) -> impl Iterator<Item = u32> + Clone + 'a {
        std::iter::empty()
    }
    /// Only to Customer (RFC 9234).
    pub fn only_to_customer(&self) -> Option<Asn> {
        todo!()
    }
    /// The accumulated metric of AIGP (RFC 7311); always absent on external sessions.
    pub fn aigp(&self) -> Option<u64> {
        todo!()
    }
    /// MP_REACH_NLRI.
    pub fn mp_reach(&self) -> Option<MpReach<'a>> {
        todo!()
    }
    /// MP_UNREACH_NLRI.
    pub fn mp_unreach(&self) -> Option<MpUnreach<'a>> {
        todo!()
    }
    /// The value of any attribute, known or not.
    pub fn value(&self, code: u8) -> Option<&'a [u8]> {
        let _ = code;
        todo!()
    }
    /// Every attribute that was not discarded, in received order.
    pub fn iter(&self) -> impl Iterator<Item = RawAttribute<'a>> + Clone + 'a {
        std::iter::empty()
    }
    /// Whether the block is its own canonical form: it can be interned as it is.
    pub fn is_canonical(&self) -> bool {
        todo!()
    }
    /// The canonical form where it is a part of the received block: all of it, or all but a multiprotocol attribute at
    /// its beginning or end. Cheaper than [`Attributes::write_canonical`].
    pub fn canonical_slice(&self) -> Option<&'a [u8]> {
        todo!()
    }
    /// Appends the canonical block: what is interned, compared and sent on transparently. Attributes in received order,
    /// without MP_REACH_NLRI and MP_UNREACH_NLRI, AS numbers in four octets with AS4_PATH and AS4_AGGREGATOR merged
    /// (RFC 6793 §4.2.3), discarded and repeated ones left out, unknown optional transitive ones kept with Partial set,
    /// unknown optional non-transitive ones dropped.
    pub fn write_canonical(&self, out: &mut Vec<u8>) {
        let _ = out;
        todo!()
    }
    /// Appends the attributes as a neighbor with two-octet AS numbers takes them (RFC 6793 §4.2.2), without
    /// multiprotocol attributes.
    pub fn write_two_octet(&self, out: &mut Vec<u8>) {
        let _ = out;
        todo!()
    }
}
