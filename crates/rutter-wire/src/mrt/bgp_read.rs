//! Reads BGP, the type of update logs in 1999 and 2000 (RFC 6396 appendix B.2). BGP4MP replaced it.

use std::net::{IpAddr, Ipv4Addr};

use rutter_net::Asn;

use super::{BgpSession, Content, MrtFault, StateChange};
use crate::cursor::Cursor;

/// An UPDATE of the oldest type of log. The record leaves out the message header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OldUpdate<'a> {
    /// The two ends of the session, with two-octet AS numbers.
    pub session: BgpSession,
    /// The body of the UPDATE.
    pub body: &'a [u8],
}

const UPDATE: u16 = 1;
const STATE_CHANGE: u16 = 3;

pub(super) fn decode(subtype: u16, body: &[u8]) -> Result<Content<'_>, MrtFault> {
    let content = match subtype {
        UPDATE => update(body).map(Content::OldUpdate),
        STATE_CHANGE => state_change(body).map(Content::StateChange),
        _ => return Ok(Content::Other),
    };
    content.ok_or(MrtFault::BodyTruncated)
}

fn update(body: &[u8]) -> Option<OldUpdate<'_>> {
    let mut body = Cursor::new(body);
    let (peer_asn, peer) = (body.asn(false)?, body.address(false)?);
    let (local_asn, local) = (body.asn(false)?, body.address(false)?);
    Some(OldUpdate {
        session: session((peer_asn, peer), (local_asn, local)),
        body: body.rest(),
    })
}

fn state_change(body: &[u8]) -> Option<StateChange> {
    let mut body = Cursor::new(body);
    let peer = (body.asn(false)?, body.address(false)?);
    Some(StateChange {
        session: session(peer, (Asn(0), Ipv4Addr::UNSPECIFIED.into())),
        old: body.u16()?,
        new: body.u16()?,
    })
}

fn session((peer_asn, peer): (Asn, IpAddr), (local_asn, local): (Asn, IpAddr)) -> BgpSession {
    BgpSession {
        peer_asn,
        local_asn,
        interface: 0,
        peer,
        local,
        as4: false,
    }
}
