//! A stream that another process continues: the bytes that are gathered, and the way in which the rest follows.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rutter_net::Family;
use rutter_wire::handover::{BadRecord, Reader, Writer};

use super::ClientStream;
use super::send_queue::SendQueue;
use crate::PeerId;
use crate::advertise::catch_up::{Ending, Phase};
use crate::advertise::group::Group;
use crate::rib::Rib;

/// The bytes of the log that a client keeps as bytes. More become marks.
const MOST_BYTES: usize = 256 * 1024;

impl ClientStream {
    /// Gathers a short rest of the log, or turns a long one into marks. Afterwards the client follows the log from its
    /// end, or catches up; see [`ClientStream::is_settled`].
    pub(crate) fn settle(&mut self, rib: &Rib) {
        match self.phase {
            Phase::Live => self.follow(MOST_BYTES, u64::MAX),
            Phase::Leaving { until } => self.follow(MOST_BYTES, until),
            // It was sent nothing yet.
            Phase::Deferred if !self.is_deferred.load(Ordering::Acquire) => {
                self.phase = Phase::CatchingUp;
            }
            Phase::Deferred | Phase::Discarding { .. } | Phase::CatchingUp => {}
        }
        if self.phase == Phase::Live && self.next_segment().is_some() {
            self.leave_log(rib);
        }
        if let Phase::Leaving { until } = self.phase {
            self.phase = Phase::Discarding { until };
        }
        while let Phase::Discarding { until } = self.phase {
            self.discard(rib, until);
        }
    }

    /// Returns whether the client has gathered the whole log, or catches up. While the table is held, both last.
    pub(crate) fn is_settled(&self) -> bool {
        match self.phase {
            Phase::Live => self.next_segment().is_none(),
            Phase::CatchingUp => self.next_group.is_none(),
            Phase::Deferred | Phase::Leaving { .. } | Phase::Discarding { .. } => false,
        }
    }

    /// Returns whether a settled client follows the log.
    pub(crate) fn is_live(&self) -> bool {
        self.phase == Phase::Live
    }

    /// Appends the messages that complete its catch-up, and the gathered bytes.
    pub(crate) fn write_state(&self, out: &mut Writer) {
        out.bool(self.ending.end_of_rib);
        for is_refreshed in self.ending.end_of_refresh.iter() {
            out.bool(*is_refreshed);
        }
        let (skipped, unsent) = self.queue.since_message_start(self.peer);
        out.count(skipped);
        out.octets(&unsent);
        // The begin of a refresh that was not gathered yet.
        out.octets(&self.writer.bytes);
    }

    /// Reads a stream of a client that catches up until [`ClientStream::follow_from_end`].
    pub(crate) fn from_state(
        rib: &Rib,
        peer: PeerId,
        group: Arc<Group>,
        state: &mut Reader<'_>,
    ) -> Result<Self, BadRecord> {
        let mut ending = Ending {
            end_of_rib: state.bool("End-of-RIB")?,
            ..Ending::default()
        };
        for family in Family::ALL {
            ending.end_of_refresh[family] = state.bool("end of refresh")?;
        }
        let skipped: usize = state.number("number of written bytes")?;
        let unsent = state.octets("unsent bytes")?;
        let queue = SendQueue::with_written(peer, skipped, unsent);
        let mut stream = ClientStream::new(rib, peer, group);
        stream.queue = queue.ok_or(BadRecord("number of written bytes"))?;
        let unwritten = state.octets("begin of refresh")?;
        stream.writer.bytes.extend_from_slice(unwritten);
        stream.ending = ending;
        stream.phase = Phase::CatchingUp;
        Ok(stream)
    }

    /// The client has everything but its gathered bytes: it follows the log from here.
    pub(crate) fn follow_from_end(&mut self) {
        self.cursor = Some(self.group.stage.lock().log.tail());
        self.phase = Phase::Live;
    }

    pub(crate) fn group(&self) -> &Arc<Group> {
        self.group.shared()
    }
}
