//! The gathered bytes of a client that its socket has not accepted yet.

use std::collections::VecDeque;
use std::fs::File;
use std::io::IoSlice;
use std::sync::Arc;

use crate::PeerId;
use crate::advertise::group::private_segment;
use crate::advertise::log::Segment;

/// Complete messages for one client, in order. Only the first chunk may begin inside a message, whose start is written.
#[derive(Default)]
pub(super) struct SendQueue {
    chunks: VecDeque<Chunk>,
    /// The number of bytes in all chunks.
    len: usize,
}

/// A part of a segment: bytes for one client, none of them written.
struct Chunk {
    segment: Arc<Segment>,
    start: u32,
    end: u32,
}

/// The next bytes of a stream as a range of a file.
#[derive(Clone, Copy, Debug)]
pub struct FileRange<'a> {
    /// A file made by the function that [`crate::Rib::use_files`] was given.
    pub file: &'a File,
    /// The start of the range, in bytes.
    pub offset: u64,
    /// The length in bytes.
    pub len: usize,
}

/// Copying a shorter run is cheaper than looking its pages up.
pub(crate) const LONG_RANGE: usize = 16 * 1024;
/// The most slices handed to one `writev`.
const MAX_IO_SLICES: usize = 1_024;

impl SendQueue {
    /// The number of bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Appends the parts of a segment that are for the client.
    #[inline]
    pub fn push_for(&mut self, peer: PeerId, segment: &Arc<Segment>) {
        for (start, end) in segment.ranges_for(peer) {
            self.push(Arc::clone(segment), start, end);
        }
    }

    /// Appends messages that are for this client alone.
    pub fn push_private(&mut self, peer: PeerId, messages: &[u8]) {
        self.push(private_segment(messages, peer), 0, messages.len() as u32);
    }

    #[inline]
    fn push(&mut self, segment: Arc<Segment>, start: u32, end: u32) {
        self.len += (end - start) as usize;
        self.chunks.push_back(Chunk {
            segment,
            start,
            end,
        });
    }

    /// Copies the parts of the log, so that the queue holds none of its segments.
    pub fn detach(&mut self, peer: PeerId) {
        for chunk in &mut self.chunks {
            chunk.detach(peer);
        }
    }

    /// Removes the bytes. Returns the segments that they were in.
    pub fn take_segments(&mut self) -> impl Iterator<Item = Arc<Segment>> + use<> {
        let taken = std::mem::take(self);
        taken.chunks.into_iter().map(|chunk| chunk.segment)
    }

    /// The next bytes as shared slices, up to the next [`SendQueue::file_range`].
    #[inline]
    pub fn slices<'a>(&'a self, out: &mut Vec<IoSlice<'a>>) {
        let first = self.chunks.iter().take(1);
        let others = self.chunks.iter().take(MAX_IO_SLICES).skip(1);
        let others = others.take_while(|chunk| chunk.file_range().is_none());
        let slices = first.chain(others).map(|chunk| {
            IoSlice::new(&chunk.segment.bytes[chunk.start as usize..chunk.end as usize])
        });
        out.extend(slices);
    }

    /// The next bytes, if they are long and in a file.
    #[inline]
    pub fn file_range(&self) -> Option<FileRange<'_>> {
        self.chunks.front()?.file_range()
    }

    /// Removes the bytes that the socket accepted.
    #[inline]
    pub fn consume(&mut self, mut written: usize) {
        self.len -= written;
        while let Some(chunk) = self.chunks.front_mut() {
            let len = (chunk.end - chunk.start) as usize;
            if written < len {
                chunk.start += written as u32;
                break;
            }
            written -= len;
            self.chunks.pop_front();
        }
    }

    /// Returns whether the last message written is complete.
    #[inline]
    pub fn at_message_boundary(&self, peer: PeerId) -> bool {
        let next = self.chunks.front();
        next.is_none_or(|chunk| chunk.message_start(peer) == chunk.start)
    }

    /// The bytes from the start of the message that is being written, and the number of those already written.
    pub fn since_message_start(&self, peer: PeerId) -> (usize, Vec<u8>) {
        let mut bytes = Vec::new();
        let mut written = 0;
        for (place, chunk) in self.chunks.iter().enumerate() {
            let start = match place {
                0 => chunk.message_start(peer),
                _ => chunk.start,
            };
            written += (chunk.start - start) as usize;
            bytes.extend_from_slice(&chunk.segment.bytes[start as usize..chunk.end as usize]);
        }
        (written, bytes)
    }

    /// The opposite of [`SendQueue::since_message_start`]. Returns `None` if more bytes are written than there are.
    pub fn with_written(peer: PeerId, written: usize, bytes: &[u8]) -> Option<Self> {
        let len = bytes.len().checked_sub(written)?;
        let mut queue = SendQueue::default();
        if len > 0 {
            let end = bytes.len() as u32;
            queue.push(private_segment(bytes, peer), written as u32, end);
        }
        Some(queue)
    }
}

