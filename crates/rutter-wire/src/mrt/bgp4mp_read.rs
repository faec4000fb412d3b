//! Reading BGP4MP (RFC 6396 §4.4, RFC 8050 §3).

use super::message_subtype as subtype;
use super::{BgpSession, Content, MrtFault};
use crate::cursor::Cursor;

/// A BGP message of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message<'a> {
    /// The two ends of the session.
    pub session: BgpSession,
    /// NLRI have path identifiers.
    pub add_path: bool,
    /// The collector sent the message itself.
    pub local: bool,
    /// The message with its header, as received.
    pub message: &'a [u8],
}

/// A session's change of state (numbers of RFC 6396 §4.4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StateChange {
    /// The two ends of the session.
    pub session: BgpSession,
    /// The state before.
    pub old: u16,
    /// The state after.
    pub new: u16,
}

pub(super) fn decode(subtype: u16, body: &[u8]) -> Result<Content<'_>, MrtFault> {
    let (as4, add_path, local) = match subtype {
        subtype::STATE_CHANGE => return state_change(body, false),
        subtype::STATE_CHANGE_AS4 => return state_change(body, true),
        subtype::MESSAGE => (false, false, false),
        subtype::MESSAGE_AS4 => (true, false, false),
        subtype::MESSAGE_LOCAL => (false, false, true),
        subtype::MESSAGE_AS4_LOCAL => (true, false, true),
        subtype::MESSAGE_ADDPATH => (false, true, false),
        subtype::MESSAGE_AS4_ADDPATH => (true, true, false),
        subtype::MESSAGE_LOCAL_ADDPATH => (false, true, true),
        subtype::MESSAGE_AS4_LOCAL_ADDPATH => (true, true, true),
        _ => return Ok(Content::Other),
    };
    let mut body = Cursor::new(body);
    Ok(Content::Message(Message {
        session: session(&mut body, as4)?,
        add_path,
        local,
        message: body.rest(),
    }))
}

fn state_change(body: &[u8], as4: bool) -> Result<Content<'_>, MrtFault> {
    let mut body = Cursor::new(body);
    let session = session(&mut body, as4)?;
    let mut state = || body.u16().ok_or(MrtFault::BodyTruncated);
    Ok(Content::StateChange(StateChange {
        session,
        old: state()?,
        new: state()?,
    }))
}

fn session(body: &mut Cursor<'_>, as4: bool) -> Result<BgpSession, MrtFault> {
    let cut = MrtFault::BodyTruncated;
    let (peer_asn, local_asn) = (body.asn(as4).ok_or(cut)?, body.asn(as4).ok_or(cut)?);
    let interface = body.u16().ok_or(cut)?;
    let ipv6 = match body.u16().ok_or(cut)? {
        1 => false,
        2 => true,
        _ => return Err(MrtFault::AddressFamily),
    };
    Ok(BgpSession {
        peer_asn,
        local_asn,
        interface,
        peer: body.address(ipv6).ok_or(cut)?,
        local: body.address(ipv6).ok_or(cut)?,
        as4,
    })
}
