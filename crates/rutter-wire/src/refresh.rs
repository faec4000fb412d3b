//! ROUTE-REFRESH messages (RFC 2918, RFC 7313).

use rutter_net::AfiSafi;

use crate::frame::{self, Frame, MessageType};
use crate::notification::{Notification, header};

/// The subtype of a ROUTE-REFRESH.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Subtype {
    /// 0: a request to advertise all routes again.
    Request,
    /// 1, BoRR: the complete set of routes follows.
    Begin,
    /// 2, EoRR: the set of routes is complete.
    End,
    /// Any other subtype, to be ignored (RFC 7313 §5).
    Unknown(u8),
}

impl Subtype {
    /// The number on the wire.
    pub fn code(self) -> u8 {
        match self {
            Subtype::Request => 0,
            Subtype::Begin => 1,
            Subtype::End => 2,
            Subtype::Unknown(code) => code,
        }
    }

    /// The subtype with this number.
    pub fn from_code(code: u8) -> Self {
        match code {
            0 => Subtype::Request,
            1 => Subtype::Begin,
            2 => Subtype::End,
            code => Subtype::Unknown(code),
        }
    }
}

/// A ROUTE-REFRESH.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RouteRefresh {
    /// The address family.
    pub afi_safi: AfiSafi,
    /// A request, or a mark around the answer to one (RFC 7313).
    pub subtype: Subtype,
}

impl RouteRefresh {
    /// Reads a whole message. Outbound filters (RFC 5291) after a request are ignored, since we never negotiate them.
    pub fn parse(frame: &Frame<'_>) -> Result<Self, Notification> {
        let &[afi_high, afi_low, subtype, safi, ref rest @ ..] = frame.body else {
            let len = (frame.wire.len() as u16).to_be_bytes();
            return Err(header::bad_length(len));
        };
        let subtype = Subtype::from_code(subtype);
        if matches!(subtype, Subtype::Begin | Subtype::End) && !rest.is_empty() {
            return Err(Notification::refresh_length(frame.wire));
        }
        let afi = u16::from_be_bytes([afi_high, afi_low]);
        Ok(RouteRefresh {
            afi_safi: AfiSafi { afi, safi },
            subtype,
        })
    }

    /// Appends the whole message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = frame::begin(out, MessageType::RouteRefresh);
        out.extend_from_slice(&self.afi_safi.afi.to_be_bytes());
        out.extend_from_slice(&[self.subtype.code(), self.afi_safi.safi]);
        frame::finish(out, start);
    }
}