impl Chunk {
    fn file_range(&self) -> Option<FileRange<'_>> {
        let place = self.segment.place.as_ref()?;
        let len = (self.end - self.start) as usize;
        (len >= LONG_RANGE).then(|| FileRange {
            file: &place.file,
            offset: place.offset + u64::from(self.start),
            len,
        })
    }

    /// Copies the unsent bytes, from the start of their range so that message boundaries can still be found. A held
    /// segment of the log would keep all later segments.
    fn detach(&mut self, peer: PeerId) {
        let mut ranges = self.segment.ranges_for(peer);
        let Some((start, end)) = ranges.find(|(_, end)| self.start < *end) else {
            return;
        };
        drop(ranges);
        let bytes = &self.segment.bytes[start as usize..end as usize];
        self.segment = private_segment(bytes, peer);
        self.start -= start;
        self.end -= start;
    }

    /// The start of the message that contains the next byte. Walks over the messages of its range.
    fn message_start(&self, peer: PeerId) -> u32 {
        let mut ranges = self.segment.ranges_for(peer);
        let Some((mut start, _)) = ranges.find(|(_, end)| self.start < *end) else {
            return self.start;
        };
        while start < self.start {
            let header = &self.segment.bytes[start as usize..];
            let len = header.get(16..18).map(|len| [len[0], len[1]]);
            let next = start + len.map_or(0, |len| u32::from(u16::from_be_bytes(len)).max(1));
            if len.is_none() || next > self.start {
                return start;
            }
            start = next;
        }
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advertise::log::{Recipients, Run};

    const PEER: PeerId = PeerId(1);

    fn messages(lens: &[usize]) -> Vec<u8> {
        let message = |len: &usize| {
            let mut bytes = vec![0xff; *len];
            bytes[16..18].copy_from_slice(&(*len as u16).to_be_bytes());
            bytes
        };
        lens.iter().flat_map(message).collect()
    }

    /// A segment with messages for another client, for ours, for the other, and for ours again.
    fn shared_segment() -> Arc<Segment> {
        let run = |end, to| Run { end, to };
        let ours = || Recipients::Only(PEER);
        let other = || Recipients::Only(PeerId(2));
        let bytes = messages(&[50, 23, 30, 40, 19, 60]);
        let runs = [
            run(50, other()),
            run(103, ours()),
            run(143, other()),
            run(222, ours()),
        ];
        let retained = Arc::default();
        Arc::new(Segment::new(bytes.into(), runs.into(), 0, &retained))
    }

    fn written_so_far(queue: &SendQueue) -> Vec<u8> {
        let mut slices = Vec::new();
        queue.slices(&mut slices);
        slices.iter().flat_map(|slice| slice.to_vec()).collect()
    }

    /// Octet by octet: the rest, its length and the boundaries, before and after the log is left.
    #[test]
    fn each_octet_that_the_socket_accepts_leaves_the_rest() {
        let ours = messages(&[23, 30, 19, 60, 25]);
        let boundaries = [0, 23, 53, 72, 132, 157];
        let starts = |written: usize| boundaries.iter().rev().find(|start| **start <= written);
        for detached in [false, true] {
            let mut queue = SendQueue::default();
            queue.push_for(PEER, &shared_segment());
            queue.push_private(PEER, &messages(&[25]));
            for written in 0..=ours.len() {
                assert_eq!(queue.len(), ours.len() - written);
                assert_eq!(written_so_far(&queue), ours[written..]);
                let is_boundary = boundaries.contains(&written);
                assert_eq!(queue.at_message_boundary(PEER), is_boundary, "{written}");
                let start = *starts(written).unwrap();
                if written < ours.len() {
                    let (skipped, rest) = queue.since_message_start(PEER);
                    assert_eq!((skipped, &rest[..]), (written - start, &ours[start..]));
                    let copy = SendQueue::with_written(PEER, skipped, &rest).unwrap();
                    assert_eq!(written_so_far(&copy), ours[written..]);
                    assert_eq!(copy.at_message_boundary(PEER), is_boundary);
                    queue.consume(1);
                }
                if detached {
                    queue.detach(PEER);
                }
            }
            assert!(queue.is_empty());
        }
    }

    #[test]
    fn a_state_with_more_written_bytes_than_there_are_is_refused() {
        assert!(SendQueue::with_written(PEER, 24, &messages(&[23])).is_none());
        let all = SendQueue::with_written(PEER, 23, &messages(&[23])).unwrap();
        assert!(all.is_empty());
    }
}
