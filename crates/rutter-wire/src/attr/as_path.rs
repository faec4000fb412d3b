//! AS_PATH (RFC 4271 §5.1.2, RFC 5065, RFC 6793): the view and the checks.

use std::fmt;

use rutter_net::Asn;

use super::AttrContext;
use super::malformed::Fault;
use super::table::Checked;

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

impl SegmentKind {
    fn from_octet(octet: u8) -> Option<Self> {
        match octet {
            1 => Some(SegmentKind::Set),
            2 => Some(SegmentKind::Sequence),
            3 => Some(SegmentKind::ConfedSequence),
            4 => Some(SegmentKind::ConfedSet),
            _ => None,
        }
    }

    /// Returns whether the segment has a meaning only inside a confederation.
    pub fn is_confederation(self) -> bool {
        matches!(self, SegmentKind::ConfedSequence | SegmentKind::ConfedSet)
    }

    /// Returns whether the numbers are unordered.
    pub fn is_set(self) -> bool {
        matches!(self, SegmentKind::Set | SegmentKind::ConfedSet)
    }
}

/// A segment of a path, borrowed from the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment<'a> {
    /// The kind of the segment.
    pub kind: SegmentKind,
    bytes: &'a [u8],
    as4: bool,
}

impl<'a> Segment<'a> {
    /// The AS numbers in the order received.
    #[inline]
    pub fn asns(&self) -> impl Iterator<Item = Asn> + Clone + use<'a> {
        let as4 = self.as4;
        self.bytes
            .chunks_exact(width(as4))
            .map(move |octets| asn(octets, as4))
    }

    /// The number of AS numbers.
    #[inline]
    pub fn count(&self) -> usize {
        self.bytes.len() / width(self.as4)
    }

    /// The length that the segment adds to the path.
    pub(super) fn path_len(&self) -> usize {
        match self.kind {
            SegmentKind::Sequence => self.count(),
            SegmentKind::Set => 1,
            SegmentKind::ConfedSequence | SegmentKind::ConfedSet => 0,
        }
    }
}

/// The segments of a path. The iterator ends early where the bytes are malformed.
#[derive(Clone, Debug)]
struct Segments<'a> {
    rest: &'a [u8],
    as4: bool,
}

impl<'a> Iterator for Segments<'a> {
    type Item = Segment<'a>;

    #[inline]
    fn next(&mut self) -> Option<Segment<'a>> {
        let (&[kind, count], rest) = self.rest.split_first_chunk()?;
        let (bytes, rest) = rest.split_at_checked(usize::from(count) * width(self.as4))?;
        let kind = SegmentKind::from_octet(kind)?;
        self.rest = rest;
        Some(Segment {
            kind,
            bytes,
            as4: self.as4,
        })
    }
}

/// A view of an AS_PATH. It knows whether AS numbers take two or four octets.
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

    /// The attribute value as received.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The segments in order.
    #[inline]
    pub fn segments(self) -> impl Iterator<Item = Segment<'a>> + Clone + use<'a> {
        Segments {
            rest: self.bytes,
            as4: self.as4,
        }
    }

    /// All AS numbers in order, of all segments.
    #[inline]
    pub fn asns(self) -> impl Iterator<Item = Asn> + Clone + use<'a> {
        self.segments().flat_map(|segment| segment.asns())
    }

    /// The length that the decision process compares. A set counts as one AS number; confederation segments do not
    /// count (RFC 4271 §9.1.2.2 a, RFC 5065 §5.3).
    #[inline]
    pub fn path_len(self) -> usize {
        self.segments().map(|segment| segment.path_len()).sum()
    }

    /// The left-most AS number, which is the neighboring AS. `None` unless the first segment outside the confederation
    /// is a sequence.
    #[inline]
    pub fn first(self) -> Option<Asn> {
        let segment = self.segments().find(|s| !s.kind.is_confederation())?;
        match segment.kind {
            SegmentKind::Sequence => segment.asns().next(),
            _ => None,
        }
    }

    /// The right-most AS number, which is the origin AS. `None` unless the last segment is a sequence, and where a
    /// malformed value hides the end of the path.
    #[inline]
    pub fn origin(self) -> Option<Asn> {
        let mut segments = Segments {
            rest: self.bytes,
            as4: self.as4,
        };
        let segment = segments.by_ref().last()?;
        match segment.kind {
            SegmentKind::Sequence if segments.rest.is_empty() => segment.asns().last(),
            _ => None,
        }
    }

    /// Returns whether an AS_SET or AS_CONFED_SET is present (RFC 9774).
    pub fn has_set(self) -> bool {
        self.segments().any(|segment| segment.kind.is_set())
    }

    /// Returns whether the AS number occurs anywhere.
    #[inline]
    pub fn contains(self, asn: Asn) -> bool {
        self.asns().any(|other| other == asn)
    }

    /// Returns whether the segments are the whole value. Those of a malformed value end before the fault.
    pub fn is_readable(self) -> bool {
        let octets = |segment: Segment<'_>| 2 + segment.bytes.len();
        self.segments().map(octets).sum::<usize>() == self.bytes.len()
    }

    /// Returns whether the path has no segment.
    pub fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }
}

