//! AIGP (RFC 7311): the accumulated IGP metric.

use super::AttrContext;
use super::malformed::Fault;
use super::table::Checked;

/// A session across an AS border is not an AIGP session, so the attribute counts as unknown there (RFC 7311 §3.3).
pub(super) fn check(value: &[u8], context: &AttrContext) -> Checked {
    if context.external {
        return Err((0, Fault::FromExternal));
    }
    let mut at = 0;
    while at < value.len() {
        at += tlv(&value[at..]).ok_or((at, Fault::AigpTlv))?.len();
    }
    Ok(())
}

/// The first TLV, header included; `None` if malformed (RFC 7311 §3.2).
fn tlv(bytes: &[u8]) -> Option<&[u8]> {
    let &[kind, high, low, ..] = bytes else {
        return None;
    };
    let len = usize::from(u16::from_be_bytes([high, low]));
    if len < 3 || kind == METRIC && len != 11 {
        return None;
    }
    bytes.get(..len)
}

/// The metric of the first AIGP TLV.
pub(super) fn metric(mut value: &[u8]) -> Option<u64> {
    while let Some(first) = tlv(value) {
        if first[0] == METRIC {
            return first.get(3..)?.try_into().ok().map(u64::from_be_bytes);
        }
        value = &value[first.len()..];
    }
    None
}

const METRIC: u8 = 1;
