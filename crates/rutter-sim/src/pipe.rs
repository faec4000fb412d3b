//! One direction of a TCP-like connection: ordered octets, a window, delay, stalls, resets.

use std::collections::VecDeque;

use crate::Random;

/// Octets on their way from one end to the other.
#[derive(Debug, Default)]
pub struct Pipe {
    /// Segments with the time at which they may be read.
    flight: VecDeque<(u64, Vec<u8>)>,
    octets: usize,
    window: usize,
    stalled_until: u64,
    /// The sender closed; what is in flight still arrives.
    closed: bool,
}

impl Pipe {
    /// An idle pipe whose reader buffers up to `window` octets.
    pub fn new(window: usize) -> Self {
        Pipe {
            window,
            ..Pipe::default()
        }
    }

    /// Room for this many octets.
    pub fn room(&self) -> usize {
        self.window.saturating_sub(self.octets)
    }

    /// Sends as much as there is room for, cut into segments with delays of their own; how much that was.
    pub fn send(&mut self, now_ms: u64, bytes: &[u8], random: &mut Random) -> usize {
        let taken = bytes.len().min(self.room());
        let mut rest = &bytes[..taken];
        let mut at = self.flight.back().map_or(0, |(at, _)| *at).max(now_ms);
        while !rest.is_empty() {
            let len = 1 + random.below(rest.len().min(1_460) as u64) as usize;
            let (segment, after) = rest.split_at(len);
            at += random.below(20);
            self.flight.push_back((at, segment.to_vec()));
            rest = after;
        }
        self.octets += taken;
        taken
    }

    /// Takes what has arrived.
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
        self.octets -= out.len();
        out
    }

    /// The reader does not look until then.
    pub fn stall(&mut self, until_ms: u64) {
        self.stalled_until = self.stalled_until.max(until_ms);
    }

    /// Ends all stalls.
    pub fn heal(&mut self) {
        self.stalled_until = 0;
    }

    /// No more octets will be sent.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Everything was received and nothing will follow.
    pub fn is_over(&self) -> bool {
        self.closed && self.flight.is_empty()
    }

    /// When something next arrives.
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
    fn octets_arrive_in_order_through_the_window() {
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
