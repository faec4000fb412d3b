//! NEXT_HOP (RFC 4271 §5.1.3).

use super::AttrContext;
use super::malformed::Fault;
use super::table::Checked;

/// Multicast, "this network" and broadcast addresses are not hosts (RFC 4271 §6.3). If the UPDATE has no IPv4 NLRI
/// field, the value is ignored (RFC 4760 §3).
pub(super) fn check(value: &[u8], context: &AttrContext) -> Checked {
    match value {
        [0 | 224..=239, ..] | [255, 255, 255, 255] if value.len() == 4 && context.has_ipv4_nlri => {
            Err((0, Fault::NextHopNotHost))
        }
        [_, _, _, _] => Ok(()),
        _ => Err((0, Fault::Length)),
    }
}
