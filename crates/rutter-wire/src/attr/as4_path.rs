//! AS4_PATH (RFC 6793 §3): the AS numbers that a two-octet AS_PATH cannot carry.

use super::AttrContext;
use super::as_path::check_segments;
use super::malformed::Fault;
use super::table::Checked;

/// Confederation segments are no fault here: the merge of the two paths leaves them out (RFC 6793 §6).
pub(super) fn check(value: &[u8], context: &AttrContext) -> Checked {
    if context.as4 {
        return Err((0, Fault::FromFourOctetSpeaker));
    }
    let lenient = AttrContext {
        external: false,
        ..*context
    };
    if value.is_empty() {
        return Err((0, Fault::Length));
    }
    check_segments::<4>(value, &lenient)
}
