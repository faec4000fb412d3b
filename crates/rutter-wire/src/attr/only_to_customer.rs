//! Only to Customer (RFC 9234 §5).

use super::AttrContext;
use super::table::{Checked, exactly};

pub(super) fn check(value: &[u8], _: &AttrContext) -> Checked {
    exactly::<4>(value)
}
