//! One pass over a block of path attributes.

use super::attributes::Attributes;
use super::malformed::{Disposition, Fault, Malformed};
use super::table::{ROWS, UNKNOWN, check, slot_of};
use super::{AttrContext, EXTENDED_LENGTH, OPTIONAL, PARTIAL, TRANSITIVE, code};

/// The place of one attribute.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) flags: u8,
    pub(super) code: u8,
    /// First octet of the attribute.
    pub(super) at: usize,
    /// First octet of the value.
    pub(super) value: usize,
    /// The first octet after the value.
    pub(super) end: usize,
}

/// Reads the header of the attribute at `at`.
#[inline(always)]
pub(super) fn head(block: &[u8], at: usize) -> Result<Head, Malformed> {
    let (flags, code, value, len) = match block.get(at..) {
        Some(&[flags, code, len, ..]) if flags & EXTENDED_LENGTH == 0 => {
            (flags, code, at + 3, usize::from(len))
        }
        Some(&[flags, code, high, low, ..]) => {
            let len = u16::from_be_bytes([high, low]);
            (flags, code, at + 4, usize::from(len))
        }
        rest => {
            return Err(Malformed {
                code: rest.and_then(|rest| rest.get(1)).copied(),
                offset: at,
                fault: Fault::HeaderTruncated,
            });
        }
    };
    if len > block.len() - value {
        return Err(Malformed {
            code: Some(code),
            offset: at,
            fault: Fault::LengthOverrun,
        });
    }
    Ok(Head {
        flags,
        code,
        at,
        value,
        end: value + len,
    })
}

/// Reads a block of path attributes in one pass. It allocates only when it finds a fault.
///
/// The result is usable in spite of faults. Discarded attributes are absent; the attributes that treat-as-withdraw
/// needs ([`Attributes::mp_reach`], [`Attributes::mp_unreach`]) are present. The strongest [`Malformed::disposition`]
/// decides the fate of the UPDATE. A block has at most 65,535 octets; the rest is not read.
pub fn parse<'a>(
    block: &'a [u8],
    context: &AttrContext,
    faults: &mut Vec<Malformed>,
) -> Attributes<'a> {
    let before = faults.len();
    let mut pass = Pass {
        attributes: Attributes::empty(block, context.as4),
        context,
        faults,
        seen: 0,
        seen_unknown: [0; 4],
    };
    pass.run();
    pass.finish(before);
    pass.attributes
}

struct Pass<'a, 'c> {
    attributes: Attributes<'a>,
    context: &'c AttrContext,
    faults: &'c mut Vec<Malformed>,
    /// A bit for each row whose code occurred, even if malformed.
    seen: u32,
    /// A bit for each code without a row that occurred.
    seen_unknown: [u64; 4],
}

impl Pass<'_, '_> {
    #[inline(always)]
    fn run(&mut self) {
        let block = self.attributes.block();
        let mut at = 0;
        while at < block.len() {
            let head = match head(block, at) {
                Ok(head) => head,
                Err(malformed) => return self.cut(malformed),
            };
            at = head.end;
            let slot = slot_of(head.code);
            if slot == UNKNOWN {
                self.unknown(&head);
            } else {
                self.known(slot, &head);
            }
        }
    }

    #[inline(always)]
    fn known(&mut self, slot: usize, head: &Head) {
        let bit = 1 << slot;
        if self.seen & bit != 0 {
            return self.fault(head, head.at, Fault::Duplicate);
        }
        self.seen |= bit;
        let row = &ROWS[slot];
        if (head.flags ^ row.flags) & (OPTIONAL | TRANSITIVE) != 0 {
            self.fault(head, head.at, Fault::Flags);
            if !is_multiprotocol(head.code) {
                return;
            }
        }
        let value = &self.attributes.block()[head.value..head.end];
        match check(head.code, value, self.context) {
            Ok(()) => self.attributes.keep(slot, head),
            Err((inside, fault)) => {
                let offset = match inside {
                    0 => head.at,
                    inside => head.value + inside,
                };
                self.fault(head, offset, fault);
            }
        }
    }

