//! Route Monitoring (RFC 7854 §4.6).

use super::{BmpFault, PeerHeader};
use crate::cursor::Cursor;
use crate::frame::{HEADER_LEN, MAX_EXTENDED_LEN, MessageType, next_frame};

/// An UPDATE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouteMonitoring<'a> {
    /// The peer that sent the UPDATE.
    pub peer: PeerHeader,
    /// The UPDATE with its header.
    pub message: &'a [u8],
    /// The bytes after it.
    behind: &'a [u8],
}

impl<'a> RouteMonitoring<'a> {
    /// The UPDATE without its header.
    pub fn update(&self) -> &'a [u8] {
        self.message.get(HEADER_LEN..).unwrap_or_default()
    }

    pub(super) fn decode(version: u8, mut body: Cursor<'a>) -> Result<Self, BmpFault> {
        let peer = PeerHeader::decode(&mut body).ok_or(BmpFault::BodyTruncated)?;
        // Later documents put TLVs after the UPDATE.
        let rest = body.rest();
        let message = match version {
            3 => update(rest),
            _ => indexed(Cursor::new(rest)).find_map(update),
        };
        let message = message.ok_or(BmpFault::BgpMessage)?;
        let behind = match version {
            3 => rest.get(message.len()..).unwrap_or_default(),
            _ => &[],
        };
        Ok(RouteMonitoring {
            peer,
            message,
            behind,
        })
    }

    /// The next UPDATE of the same message. The RFC allows only one, but some routers send several.
    pub fn another(&self) -> Option<Self> {
        let message = update(self.behind)?;
        let behind = self.behind.get(message.len()..).unwrap_or_default();
        Some(RouteMonitoring {
            message,
            behind,
            ..*self
        })
    }
}

fn update(bytes: &[u8]) -> Option<&[u8]> {
    let frame = next_frame(bytes, MAX_EXTENDED_LEN).ok()??;
    (frame.kind == MessageType::Update).then_some(frame.wire)
}

/// The values of version 4's TLVs: type, length, index, value. The type of the TLV with the UPDATE differs between
/// drafts, so the BGP marker identifies it.
fn indexed(mut body: Cursor<'_>) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let _kind = body.u16()?;
        let len = usize::from(body.u16()?);
        let _index = body.u16()?;
        body.bytes(len)
    })
}
