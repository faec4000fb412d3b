//! The pace of a client: whether it holds the log of its group back, so that it must leave the log.

use std::sync::atomic::Ordering;

use super::ClientStream;
use crate::Rib;
use crate::advertise::catch_up::Phase;
use crate::rib::AllStreams;

/// The way in which a client holds the log back.
enum Slow {
    /// Its socket accepts nothing.
    Stuck,
    /// It reads, but far behind the fastest.
    Behind,
}

/// A client that accepts nothing for this long while the log is full is slow. So is one that is [`FAR_BEHIND`] the
/// fastest.
const STUCK_MS: u64 = 1_000;
/// This fraction of the log's limit. Bytes of the log may count twice, once in a file, and the client may have
/// gathered some. A client that holds a full log back is therefore always far behind.
const FAR_BEHIND: usize = 4;
/// A client with more unsent bytes than this fraction of the log's limit has a backlog: everybody's changes reach it late.
const BACKLOG: usize = 64;
/// Observations of a client's pace expire after a pause of this length.
const FORGET_MS: u64 = 1_000;
/// A slow client leaves the log after this long: bursts of a busy machine pass sooner. It leaves at once where the log is
/// nearly full, most clients have no backlog, and its thread is not late. Otherwise a neighbor could fill the log meanwhile,
/// and all input would wait.
const SLOW_MS: u64 = 250;
/// Where many clients are slow, the machine is slow. They share the log for so long, and input waits when it is full.
const PATIENCE_MS: u64 = 10_000;
/// As [`PATIENCE_MS`] for clients that accept nothing at all.
const STUCK_PATIENCE_MS: u64 = 3_000;
/// As [`SLOW_MS`] for a client whose thread was late: it soon keeps up again.
const LATE_THREAD_MS: u64 = 2_000;
/// A client that was not checked for so long had no chance to receive anything in between.
const LATE_CHECK_MS: u64 = 50;

impl ClientStream {
    /// Checks the pace of the client; call it now and then while [`Rib::has_long_log`]. A client that holds the log back
    /// leaves it. When it reads again it is sent the present state of the destinations that it missed.
    ///
    /// `is_late` means that the thread which writes to the client did not run for a while, so the client is given more time.
    pub fn check_lag(&mut self, rib: &Rib, is_late: bool, now_ms: u64) {
        if self.is_discarding() {
            return self.discard_some(rib);
        }
        let pause_ms = now_ms.saturating_sub(std::mem::replace(&mut self.checked_ms, now_ms));
        if pause_ms > FORGET_MS {
            self.group.set_slow(None);
        }
        if !self.is_far_behind(rib) {
            return self.group.set_slow(None);
        }
        let all = rib.all_streams();
        let Some(slow) = self.slowness(rib, all, now_ms) else {
            return self.group.set_slow(None);
        };
        let (few, patience) = match slow {
            Slow::Behind => (all.few(), PATIENCE_MS),
            // A busy machine slows all clients. It does not make half of them accept nothing.
            Slow::Stuck => (all.half(), STUCK_PATIENCE_MS),
        };
        let is_the_machine = all.slow > few && !all.most_keep_up();
        let since = match self.group.slow_since_ms() {
            // Nobody waits for them yet.
            Some(_) if is_the_machine && !rib.congested() => now_ms,
            since => since.unwrap_or(now_ms),
        };
        self.group.set_slow(Some(since));
        let slow_ms = now_ms.saturating_sub(since);
        let is_the_thread = is_late && matches!(slow, Slow::Behind);
        let is_slow = match is_the_thread {
            true => slow_ms >= LATE_THREAD_MS,
            false => {
                let is_nearly_full = self.group.retained() > rib.log_limit / 4 * 3;
                let leaves_at_once = is_nearly_full && pause_ms <= LATE_CHECK_MS;
                slow_ms >= SLOW_MS || leaves_at_once && all.surely_keep_up()
            }
        };
        if slow_ms >= patience || !is_the_machine && is_slow {
            self.group.set_slow(None);
            self.leave_log(rib);
            if let Phase::Leaving { until } = self.phase {
                self.phase = Phase::Discarding { until };
                // Otherwise no part of the log would be freed before all of it is discarded, and input would wait.
                self.queue.detach(self.peer);
            }
        }
    }

    /// Notes whether the client has a backlog; call it once a turn, also while its socket accepts nothing. A few loads.
    pub fn note_backlog(&mut self, rib: &Rib) {
        let end = self.group.end.load(Ordering::Relaxed);
        let unread = end.saturating_sub(self.position()) as usize;
        let follows = matches!(self.phase, Phase::Live | Phase::Leaving { .. });
        self.group
            .set_backlogged(follows && unread + self.queue.len() > rib.log_limit / BACKLOG);
    }

    fn far(rib: &Rib) -> u64 {
        (rib.log_limit / FAR_BEHIND) as u64
    }

    fn is_far_behind(&self, rib: &Rib) -> bool {
        let end = self.group.end.load(Ordering::Relaxed);
        self.phase != Phase::CatchingUp
            && end.saturating_sub(self.position()) >= ClientStream::far(rib)
    }

    /// The way in which a client that [`ClientStream::is_far_behind`] is slow.
    fn slowness(&self, rib: &Rib, all: AllStreams, now_ms: u64) -> Option<Slow> {
        if now_ms.saturating_sub(self.progress_ms) > STUCK_MS {
            return Some(Slow::Stuck);
        }
        let lead = self.group.lead.load(Ordering::Relaxed);
        let others_lead = lead.saturating_sub(self.position()) > ClientStream::far(rib);
        // It may be the first of its group, or all of the group read slowly.
        (others_lead || all.most_keep_up()).then_some(Slow::Behind)
    }
}
