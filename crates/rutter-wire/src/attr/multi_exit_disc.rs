//! MULTI_EXIT_DISC (RFC 4271 §5.1.4).

use super::AttrContext;
use super::table::{Checked, exactly};

pub(super) fn check(value: &[u8], _: &AttrContext) -> Checked {
    exactly::<4>(value)
}
