//! The canonical block and its two-octet form (RFC 4271 §5, RFC 6793 §4.2).

use rutter_net::Asn;

use super::as_path_write::{write_as4_path, write_merged, write_two_octet_only};
use super::attributes::RESERVED_FLAGS;
use super::table::{UNKNOWN, slot_of};
use super::{Aggregator, AsPath, Attributes, PARTIAL, RawAttribute, TRANSITIVE, code};

impl Attributes<'_> {
    /// Appends the canonical block: the form that is interned, compared and advertised transparently. It has the
    /// attributes in received order. MP_REACH_NLRI, MP_UNREACH_NLRI, discarded and repeated attributes are left out. AS
    /// numbers take four octets; AS4_PATH and AS4_AGGREGATOR are merged in (RFC 6793 §4.2.3). Unknown optional
    /// attributes are kept with the Partial flag if they are transitive, else dropped.
    pub fn write_canonical(&self, out: &mut Vec<u8>) {
        if let Some(slice) = self.canonical_slice() {
            return out.extend_from_slice(slice);
        }
        let (as4_path, aggregator) = self.four_octet_forms();
        for raw in self.iter() {
            match raw.code {
                code::MP_REACH_NLRI | code::MP_UNREACH_NLRI => {}
                code::AS_PATH if !self.as4 => {
                    let path = AsPath::new(raw.value, false);
                    write_merged(out, raw.flags & !RESERVED_FLAGS, path, as4_path);
                }
                code::AGGREGATOR if !self.as4 => {
                    if let Some(aggregator) = aggregator {
                        aggregator.write(out, raw.flags & !RESERVED_FLAGS);
                    }
                }
                code::AS4_PATH | code::AS4_AGGREGATOR => {}
                _ if slot_of(raw.code) != UNKNOWN => copy(out, &raw, 0),
                _ if raw.flags & TRANSITIVE != 0 => copy(out, &raw, PARTIAL),
                _ => {}
            }
        }
    }

    /// Selects the AS4_PATH and the aggregator that are valid (RFC 6793 §4.2.3). If AGGREGATOR is not AS_TRANS, a
    /// two-octet speaker added it later, and the AS4 attributes are stale.
    fn four_octet_forms(&self) -> (Option<AsPath<'_>>, Option<Aggregator>) {
        match (self.aggregator(), self.as4_aggregator()) {
            (Some(own), Some(as4)) if own.asn == Asn::TRANS => (self.as4_path(), Some(as4)),
            (Some(own), Some(_)) => (None, Some(own)),
            (own, _) => (self.as4_path(), own),
        }
    }

    /// Appends a canonical block in the form for a neighbor with two-octet AS numbers (RFC 6793 §4.2.2).
    pub fn write_two_octet(&self, out: &mut Vec<u8>) {
        let mut pending = Pending::default();
        for raw in self.iter() {
            if raw.code > code::AS4_AGGREGATOR {
                std::mem::take(&mut pending).write(out);
            }
            match (raw.code, self.as_path(), self.aggregator()) {
                (code::MP_REACH_NLRI | code::MP_UNREACH_NLRI, ..) => {}
                (code::AS_PATH, Some(path), _) => {
                    pending.path = write_two_octet_only(out, path).then_some(path);
                }
                (code::AGGREGATOR, _, Some(aggregator)) => {
                    aggregator.write_two_octet(out, raw.flags);
                    let needs_as4 = !aggregator.asn.is_two_octet();
                    pending.aggregator = needs_as4.then_some((aggregator, raw.flags));
                }
                _ => copy(out, &raw, 0),
            }
        }
        pending.write(out);
    }
}

/// The AS4 attributes still to be written. They follow the attributes with lower codes.
#[derive(Default)]
struct Pending<'a> {
    path: Option<AsPath<'a>>,
    aggregator: Option<(Aggregator, u8)>,
}

impl Pending<'_> {
    fn write(self, out: &mut Vec<u8>) {
        if let Some(path) = self.path {
            write_as4_path(out, path);
        }
        if let Some((aggregator, flags)) = self.aggregator {
            aggregator.write_as4(out, flags);
        }
    }
}

fn copy(out: &mut Vec<u8>, raw: &RawAttribute<'_>, set: u8) {
    out.push(raw.flags & !RESERVED_FLAGS | set);
    out.extend_from_slice(&raw.wire[1..]);
}
