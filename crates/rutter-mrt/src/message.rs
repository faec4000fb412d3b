//! The BGP messages of an update log.

use rutter_wire::frame::{MAX_EXTENDED_LEN, MessageType, next_frame};
use rutter_wire::mrt::Message;

use crate::Unreadable;

/// Returns the body of an UPDATE, or `None` for another type of message.
pub fn update<'a>(message: &Message<'a>) -> Result<Option<&'a [u8]>, Unreadable> {
    match next_frame(message.message, MAX_EXTENDED_LEN) {
        Ok(Some(frame)) if frame.kind == MessageType::Update => Ok(Some(frame.body)),
        Ok(Some(_)) => Ok(None),
        Ok(None) | Err(_) => Err(Unreadable::Message),
    }
}