    /// RFC 4271 §5: a transitive attribute is passed on with the Partial flag; others are dropped silently.
    #[inline(never)]
    fn unknown(&mut self, head: &Head) {
        let (word, bit) = (usize::from(head.code >> 6), 1 << (head.code & 63));
        if self.seen_unknown[word] & bit != 0 {
            return self.fault(head, head.at, Fault::Duplicate);
        }
        self.seen_unknown[word] |= bit;
        if head.flags & OPTIONAL == 0 {
            return self.fault(head, head.at, Fault::UnrecognizedWellKnown);
        }
        if head.flags & TRANSITIVE != 0 {
            let as_it_is = head.flags & PARTIAL != 0;
            self.attributes.keep_unknown(head, as_it_is);
        }
    }

    #[cold]
    fn fault(&mut self, head: &Head, offset: usize, fault: Fault) {
        self.faults.push(Malformed {
            code: Some(head.code),
            offset,
            fault,
        });
    }

    /// RFC 7606 §4: no octet after this one can be trusted.
    #[cold]
    fn cut(&mut self, malformed: Malformed) {
        self.faults.push(malformed);
        self.attributes.cut(malformed.offset);
        // Missing attributes may be after the cut, so they are not reported.
        self.seen |= MANDATORY | NEXT_HOP;
    }

    #[inline(always)]
    fn finish(&mut self, before: usize) {
        let reachable = self.context.has_ipv4_nlri || self.attributes.has(code::MP_REACH_NLRI);
        let mandatory = match (reachable, self.context.has_ipv4_nlri) {
            (false, _) => 0,
            (true, false) => MANDATORY,
            (true, true) => MANDATORY | NEXT_HOP,
        };
        if mandatory & !self.seen != 0 {
            self.missing(mandatory & !self.seen);
        }
        if reachable && !self.context.has_ipv4_nlri {
            self.attributes.ignore_next_hop();
        }
        if self.faults.len() > before && !self.encodes_reachable_nlri() {
            self.nothing_to_withdraw(before);
        }
    }

    #[cold]
    fn missing(&mut self, missing: u32) {
        let offset = self.attributes.block().len();
        for (_, row) in ROWS
            .iter()
            .enumerate()
            .filter(|(slot, _)| missing & 1 << slot != 0)
        {
            self.faults.push(Malformed {
                code: Some(row.code),
                offset,
                fault: Fault::Missing,
            });
        }
    }

    /// Returns whether the UPDATE announces a route. An MP_REACH_NLRI without prefixes announces none.
    #[cold]
    fn encodes_reachable_nlri(&self) -> bool {
        let reach = self.attributes.mp_reach();
        self.context.has_ipv4_nlri || reach.is_some_and(|reach| !reach.nlri.is_empty())
    }

    /// RFC 7606 §5.2: without reachable NLRI it is unknown which routes a treat-as-withdraw would withdraw.
    #[cold]
    fn nothing_to_withdraw(&mut self, before: usize) {
        if self.seen & !MP_UNREACH == 0 && self.seen_unknown == [0; 4] {
            return;
        }
        let strongest = self.faults[before..]
            .iter()
            .max_by_key(|malformed| malformed.disposition())
            .copied();
        match strongest {
            Some(malformed) if malformed.disposition() == Disposition::TreatAsWithdraw => {
                self.faults.push(Malformed {
                    fault: Fault::NothingToWithdraw,
                    ..malformed
                });
            }
            _ => {}
        }
    }
}

const fn is_multiprotocol(code: u8) -> bool {
    matches!(code, code::MP_REACH_NLRI | code::MP_UNREACH_NLRI)
}

const MANDATORY: u32 = 1 << slot_of(code::ORIGIN) | 1 << slot_of(code::AS_PATH);
const NEXT_HOP: u32 = 1 << slot_of(code::NEXT_HOP);
const MP_UNREACH: u32 = 1 << slot_of(code::MP_UNREACH_NLRI);
