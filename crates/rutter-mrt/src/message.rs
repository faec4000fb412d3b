//! The BGP messages of an update log, and the routes in their UPDATEs.

use rutter_net::{AfiSafi, Family, Ipv4Prefix, Ipv6Prefix, Prefix};
use rutter_wire::frame::{Frame, MAX_EXTENDED_LEN, MessageType, next_frame};
use rutter_wire::mrt::Message;
use rutter_wire::nlri;
use rutter_wire::update::{Sections, split};

use crate::Unreadable;

/// Returns the sections of an UPDATE, or `None` for another type of message.
pub fn update<'a>(message: &Message<'a>) -> Result<Option<Sections<'a>>, Unreadable> {
    let frame = frame(message)?;
    match frame.kind {
        MessageType::Update => split(frame.body).map(Some).map_err(|_| Unreadable::Update),
        _ => Ok(None),
    }
}

/// Returns the BGP message of a record, with its header.
pub fn frame<'a>(message: &Message<'a>) -> Result<Frame<'a>, Unreadable> {
    match next_frame(message.message, MAX_EXTENDED_LEN) {
        Ok(Some(frame)) => Ok(frame),
        Ok(None) | Err(_) => Err(Unreadable::Message),
    }
}

/// Appends the prefixes of an NLRI field with their path identifiers.
///
/// After an error, `into` holds the prefixes before it. A family that is not supported has no routes.
pub fn routes(
    family: AfiSafi,
    bytes: &[u8],
    add_path: bool,
    into: &mut Vec<(Prefix, u32)>,
) -> Result<(), Unreadable> {
    let result = match family.family() {
        Some(Family::Ipv4Unicast) => {
            let mut parsed: Vec<(u32, Ipv4Prefix)> = Vec::new();
            let result = nlri::parse_ipv4(bytes, add_path, &mut parsed).map(|_| ());
            into.extend(parsed.into_iter().map(|(id, prefix)| (prefix.into(), id)));
            result
        }
        Some(Family::Ipv6Unicast) => {
            let mut parsed: Vec<(u32, Ipv6Prefix)> = Vec::new();
            let result = nlri::parse_ipv6(bytes, add_path, &mut parsed).map(|_| ());
            into.extend(parsed.into_iter().map(|(id, prefix)| (prefix.into(), id)));
            result
        }
        None => Ok(()),
    };
    result.map_err(|_| Unreadable::Routes)
}
