//! BGP Prefix-SID (RFC 8669): checked for its framing only, then passed on as received.

use super::AttrContext;
use super::malformed::Fault;
use super::table::Checked;

/// A malformed attribute cannot be parsed: it is empty, a TLV extends beyond its end, or a TLV that RFC 8669 defines
/// has a wrong length. Other TLVs are passed on unchanged (RFC 8669 §6).
pub(super) fn check(value: &[u8], _: &AttrContext) -> Checked {
    if value.is_empty() {
        return Err((0, Fault::Length));
    }
    let mut at = 0;
    while at < value.len() {
        at += tlv_len(&value[at..]).ok_or((at, Fault::PrefixSidTlv))?;
    }
    Ok(())
}

/// The length of the first TLV, its header included; `None` if it is malformed.
fn tlv_len(bytes: &[u8]) -> Option<usize> {
    let (&[kind, high, low], rest) = bytes.split_first_chunk()?;
    let len = usize::from(u16::from_be_bytes([high, low]));
    let fits = match kind {
        LABEL_INDEX => len == 7,
        // Two octets of flags, then one or more ranges of six octets.
        ORIGINATOR_SRGB => len >= 8 && (len - 2) % 6 == 0,
        _ => true,
    };
    (fits && len <= rest.len()).then_some(3 + len)
}

const LABEL_INDEX: u8 = 1;
const ORIGINATOR_SRGB: u8 = 3;
