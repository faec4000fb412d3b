//! ATOMIC_AGGREGATE (RFC 4271 §5.1.6).

use super::AttrContext;
use super::table::{Checked, exactly};

pub(super) fn check(value: &[u8], _: &AttrContext) -> Checked {
    exactly::<0>(value)
}
