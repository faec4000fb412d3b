//! Messages in a stream (RFC 7854 §4.1).

use std::fmt;

use super::{PeerDown, PeerUp, RouteMirroring, RouteMonitoring, StatisticsReport, Tlvs, kind};
use crate::cursor::Cursor;

/// Octets of the common header.
pub const HEADER_LEN: usize = 6;

/// One message, borrowed from the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    /// The version that the header says: 3 or 4.
    pub version: u8,
    /// The message type.
    pub kind: u8,
    /// What follows the common header.
    pub body: &'a [u8],
    /// Octets of the whole message.
    pub len: usize,
}

/// What a message says.
#[derive(Clone, Copy, Debug)]
pub enum Message<'a> {
    /// An UPDATE of a monitored peer, or of the router's own tables.
    RouteMonitoring(RouteMonitoring<'a>),
    /// Counters of a peer.
    StatisticsReport(StatisticsReport<'a>),
    /// A peer's session ended.
    PeerDown(PeerDown<'a>),
    /// A peer's session was established, or was when monitoring began.
    PeerUp(PeerUp<'a>),
    /// Who the router is.
    Initiation(Tlvs<'a>),
    /// The router ends the monitoring session.
    Termination(Tlvs<'a>),
    /// Messages of a peer, word for word.
    RouteMirroring(RouteMirroring<'a>),
    /// A type that is passed over.
    Other(u8),
}

/// What is wrong with a message. The first two leave no way to find the next one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BmpFault {
    /// Neither version 3 nor 4: this is not BMP, or a version that nobody knows yet.
    Version(u8),
    /// The message claims to be shorter than its header or longer than any may be.
    Length(u32),
    /// The body ends before what it must hold.
    BodyTruncated,
    /// The BGP message inside is not whole, or of a type that has no business there.
    BgpMessage,
}

impl BmpFault {
    /// Whether the stream can be read no further.
    pub fn is_fatal(self) -> bool {
        matches!(self, Self::Version(_) | Self::Length(_))
    }
}

impl fmt::Display for BmpFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => {
                write!(f, "version {version} is not known: this is BMP version 3")
            }
            Self::Length(len) => write!(f, "a message of {len} octets cannot be"),
            Self::BodyTruncated => f.write_str("the message ends too early"),
            Self::BgpMessage => f.write_str("the BGP message inside is broken"),
        }
    }
}

impl std::error::Error for BmpFault {}

/// The first message of `bytes`, which may have at most `max_len` octets. `Ok(None)`: more bytes are needed. Every
/// fault that is reported here is fatal.
pub fn next_packet(bytes: &[u8], max_len: usize) -> Result<Option<Packet<'_>>, BmpFault> {
    let Some(&version) = bytes.first() else {
        return Ok(None);
    };
    if !matches!(version, 3 | 4) {
        return Err(BmpFault::Version(version));
    }
    let Some(&[_, a, b, c, d, kind]) = bytes.first_chunk::<HEADER_LEN>() else {
        return Ok(None);
    };
    let field = u32::from_be_bytes([a, b, c, d]);
    let len = field as usize;
    if !(HEADER_LEN..=max_len).contains(&len) {
        return Err(BmpFault::Length(field));
    }
    Ok(bytes.get(HEADER_LEN..len).map(|body| Packet {
        version,
        kind,
        body,
        len,
    }))
}

impl<'a> Packet<'a> {
    /// What the message says. No fault that is reported here is fatal.
    pub fn decode(&self) -> Result<Message<'a>, BmpFault> {
        let body = Cursor::new(self.body);
        let cut = BmpFault::BodyTruncated;
        Ok(match self.kind {
            kind::ROUTE_MONITORING => {
                Message::RouteMonitoring(RouteMonitoring::decode(self.version, body)?)
            }
            kind::STATISTICS_REPORT => {
                Message::StatisticsReport(StatisticsReport::decode(body).ok_or(cut)?)
            }
            kind::PEER_DOWN => Message::PeerDown(PeerDown::decode(body).ok_or(cut)?),
            kind::PEER_UP => Message::PeerUp(PeerUp::decode(body)?),
            kind::INITIATION => Message::Initiation(Tlvs::new(self.body)),
            kind::TERMINATION => Message::Termination(Tlvs::new(self.body)),
            kind::ROUTE_MIRRORING => {
                Message::RouteMirroring(RouteMirroring::decode(body).ok_or(cut)?)
            }
            other => Message::Other(other),
        })
    }
}
