//! The negotiation of the protocol version (RFC 8210 §7).

use std::time::{Duration, Instant};

/// The version that the next connection offers. It goes down until the cache agrees. After some time the highest
/// version is offered again, because the cache may have been upgraded.
#[derive(Clone, Debug)]
pub(super) struct VersionOffer {
    highest: u8,
    offer: u8,
    probe_at: Option<Instant>,
}

impl VersionOffer {
    pub fn new(highest: u8) -> Self {
        VersionOffer {
            highest,
            offer: highest,
            probe_at: None,
        }
    }

    /// The version of the current connection's first query.
    pub fn offer(&self) -> u8 {
        self.offer
    }

    /// A new connection begins.
    pub fn start(&mut self, now: Instant) {
        if self.probe_at.is_some_and(|at| at <= now) {
            *self = VersionOffer::new(self.highest);
        }
    }

    /// The cache uses this version, which is not above the offered one.
    pub fn agree(&mut self, version: u8, now: Instant, probe: Duration) {
        self.offer = version;
        self.limit(now, probe);
    }

    /// The cache refused the offered version, and supports at most `theirs`.
    pub fn refuse(&mut self, theirs: u8, now: Instant, probe: Duration) {
        self.offer = match self.offer {
            0 => self.highest,
            offer => theirs.min(offer - 1),
        };
        self.limit(now, probe);
    }

    fn limit(&mut self, now: Instant, probe: Duration) {
        if self.offer == self.highest {
            self.probe_at = None;
        } else if self.probe_at.is_none() {
            self.probe_at = Some(now + probe);
        }
    }
}
