//! Route Mirroring (RFC 7854 §4.7).

use super::{PeerHeader, Tlvs};
use crate::cursor::Cursor;

/// Messages of a peer, unchanged.
#[derive(Clone, Copy, Debug)]
pub struct RouteMirroring<'a> {
    /// The peer that sent them.
    pub peer: PeerHeader,
    tlvs: Tlvs<'a>,
}

/// One mirrored item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mirrored<'a> {
    /// A BGP message with its header.
    Message(&'a [u8]),
    /// The next message was malformed and treated as a withdrawal.
    Errored,
    /// Messages were lost: the router could not keep up.
    Lost,
}

impl<'a> RouteMirroring<'a> {
    pub(super) fn decode(mut body: Cursor<'a>) -> Option<Self> {
        Some(RouteMirroring {
            peer: PeerHeader::decode(&mut body)?,
            tlvs: Tlvs::new(body.rest()),
        })
    }

    /// The mirrored items, in order; unknown TLVs are left out.
    pub fn iter(&self) -> impl Iterator<Item = Mirrored<'a>> + use<'a> {
        self.tlvs
            .into_iter()
            .filter_map(|tlv| match (tlv.kind, tlv.value) {
                (BGP_MESSAGE, message) => Some(Mirrored::Message(message)),
                (INFORMATION, [0, 0]) => Some(Mirrored::Errored),
                (INFORMATION, [0, 1]) => Some(Mirrored::Lost),
                _ => None,
            })
    }
}

const BGP_MESSAGE: u16 = 0;
const INFORMATION: u16 = 1;
