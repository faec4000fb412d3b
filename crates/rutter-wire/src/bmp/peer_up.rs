//! Peer Up Notification (RFC 7854 §4.10).

use std::net::IpAddr;

use super::header::address;
use super::{BmpFault, PeerHeader, Tlvs};
use crate::cursor::Cursor;
use crate::frame::{Frame, MAX_EXTENDED_LEN, MessageType, next_frame};

/// A session was established.
#[derive(Clone, Copy, Debug)]
pub struct PeerUp<'a> {
    /// The peer of the session.
    pub peer: PeerHeader,
    /// The router's address on the session.
    pub local_address: IpAddr,
    /// The router's port.
    pub local_port: u16,
    /// The peer's port.
    pub remote_port: u16,
    /// The body of the OPEN that the router sent.
    pub sent_open: &'a [u8],
    /// The body of the OPEN that the peer sent.
    pub received_open: &'a [u8],
    /// More about the peer: table name, description.
    pub information: Tlvs<'a>,
}

impl<'a> PeerUp<'a> {
    pub(super) fn decode(mut body: Cursor<'a>) -> Result<Self, BmpFault> {
        let cut = BmpFault::BodyTruncated;
        let peer = PeerHeader::decode(&mut body).ok_or(cut)?;
        let local_address = address(&mut body, peer.is_ipv6()).ok_or(cut)?;
        let (local_port, remote_port) = (body.u16().ok_or(cut)?, body.u16().ok_or(cut)?);
        let sent = open(&mut body)?;
        let received = open(&mut body)?;
        Ok(PeerUp {
            peer,
            local_address,
            local_port,
            remote_port,
            sent_open: sent.body,
            received_open: received.body,
            information: Tlvs::new(body.rest()),
        })
    }
}

fn open<'a>(body: &mut Cursor<'a>) -> Result<Frame<'a>, BmpFault> {
    match next_frame(body.rest(), MAX_EXTENDED_LEN) {
        Ok(Some(frame)) if frame.kind == MessageType::Open => {
            body.bytes(frame.wire.len());
            Ok(frame)
        }
        Ok(None) => Err(BmpFault::BodyTruncated),
        Ok(Some(_)) | Err(_) => Err(BmpFault::BgpMessage),
    }
}
