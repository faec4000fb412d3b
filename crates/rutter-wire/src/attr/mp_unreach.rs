//! MP_UNREACH_NLRI (RFC 4760 §4).

use rutter_net::AfiSafi;

use super::malformed::Fault;
use super::table::Checked;
use super::{AttrContext, EXTENDED_LENGTH, OPTIONAL, code};

/// MP_UNREACH_NLRI taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MpUnreach<'a> {
    /// The family.
    pub afi_safi: AfiSafi,
    /// The withdrawn NLRI.
    pub withdrawn: &'a [u8],
}

impl<'a> MpUnreach<'a> {
    /// Decodes the value of the attribute. `None` if its fixed fields are cut off.
    #[inline]
    pub fn decode(value: &'a [u8]) -> Option<Self> {
        let (&[afi_high, afi_low, safi], withdrawn) = value.split_first_chunk()?;
        Some(MpUnreach {
            afi_safi: AfiSafi {
                afi: u16::from_be_bytes([afi_high, afi_low]),
                safi,
            },
            withdrawn,
        })
    }
}

pub(super) fn check(value: &[u8], _: &AttrContext) -> Checked {
    match value.len() {
        0..3 => Err((0, Fault::MultiprotocolTooShort)),
        _ => Ok(()),
    }
}

/// Appends the attribute with a two-octet length; `write_nlri` appends the NLRI.
pub fn write_mp_unreach<R>(
    out: &mut Vec<u8>,
    afi_safi: AfiSafi,
    write_nlri: impl FnOnce(&mut Vec<u8>) -> R,
) -> R {
    let [high, low] = afi_safi.afi.to_be_bytes();
    let flags = OPTIONAL | EXTENDED_LENGTH;
    out.extend_from_slice(&[flags, code::MP_UNREACH_NLRI, 0, 0]);
    let value = out.len();
    out.extend_from_slice(&[high, low, afi_safi.safi]);
    let returned = write_nlri(out);
    super::patch_extended_length(out, value);
    returned
}
