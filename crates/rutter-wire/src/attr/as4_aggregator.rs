//! AS4_AGGREGATOR (RFC 6793 §3).

use super::AttrContext;
use super::aggregator::check_asn;
use super::malformed::Fault;
use super::table::{Checked, exactly};

pub(super) fn check(value: &[u8], context: &AttrContext) -> Checked {
    if context.as4 {
        return Err((0, Fault::FromFourOctetSpeaker));
    }
    exactly::<8>(value)?;
    check_asn(&value[..4])
}
