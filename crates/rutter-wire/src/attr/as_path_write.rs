//! Building AS_PATH and AS4_PATH: prepending, the two-octet form, and merging the two (RFC 4271 §5.1.2, RFC 6793 §4.2).

use rutter_net::Asn;

use super::as_path::{AsPath, Segment, SegmentKind, two_octet};
use super::write::extend_numbers;
use super::{OPTIONAL, TRANSITIVE, code, write_attr_with};

/// Writes the attribute from AS_SEQUENCEs, with four-octet numbers. A sequence of more than 255 AS numbers becomes
/// several segments.
#[inline]
pub fn write_as_path<'s>(out: &mut Vec<u8>, sequences: impl Iterator<Item = &'s [u32]>) {
    write_attr_with(out, TRANSITIVE, code::AS_PATH, |out| {
        for segment in sequences.flat_map(|sequence| sequence.chunks(MAX_COUNT)) {
            out.extend_from_slice(&[SegmentKind::Sequence as u8, segment.len() as u8]);
            extend_numbers(out, segment);
        }
    });
}

/// Writes the attribute with `asn` prepended `times` times, with four-octet numbers.
pub fn write_as_path_prepended(
    out: &mut Vec<u8>,
    path: Option<AsPath<'_>>,
    asn: Asn,
    times: usize,
) {
    write_as_path_with(out, path, times, std::iter::repeat_n(asn, times));
}

/// As [`write_as_path_prepended`], with `leftmost` before the others: our own AS after the repetitions of another.
pub fn write_as_path_led_by(
    out: &mut Vec<u8>,
    (leftmost, leftmost_times): (Asn, usize),
    path: Option<AsPath<'_>>,
    asn: Asn,
    times: usize,
) {
    let prepended = std::iter::repeat_n(leftmost, leftmost_times);
    let prepended = prepended.chain(std::iter::repeat_n(asn, times));
    write_as_path_with(out, path, times + leftmost_times, prepended);
}

/// Writes the attribute after `times` numbers.
fn write_as_path_with(
    out: &mut Vec<u8>,
    path: Option<AsPath<'_>>,
    times: usize,
    mut own: impl Iterator<Item = Asn>,
) {
    write_attr_with(out, TRANSITIVE, code::AS_PATH, |out| {
        let path = path.unwrap_or(AsPath::EMPTY);
        let mut segments = path.segments().peekable();
        let joined =
            segments.next_if(|s| s.kind == SegmentKind::Sequence && s.count() + times <= MAX_COUNT);
        let mut left = times + joined.map_or(0, |s| s.count());
        while left > 0 {
            // The short segment comes first, so that the next speaker has room to prepend.
            let count = match left % MAX_COUNT {
                0 => MAX_COUNT,
                count => count,
            };
            out.extend_from_slice(&[SegmentKind::Sequence as u8, count as u8]);
            for asn in own.by_ref().take(count) {
                out.extend_from_slice(&asn.0.to_be_bytes());
            }
            left -= count;
        }
        if let Some(segment) = joined {
            write_asns(out, &segment, segment.count());
        }
        segments.for_each(|segment| write_segment(out, &segment, segment.count()));
    });
}

/// Writes the path for a neighbor with two-octet AS numbers. AS_TRANS replaces each number that does not fit; AS4_PATH
/// follows if there was one (RFC 6793 §4.2.2).
pub fn write_as_path_two_octet(out: &mut Vec<u8>, path: AsPath<'_>) {
    if write_two_octet_only(out, path) {
        write_as4_path(out, path);
    }
}

/// Writes only the two-octet AS_PATH. Returns `true` if AS4_PATH is needed too.
pub(super) fn write_two_octet_only(out: &mut Vec<u8>, path: AsPath<'_>) -> bool {
    let mut needs_as4 = false;
    write_attr_with(out, TRANSITIVE, code::AS_PATH, |out| {
        for segment in path.segments() {
            out.extend_from_slice(&[segment.kind as u8, segment.count() as u8]);
            for asn in segment.asns() {
                needs_as4 |= !asn.is_two_octet();
                out.extend_from_slice(&two_octet(asn).to_be_bytes());
            }
        }
    });
    needs_as4
}

/// Writes AS4_PATH, which contains no confederation segments (RFC 6793 §3).
pub(super) fn write_as4_path(out: &mut Vec<u8>, path: AsPath<'_>) {
    let outside = path.segments().filter(|s| !s.kind.is_confederation());
    write_attr_with(out, OPTIONAL | TRANSITIVE, code::AS4_PATH, |out| {
        outside.for_each(|segment| write_segment(out, &segment, segment.count()));
    });
}

/// Writes the four-octet AS_PATH that results from the AS_PATH and AS4_PATH of a two-octet speaker (RFC 6793 §4.2.3).
pub(super) fn write_merged(
    out: &mut Vec<u8>,
    flags: u8,
    path: AsPath<'_>,
    as4_path: Option<AsPath<'_>>,
) {
    let as4_path = as4_path.filter(|as4_path| as4_path.path_len() <= path.path_len());
    write_attr_with(out, flags, code::AS_PATH, |out| match as4_path {
        None => path
            .segments()
            .for_each(|segment| write_segment(out, &segment, segment.count())),
        Some(as4_path) => write_joined(out, path, as4_path),
    });
}

/// Writes the leading part of `path` that `as4_path` lacks, then `as4_path`.
fn write_joined(out: &mut Vec<u8>, path: AsPath<'_>, as4_path: AsPath<'_>) {
    let mut lacking = path.path_len() - as4_path.path_len();
    let mut open = None;
    for segment in path.segments() {
        let count = match segment.kind {
            SegmentKind::Sequence => segment.count().min(lacking),
            _ => segment.count(),
        };
        // Confederation segments are included when they lead or adjoin the part that is taken.
        if segment.path_len() > 0 && lacking == 0 {
            break;
        }
        lacking -= segment.path_len().min(lacking);
        open = (segment.kind == SegmentKind::Sequence).then_some((out.len(), count));
        write_segment(out, &segment, count);
    }
    for segment in as4_path.segments() {
        match (segment.kind, open.take()) {
            (SegmentKind::ConfedSequence | SegmentKind::ConfedSet, kept) => open = kept,
            (SegmentKind::Sequence, Some((at, count))) if count + segment.count() <= MAX_COUNT => {
                out[at + 1] = (count + segment.count()) as u8;
                write_asns(out, &segment, segment.count());
            }
            _ => write_segment(out, &segment, segment.count()),
        }
    }
}

fn write_segment(out: &mut Vec<u8>, segment: &Segment<'_>, count: usize) {
    out.extend_from_slice(&[segment.kind as u8, count as u8]);
    write_asns(out, segment, count);
}

fn write_asns(out: &mut Vec<u8>, segment: &Segment<'_>, count: usize) {
    for asn in segment.asns().take(count) {
        out.extend_from_slice(&asn.0.to_be_bytes());
    }
}

/// Most AS numbers in a segment.
const MAX_COUNT: usize = 255;
