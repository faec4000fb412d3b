//! NOTIFICATION messages (RFC 4271 §4.5, 6).

mod names;

use crate::frame::{self, MessageType};

/// An error that ends the session, as sent to the neighbor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// Error code, see [`code`].
    pub code: u8,
    /// Error subcode, 0 where unspecific.
    pub subcode: u8,
    /// Data whose meaning depends on the code.
    pub data: Vec<u8>,
}

/// Error codes.
pub mod code {
    /// Message Header Error.
    pub const HEADER: u8 = 1;
    /// OPEN Message Error.
    pub const OPEN: u8 = 2;
    /// UPDATE Message Error.
    pub const UPDATE: u8 = 3;
    /// Hold Timer Expired.
    pub const HOLD_TIMER: u8 = 4;
    /// Finite State Machine Error.
    pub const FSM: u8 = 5;
    /// Cease.
    pub const CEASE: u8 = 6;
    /// ROUTE-REFRESH Message Error (RFC 7313).
    pub const ROUTE_REFRESH: u8 = 7;
    /// Send Hold Timer Expired (RFC 9687).
    pub const SEND_HOLD_TIMER: u8 = 8;
}

/// Message Header Error (RFC 4271 §6.1).
pub mod header {
    use super::{Notification, code};

    /// Connection Not Synchronized: the marker is not all ones.
    pub fn not_synchronized() -> Notification {
        Notification::new(code::HEADER, 1, Vec::new())
    }

    /// Bad Message Length, with the length field as received.
    pub fn bad_length(field: [u8; 2]) -> Notification {
        Notification::new(code::HEADER, 2, field.to_vec())
    }

    /// Bad Message Type, with the type field as received.
    pub fn bad_type(kind: u8) -> Notification {
        Notification::new(code::HEADER, 3, vec![kind])
    }
}

/// OPEN Message Error (RFC 4271 §6.2).
pub mod open {
    use super::{Notification, code};

    /// Unspecific: the message cannot be decoded.
    pub fn malformed() -> Notification {
        Notification::new(code::OPEN, 0, Vec::new())
    }

    /// Unsupported Version Number; the data contain 4, the version that we support.
    pub fn unsupported_version() -> Notification {
        Notification::new(code::OPEN, 1, vec![0, 4])
    }

    /// Bad Peer AS.
    pub fn bad_peer_as() -> Notification {
        Notification::new(code::OPEN, 2, Vec::new())
    }

    /// Bad BGP Identifier.
    pub fn bad_bgp_id() -> Notification {
        Notification::new(code::OPEN, 3, Vec::new())
    }

    /// Unsupported Optional Parameter.
    pub fn unsupported_parameter() -> Notification {
        Notification::new(code::OPEN, 4, Vec::new())
    }

    /// Unacceptable Hold Time.
    pub fn unacceptable_hold_time() -> Notification {
        Notification::new(code::OPEN, 6, Vec::new())
    }

    /// Unsupported Capability (RFC 5492). The data are the missing capabilities, encoded as in an OPEN.
    pub fn unsupported_capability(missing: Vec<u8>) -> Notification {
        Notification::new(code::OPEN, 7, missing)
    }

    /// Role Mismatch (RFC 9234).
    pub fn role_mismatch() -> Notification {
        Notification::new(code::OPEN, 11, Vec::new())
    }
}

/// Finite State Machine Error (RFC 6608).
pub mod fsm {
    use super::{Notification, code};
    use crate::frame::MessageType;

    /// An unexpected message in OpenSent.
    pub fn open_sent(kind: MessageType) -> Notification {
        Notification::new(code::FSM, 1, vec![kind as u8])
    }

    /// An unexpected message in OpenConfirm.
    pub fn open_confirm(kind: MessageType) -> Notification {
        Notification::new(code::FSM, 2, vec![kind as u8])
    }

    /// An unexpected message in Established.
    pub fn established(kind: MessageType) -> Notification {
        Notification::new(code::FSM, 3, vec![kind as u8])
    }
}

/// Cease (RFC 4486).
pub mod cease {
    use rutter_net::AfiSafi;

    use super::{Notification, code};

    /// Maximum Number of Prefixes Reached.
    pub const MAX_PREFIXES: u8 = 1;
    /// Administrative Shutdown.
    pub const ADMIN_SHUTDOWN: u8 = 2;
    /// Peer De-configured.
    pub const DECONFIGURED: u8 = 3;
    /// Administrative Reset.
    pub const ADMIN_RESET: u8 = 4;
    /// Connection Rejected.
    pub const REJECTED: u8 = 5;
    /// Other Configuration Change.
    pub const CONFIG_CHANGE: u8 = 6;
    /// Connection Collision Resolution.
    pub const COLLISION: u8 = 7;
    /// Out of Resources.
    pub const OUT_OF_RESOURCES: u8 = 8;
    /// Hard Reset (RFC 8538).
    pub const HARD_RESET: u8 = 9;
    /// BFD Down (RFC 9384).
    pub const BFD_DOWN: u8 = 10;