impl fmt::Display for AsPath<'_> {
    /// Writes `64500 64501 {64502,64503}`, as bgpdump does. Confederation sequences are in parentheses, confederation
    /// sets in brackets. `?` at the end stands for the part of a malformed value that cannot be read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, segment) in self.segments().enumerate() {
            let (open, separator, close) = match segment.kind {
                SegmentKind::Sequence => ("", " ", ""),
                SegmentKind::Set => ("{", ",", "}"),
                SegmentKind::ConfedSequence => ("(", " ", ")"),
                SegmentKind::ConfedSet => ("[", ",", "]"),
            };
            f.write_str(if i == 0 { "" } else { " " })?;
            f.write_str(open)?;
            for (j, asn) in segment.asns().enumerate() {
                f.write_str(if j == 0 { "" } else { separator })?;
                fmt::Display::fmt(&asn, f)?;
            }
            f.write_str(close)?;
        }
        match (self.is_readable(), self.segments().next()) {
            (true, _) => Ok(()),
            (false, None) => f.write_str("?"),
            (false, Some(_)) => f.write_str(" ?"),
        }
    }
}

/// The number for a two-octet field.
pub(super) fn two_octet(asn: Asn) -> u16 {
    u16::try_from(asn.0).unwrap_or(Asn::TRANS.0 as u16)
}

#[inline(always)]
const fn width(as4: bool) -> usize {
    if as4 { 4 } else { 2 }
}

#[inline(always)]
fn asn(octets: &[u8], as4: bool) -> Asn {
    match as4 {
        true => Asn(super::be_u32(octets)),
        false => Asn(u32::from(u16::from_be_bytes([octets[0], octets[1]]))),
    }
}

pub(super) fn check(value: &[u8], context: &AttrContext) -> Checked {
    if context.as4 {
        return check_segments::<4>(value, context);
    }
    if value.len() > TWO_OCTET_MAX {
        return Err((0, Fault::Length));
    }
    check_segments::<2>(value, context)
}

/// Checks the segments in one pass. `WIDTH` is the number of octets of an AS number.
#[inline]
pub(super) fn check_segments<const WIDTH: usize>(value: &[u8], context: &AttrContext) -> Checked {
    let mut at = 0;
    while at < value.len() {
        let &[kind, count, ref rest @ ..] = &value[at..] else {
            return Err((at, Fault::SegmentOverrun));
        };
        if kind != SegmentKind::Sequence as u8 {
            check_kind(kind, context).map_err(|fault| (at, fault))?;
        }
        if count == 0 {
            return Err((at + 1, Fault::SegmentEmpty));
        }
        let Some(asns) = rest.get(..usize::from(count) * WIDTH) else {
            return Err((at + 1, Fault::SegmentOverrun));
        };
        if let Some(zero) = asns.chunks_exact(WIDTH).position(|c| c == [0; WIDTH]) {
            return Err((at + 2 + zero * WIDTH, Fault::AsZero));
        }
        at += 2 + asns.len();
    }
    Ok(())
}

#[cold]
fn check_kind(octet: u8, context: &AttrContext) -> Result<(), Fault> {
    match SegmentKind::from_octet(octet) {
        None => Err(Fault::SegmentType),
        Some(kind) if kind.is_confederation() && context.external => {
            Err(Fault::ConfederationSegment)
        }
        Some(kind) if kind.is_set() && !context.accept_as_set => Err(Fault::AsSet),
        Some(_) => Ok(()),
    }
}

/// A longer two-octet path would not fit into one attribute with four-octet numbers.
const TWO_OCTET_MAX: usize = 0x7fff;
