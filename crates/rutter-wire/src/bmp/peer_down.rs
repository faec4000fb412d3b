//! Peer Down Notification (RFC 7854 §4.9, RFC 9069 §5.3).

use std::fmt;

use super::{PeerHeader, Tlvs, information};
use crate::cursor::Cursor;
use crate::frame::{HEADER_LEN, MAX_EXTENDED_LEN, MessageType, next_frame};
use crate::notification::Notification;

/// A session ended. [`fmt::Display`] writes the reason.
#[derive(Clone, Copy, Debug)]
pub struct PeerDown<'a> {
    /// The peer of the session.
    pub peer: PeerHeader,
    /// The reason: [`PeerDown::LOCAL_NOTIFICATION`] or one of the following constants.
    pub reason: u8,
    /// Data that depend on the reason: a NOTIFICATION with its header, an event number, TLVs or nothing.
    pub data: &'a [u8],
}

impl<'a> PeerDown<'a> {
    /// The router sent a NOTIFICATION.
    pub const LOCAL_NOTIFICATION: u8 = 1;
    /// The router closed the session without a NOTIFICATION; the data are the number of the event (RFC 4271 §8.1).
    pub const LOCAL_EVENT: u8 = 2;
    /// The peer sent a NOTIFICATION.
    pub const REMOTE_NOTIFICATION: u8 = 3;
    /// The peer closed the session without a NOTIFICATION.
    pub const REMOTE_NO_DATA: u8 = 4;
    /// The router no longer reports the peer.
    pub const DECONFIGURED: u8 = 5;
    /// The router's own table is no longer monitored (RFC 9069).
    pub const LOCAL_SYSTEM_CLOSED: u8 = 6;

    pub(super) fn decode(mut body: Cursor<'a>) -> Option<Self> {
        Some(PeerDown {
            peer: PeerHeader::decode(&mut body)?,
            reason: body.u8()?,
            data: body.rest(),
        })
    }

    /// The NOTIFICATION that was sent or received.
    pub fn notification(&self) -> Option<Notification> {
        let frame = next_frame(self.data, MAX_EXTENDED_LEN).ok()??;
        (frame.kind == MessageType::Notification && frame.wire.len() > HEADER_LEN)
            .then(|| Notification::parse(frame.body))
    }
}

impl fmt::Display for PeerDown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sent = |f: &mut fmt::Formatter<'_>, who: &str| match self.notification() {
            Some(notification) => write!(f, "{who} a NOTIFICATION: {notification}"),
            None => write!(f, "{who} a NOTIFICATION"),
        };
        match self.reason {
            Self::LOCAL_NOTIFICATION => sent(f, "the router sent"),
            Self::REMOTE_NOTIFICATION => sent(f, "the peer sent"),
            Self::LOCAL_EVENT => match self.data {
                [high, low, ..] => {
                    let event = u16::from_be_bytes([*high, *low]);
                    write!(f, "the router ended the session (event {event})")
                }
                _ => f.write_str("the router ended the session"),
            },
            Self::REMOTE_NO_DATA => f.write_str("the peer ended the session"),
            Self::DECONFIGURED => f.write_str("no longer monitored"),
            Self::LOCAL_SYSTEM_CLOSED => match Tlvs::new(self.data).find(information::TABLE_NAME) {
                Some(name) => write!(f, "the router's table {} was closed", name.text()),
                None => f.write_str("the router's table was closed"),
            },
            other => write!(f, "reason {other}"),
        }
    }
}
