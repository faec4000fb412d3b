//! Attributes as a router or a file reports them. Their session is not ours, so there is nothing to reset or to withdraw.

use std::net::{IpAddr, Ipv4Addr};

use super::attributes::Attributes;
use super::malformed::{Fault, Malformed};
use super::parse::head;
use super::table::{UNKNOWN, slot_of};
use super::{AsPath, AttrContext, OPTIONAL, PARTIAL, TRANSITIVE, code, next_hop_address, parse};

/// Reads a block like [`parse`], but keeps malformed attributes as they stand.
///
/// The result has each attribute whose length fits into the block, the first one of each type. Its views return the
/// readable part of a malformed value. For a block without faults the result is that of [`parse`].
pub fn parse_reported<'a>(
    block: &'a [u8],
    context: &AttrContext,
    faults: &mut Vec<Malformed>,
) -> Attributes<'a> {
    let before = faults.len();
    let parsed = parse(block, context, faults);
    if faults.len() == before {
        return parsed;
    }
    // It only says which routes a session would withdraw.
    faults.retain(|malformed| malformed.fault != Fault::NothingToWithdraw);
    let mut reported = Attributes::as_reported(block, context.as4);
    if !context.has_ipv4_nlri && reported.mp_reach().is_some() {
        reported.ignore_next_hop();
    }
    reported
}

/// Splits a block at the lengths of its attributes, into type codes and bytes. If the last attribute is cut off, its
/// bytes have no code.
pub fn split_block(block: &[u8]) -> impl Iterator<Item = (Option<u8>, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = block.get(at..).filter(|rest| !rest.is_empty())?;
        let Ok(head) = head(block, at) else {
            at = block.len();
            return Some((None, rest));
        };
        at = head.end;
        Some((Some(head.code), &block[head.at..head.end]))
    })
}

impl<'a> Attributes<'a> {
    /// A view of each attribute whose length fits into the block, the first one of each type. Nothing else is checked.
    pub fn as_reported(block: &'a [u8], as4: bool) -> Self {
        let mut attributes = Self::empty(block, as4);
        let mut seen_unknown = [0u64; 4];
        let mut at = 0;
        while let Some(head) = attributes.head_at(at) {
            at = head.end;
            let slot = slot_of(head.code);
            if slot != UNKNOWN {
                if !attributes.has(head.code) {
                    attributes.keep(slot, &head);
                }
                continue;
            }
            let (word, bit) = (usize::from(head.code >> 6), 1 << (head.code & 63));
            let again = seen_unknown[word] & bit != 0;
            seen_unknown[word] |= bit;
            if !again && head.flags & (OPTIONAL | TRANSITIVE) == OPTIONAL | TRANSITIVE {
                attributes.keep_unknown(&head, head.flags & PARTIAL != 0);
            }
        }
        attributes.cut(at);
        attributes
    }

    /// The (global) next hop of the routes in MP_REACH_NLRI: its own one, or else that of NEXT_HOP.
    pub fn mp_next_hop(&self) -> Option<IpAddr> {
        let reach = self.mp_reach()?;
        let own = next_hop_address(reach.next_hop);
        own.or_else(|| self.next_hop().map(IpAddr::V4))
    }

    /// Returns whether a fault is the next hop 0.0.0.0 of a reported route. With it routers report routes of their own,
    /// as with `::`, which is no fault in MP_REACH_NLRI.
    pub fn has_unspecified_next_hop(&self, malformed: &Malformed) -> bool {
        malformed.fault == Fault::NextHopNotHost && self.next_hop() == Some(Ipv4Addr::UNSPECIFIED)
    }

    /// Returns whether a fault hides a part of a reported UPDATE. Other faults are values that an RFC forbids, but that
    /// the views return as they stand.
    pub fn is_hidden_by(&self, malformed: &Malformed) -> bool {
        match (malformed.fault, malformed.code) {
            (Fault::HeaderTruncated | Fault::LengthOverrun, _) => true,
            (Fault::PrefixLength(_) | Fault::PrefixTruncated(_), _) => true,
            (Fault::Missing | Fault::UnrecognizedWellKnown, _) => false,
            (Fault::Duplicate, Some(code::MP_REACH_NLRI | code::MP_UNREACH_NLRI)) => true,
            (Fault::Duplicate, _) => false,
            (_, Some(code)) => !self.is_readable(code),
            (_, None) => true,
        }
    }

    /// Returns whether the views return the whole value of an attribute.
    fn is_readable(&self, code: u8) -> bool {
        let Some(value) = self.value(code) else {
            return true;
        };
        match code {
            code::ORIGIN => value.len() == 1 && self.origin().is_some(),
            code::AS_PATH => self.as_path().is_none_or(AsPath::is_readable),
            code::AGGREGATOR => self.aggregator().is_some(),
            code::NEXT_HOP | code::MULTI_EXIT_DISC | code::LOCAL_PREF => value.len() == 4,
            code::COMMUNITIES => value.len().is_multiple_of(4),
            code::EXTENDED_COMMUNITIES => value.len().is_multiple_of(8),
            code::LARGE_COMMUNITIES => value.len().is_multiple_of(12),
            code::MP_UNREACH_NLRI => self.mp_unreach().is_some(),
            // A next hop without octets is missing, not hidden.
            code::MP_REACH_NLRI => self.mp_reach().is_some_and(|reach| {
                reach.next_hop.is_empty() || next_hop_address(reach.next_hop).is_some()
            }),
            _ => true,
        }
    }
}
