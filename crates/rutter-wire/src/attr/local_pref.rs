//! LOCAL_PREF (RFC 4271 §5.1.5); has no meaning across AS borders.

use super::AttrContext;
use super::malformed::Fault;
use super::table::{Checked, exactly};

pub(super) fn check(value: &[u8], context: &AttrContext) -> Checked {
    if context.external {
        return Err((0, Fault::FromExternal));
    }
    exactly::<4>(value)
}
