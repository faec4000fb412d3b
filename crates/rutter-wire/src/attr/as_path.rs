//! AS_PATH (RFC 4271 §5.1.2, RFC 5065, RFC 6793).

use rutter_net::Asn;

/// The kind of a path segment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum SegmentKind {
    /// AS_SET: unordered.
    Set = 1,
    /// AS_SEQUENCE: ordered, nearest AS first.
    Sequence = 2,
    /// AS_CONFED_SEQUENCE (RFC 5065).
    ConfedSequence = 3,
    /// AS_CONFED_SET (RFC 5065).
    ConfedSet = 4,
}

/// A segment of a path, borrowed from the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment<'a> {
    /// What the numbers are.
    pub kind: SegmentKind,
    bytes: &'a [u8],
    as4: bool,
}

impl<'a> Segment<'a> {
    /// The AS numbers in the order received.
    pub fn asns(&self) -> impl Iterator<Item = Asn> + Clone + 'a {
        let _ = (self.bytes, self.as4);
        std::iter::empty()
    }

    /// How many AS numbers there are.
    pub fn count(&self) -> usize {
        todo!()
    }
}

/// A view of an AS_PATH; knows whether AS numbers take two or four octets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AsPath<'a> {
    bytes: &'a [u8],
    as4: bool,
}

impl<'a> AsPath<'a> {
    /// The empty path.
    pub const EMPTY: AsPath<'static> = AsPath {
        bytes: &[],
        as4: true,
    };

    /// A view of an attribute value. Where the value is malformed, the view ends before the fault.
    pub fn new(bytes: &'a [u8], as4: bool) -> Self {
        AsPath { bytes, as4 }
    }

    /// The attribute value as it stands on the wire.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Whether the AS numbers take four octets.
    pub fn is_four_octet(self) -> bool {
        self.as4
    }

    /// The segments in order.
    pub fn segments(self) -> impl Iterator<Item = Segment<'a>> + Clone {
        std::iter::empty()
    }

    /// All AS numbers in order, whatever their segments.
    pub fn asns(self) -> impl Iterator<Item = Asn> + Clone {
        std::iter::empty()
    }

    /// The length that the decision process compares: a set counts one, confederation segments nothing
    /// (RFC 4271 §9.1.2.2 a, RFC 5065 §5.3).
    pub fn path_len(self) -> usize {
        todo!()
    }

    /// The left-most AS number where the first segment is a sequence: the neighbouring AS.
    pub fn first(self) -> Option<Asn> {
        todo!()
    }

    /// The right-most AS number where the last segment is a sequence: the origin AS.
    pub fn origin(self) -> Option<Asn> {
        todo!()
    }

    /// Whether an AS_SET or AS_CONFED_SET is present (RFC 9774).
    pub fn has_set(self) -> bool {
        todo!()
    }

    /// Whether the AS number occurs anywhere.
    pub fn contains(self, asn: Asn) -> bool {
        let _ = asn;
        todo!()
    }

    /// Whether there is no segment.
    pub fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }
}

/// Writes the attribute with `asn` put in front `times` times, in four octets.
pub fn write_as_path_prepended(
    out: &mut Vec<u8>,
    path: Option<AsPath<'_>>,
    asn: Asn,
    times: usize,
) {
    let _ = (out, path, asn, times);
    todo!()
}

/// Writes the path for a neighbor with two-octet AS numbers: AS_PATH with AS_TRANS in the place of what does not fit,
/// then AS4_PATH if any did not (RFC 6793 §4.2.2).
pub fn write_as_path_two_octet(out: &mut Vec<u8>, path: AsPath<'_>) {
    let _ = (out, path);
    todo!()
}