    /// A Cease without data.
    pub fn plain(subcode: u8) -> Notification {
        Notification::new(code::CEASE, subcode, Vec::new())
    }

    /// Maximum Number of Prefixes Reached, with the family and our limit.
    pub fn max_prefixes(afi_safi: AfiSafi, limit: u32) -> Notification {
        let mut data = afi_safi.afi.to_be_bytes().to_vec();
        data.push(afi_safi.safi);
        data.extend_from_slice(&limit.to_be_bytes());
        Notification::new(code::CEASE, MAX_PREFIXES, data)
    }

    /// Administrative Shutdown or Reset with a message for the neighbor (RFC 9003). A message of more than 255 bytes is
    /// cut at a character boundary; an empty one is left out.
    pub fn with_text(subcode: u8, text: &str) -> Notification {
        let mut end = text.len().min(255);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let mut data = Vec::new();
        if end > 0 {
            data.push(end as u8);
            data.extend_from_slice(&text.as_bytes()[..end]);
        }
        Notification::new(code::CEASE, subcode, data)
    }

    /// Hard Reset (RFC 8538 §3) with the NOTIFICATION that it wraps. The neighbor does not keep the routes.
    pub fn hard_reset(inner: &Notification) -> Notification {
        let mut data = vec![inner.code, inner.subcode];
        data.extend_from_slice(&inner.data);
        Notification::new(code::CEASE, HARD_RESET, data)
    }
}

impl Notification {
    /// A NOTIFICATION with these fields.
    pub fn new(code: u8, subcode: u8, data: Vec<u8>) -> Self {
        Notification {
            code,
            subcode,
            data,
        }
    }

    /// Hold Timer Expired.
    pub fn hold_timer_expired() -> Self {
        Notification::new(code::HOLD_TIMER, 0, Vec::new())
    }

    /// Send Hold Timer Expired (RFC 9687).
    pub fn send_hold_timer_expired() -> Self {
        Notification::new(code::SEND_HOLD_TIMER, 0, Vec::new())
    }

    /// ROUTE-REFRESH Message Error, Invalid Message Length (RFC 7313 §5), with the whole message.
    pub fn refresh_length(message: &[u8]) -> Self {
        Notification::new(code::ROUTE_REFRESH, 1, message.to_vec())
    }

    /// Reads the body of a NOTIFICATION. It never fails: framing guarantees two octets, and missing octets read as
    /// zero.
    pub fn parse(body: &[u8]) -> Self {
        let at = |i: usize| body.get(i).copied().unwrap_or(0);
        Notification::new(at(0), at(1), body.get(2..).unwrap_or_default().to_vec())
    }

    /// Appends the whole message. Data are cut where the message would exceed 4,096 octets.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = frame::begin(out, MessageType::Notification);
        out.extend_from_slice(&[self.code, self.subcode]);
        let room = frame::MAX_LEN - frame::HEADER_LEN - 2;
        out.extend_from_slice(&self.data[..self.data.len().min(room)]);
        frame::finish(out, start);
    }

    /// Returns whether it is a Hard Reset (RFC 8538).
    pub fn is_hard_reset(&self) -> bool {
        (self.code, self.subcode) == (code::CEASE, cease::HARD_RESET)
    }

    /// The NOTIFICATION inside a Hard Reset. `None` if that is a Hard Reset again: a neighbor cannot nest them.
    pub fn inner(&self) -> Option<Notification> {
        let wraps = self.is_hard_reset() && self.data.len() >= 2;
        wraps
            .then(|| Notification::parse(&self.data))
            .filter(|inner| !inner.is_hard_reset())
    }

    /// The message of an Administrative Shutdown or Reset (RFC 9003), also inside a Hard Reset. Invalid UTF-8 and
    /// control characters are replaced, so that the string is safe to log.
    pub fn shutdown_text(&self) -> Option<String> {
        if let Some(inner) = self.inner() {
            return inner.shutdown_text();
        }
        let subcodes = [cease::ADMIN_SHUTDOWN, cease::ADMIN_RESET];
        if self.code != code::CEASE || !subcodes.contains(&self.subcode) {
            return None;
        }
        let (&len, rest) = self.data.split_first()?;
        let text = rest.get(..usize::from(len)).filter(|t| !t.is_empty())?;
        let text = String::from_utf8_lossy(text);
        let clean = |c: char| if c.is_control() { '\u{fffd}' } else { c };
        Some(text.chars().map(clean).collect())
    }
}
