//! Messages in a byte stream (RFC 4271 §4.1, RFC 8654).

use crate::notification::{Notification, header};

/// Length of a message header, in octets.
pub const HEADER_LEN: usize = 19;
/// Longest message, in octets, including the header.
pub const MAX_LEN: usize = 4_096;
/// Longest message where RFC 8654 is negotiated.
pub const MAX_EXTENDED_LEN: usize = 65_535;
/// A whole KEEPALIVE.
pub const KEEPALIVE: [u8; HEADER_LEN] = {
    let mut message = [0xff; HEADER_LEN];
    message[16] = 0;
    message[17] = HEADER_LEN as u8;
    message[18] = MessageType::Keepalive as u8;
    message
};

/// Message types.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum MessageType {
    /// OPEN.
    Open = 1,
    /// UPDATE.
    Update = 2,
    /// NOTIFICATION.
    Notification = 3,
    /// KEEPALIVE.
    Keepalive = 4,
    /// ROUTE-REFRESH (RFC 2918).
    RouteRefresh = 5,
}

impl MessageType {
    /// Every type, in numerical order.
    pub const ALL: [MessageType; 5] = [
        MessageType::Open,
        MessageType::Update,
        MessageType::Notification,
        MessageType::Keepalive,
        MessageType::RouteRefresh,
    ];

    /// The type with this number.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|t| *t as u8 == code)
    }

    /// The permitted lengths of such a message, including the header.
    fn lengths(self, max_len: usize) -> std::ops::RangeInclusive<usize> {
        match self {
            MessageType::Open => 29..=MAX_LEN,
            MessageType::Update => 23..=max_len,
            MessageType::Notification => 21..=max_len,
            MessageType::Keepalive => HEADER_LEN..=HEADER_LEN,
            MessageType::RouteRefresh => 23..=max_len,
        }
    }
}

/// One whole message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame<'a> {
    /// The message type.
    pub kind: MessageType,
    /// The bytes after the header.
    pub body: &'a [u8],
    /// The message with its header.
    pub wire: &'a [u8],
}

/// Returns the first message of `buf`. `Ok(None)`: more bytes are needed. `Err`: the NOTIFICATION to send (1/1, 1/2 or
/// 1/3 with the data of RFC 4271 §6.1). `max_len` is [`MAX_LEN`] or [`MAX_EXTENDED_LEN`].
///
/// A fault of the header is reported as soon as the header is complete, before the body arrives.
pub fn next_frame(buf: &[u8], max_len: usize) -> Result<Option<Frame<'_>>, Notification> {
    let Some(head) = buf.get(..HEADER_LEN) else {
        return Ok(None);
    };
    if head[..16] != [0xff; 16] {
        return Err(header::not_synchronized());
    }
    let field = [head[16], head[17]];
    let len = usize::from(u16::from_be_bytes(field));
    if !(HEADER_LEN..=max_len).contains(&len) {
        return Err(header::bad_length(field));
    }
    let kind = MessageType::from_code(head[18]).ok_or_else(|| header::bad_type(head[18]))?;
    if !kind.lengths(max_len).contains(&len) {
        return Err(header::bad_length(field));
    }
    Ok(buf.get(..len).map(|wire| Frame {
        kind,
        body: &wire[HEADER_LEN..],
        wire,
    }))
}

/// Appends a header whose length [`finish`] fills in. Returns the start of the message.
pub fn begin(out: &mut Vec<u8>, kind: MessageType) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0xff; 16]);
    out.extend_from_slice(&[0, 0, kind as u8]);
    start
}

/// Fills in the length of the message that starts at `start` and ends with `out`.
///
/// # Panics
///
/// If the message is longer than 65,535 octets, which is an error of the caller.
pub fn finish(out: &mut [u8], start: usize) {
    let len = u16::try_from(out.len() - start).expect("a message within MAX_EXTENDED_LEN");
    out[start + 16..start + 18].copy_from_slice(&len.to_be_bytes());
}
