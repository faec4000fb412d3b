//! One direction of a TCP-like connection: ordered bytes, a window, delay, stalls, resets.

use std::collections::VecDeque;

use crate::Random;

/// The bytes on their way from one end to the other.
#[derive(Debug, Default)]
pub struct Pipe {
    /// The segments, each with the time of its arrival.
    flight: VecDeque<(u64, Vec<u8>)>,
    bytes_in_flight: usize,
    window: usize,
    stalled_until: u64,
    /// The sender closed the connection; bytes in flight still arrive.
    closed: bool,
    /// Segments are full, and none waits for a delayed one before it.
    is_fast: bool,
}

impl Pipe {
    /// An empty pipe whose reader buffers up to `window` bytes.
    pub fn new(window: usize) -> Self {
        Pipe {
            window,
            ..Pipe::default()
        }
    }

    /// An empty pipe that passes a table of thousands of routes within seconds.
    pub fn fast() -> Self {
        Pipe {
            is_fast: true,
            ..Pipe::new(1 << 20)
        }
    }

    /// The free space of the window, bytes.
    pub fn room(&self) -> usize {
        self.window.saturating_sub(self.bytes_in_flight)
    }

    /// Sends as many bytes as fit, in segments with random delays, and returns their number.
    pub fn send(&mut self, now_ms: u64, bytes: &[u8], random: &mut Random) -> usize {
        let taken = bytes.len().min(self.room());
        let mut rest = &bytes[..taken];
        let mut at = self.flight.back().map_or(0, |(at, _)| *at).max(now_ms);
        while !rest.is_empty() {
            let most = rest.len().min(1_460);
            let delay = random.below(20);
            let len = match self.is_fast {
                true => most,
                false => 1 + random.below(most as u64) as usize,
            };
            let (segment, after) = rest.split_at(len);
            at = match self.is_fast {
                true => at.max(now_ms + delay),
                false => at + delay,
            };
            self.flight.push_back((at, segment.to_vec()));
            rest = after;
        }
        self.bytes_in_flight += taken;
        taken
    }

    /// Returns the bytes that have arrived.
    pub fn receive(&mut self, now_ms: u64) -> Vec<u8> {
        let mut out = Vec::new();
        if now_ms < self.stalled_until {
            return out;
        }
        let arrived = self.flight.iter().take_while(|(at, _)| *at <= now_ms);
        let arrived = arrived.count();
        for (_, segment) in self.flight.drain(..arrived) {
            out.extend(segment);
        }
        self.bytes_in_flight -= out.len();
        out
    }

    /// The reader reads nothing until then.
    pub fn stall(&mut self, until_ms: u64) {
        self.stalled_until = self.stalled_until.max(until_ms);
    }

    /// Ends a stall.
    pub fn end_stall(&mut self) {
        self.stalled_until = 0;
    }

    /// The sender sends no more bytes.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Returns whether the pipe is closed and all its bytes are received.
    pub fn is_over(&self) -> bool {
        self.closed && self.flight.is_empty()
    }

    /// The time of the next arrival.
    pub fn next_arrival(&self) -> Option<u64> {
        self.flight
            .front()
            .map(|(at, _)| (*at).max(self.stalled_until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_arrive_in_order_through_the_window() {
        let mut random = Random::new(1);
        let mut pipe = Pipe::new(100);
        let bytes: Vec<u8> = (0..=255).collect();
        let (mut sent, mut got) = (0, Vec::new());
        for now_ms in 0..10_000 {
            sent += pipe.send(now_ms, &bytes[sent..], &mut random);
            assert!(pipe.room() <= 100);
            got.extend(pipe.receive(now_ms));
        }
        assert_eq!(got, bytes);
    }
}
