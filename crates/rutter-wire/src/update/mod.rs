//! UPDATE messages (RFC 4271 §4.3): taken apart by their lengths, put together from parts.

use rutter_net::AfiSafi;

use crate::notification::Notification;

/// The three variable parts of an UPDATE.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sections<'a> {
    /// Withdrawn IPv4 routes.
    pub withdrawn: &'a [u8],
    /// Path attributes.
    pub attributes: &'a [u8],
    /// IPv4 NLRI.
    pub nlri: &'a [u8],
}

/// Takes the body of an UPDATE (what follows the header) apart; looks at the two length fields only.
pub fn split(body: &[u8]) -> Result<Sections<'_>, Notification> {
    let _ = body;
    todo!()
}

/// The family that an End-of-RIB marker ends (RFC 4724 §2), `None` for any other UPDATE.
pub fn is_end_of_rib(body: &[u8]) -> Option<AfiSafi> {
    let _ = body;
    todo!()
}

/// Appends a whole UPDATE message, header included. The caller keeps it within the negotiated message length.
pub fn write(out: &mut Vec<u8>, sections: &Sections<'_>) {
    let _ = (out, sections);
    todo!()
}

/// Appends a whole End-of-RIB message.
pub fn write_end_of_rib(out: &mut Vec<u8>, afi_safi: AfiSafi) {
    let _ = (out, afi_safi);
    todo!()
}
