//! The BGP messages of an update log.

use rutter_wire::frame::{Frame, MAX_EXTENDED_LEN, MessageType, next_frame};
use rutter_wire::mrt::Message;

use crate::{Odd, RecordOutcome, Unreadable};

/// Returns the body of an UPDATE, or `None` for another type of message, and the outcome of reading the message.
pub fn update<'a>(message: &Message<'a>) -> (Option<&'a [u8]>, RecordOutcome) {
    let (frame, outcome) = frame(message);
    let update = frame.filter(|frame| frame.kind == MessageType::Update);
    (update.map(|frame| frame.body), outcome)
}

/// Returns the message of a record. A record has one.
pub(crate) fn frame<'a>(message: &Message<'a>) -> (Option<Frame<'a>>, RecordOutcome) {
    match next_frame(message.message, MAX_EXTENDED_LEN) {
        Ok(Some(frame)) if frame.wire.len() < message.message.len() => {
            (Some(frame), Odd::Trailing.into())
        }
        Ok(Some(frame)) => (Some(frame), RecordOutcome::READ),
        Ok(None) | Err(_) => (None, Unreadable::Message.into()),
    }
}
