//! CLUSTER_LIST (RFC 4456 §8); has no meaning across AS borders.

use super::AttrContext;
use super::malformed::Fault;
use super::table::{Checked, multiple_of};

pub(super) fn check(value: &[u8], context: &AttrContext) -> Checked {
    if context.external {
        return Err((0, Fault::FromExternal));
    }
    multiple_of::<4>(value)
}
