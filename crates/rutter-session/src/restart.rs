//! Stale routes of a neighbor that is away (RFC 4724, 8538, 9494).

use rutter_net::Family;
use rutter_wire::capability::Capability;

use crate::session::Session;
use crate::{Connection, DownReason, Negotiated, Output, Timer};

/// What is kept for a neighbor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Restart {
    /// In index order of the families.
    pub(crate) kept: [Kept; 2],
    /// Seconds of the second phase, as agreed in the session that ended last.
    long_lived_s: [u32; 2],
}

/// Stale routes of one family.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Kept {
    /// There are none.
    #[default]
    Nothing,
    /// The restart time runs, or after the neighbor's return the time for its End-of-RIB.
    Stale,
    /// Long-lived stale: their own timer runs.
    LongLived,
}

impl Restart {
    pub(crate) fn stale(&self) -> [bool; 2] {
        self.kept.map(|kept| kept != Kept::Nothing)
    }

    fn waits(&self) -> bool {
        self.kept.contains(&Kept::Stale)
    }
}

impl Session {
    /// Whether the neighbor on this connection would keep our routes when it just closes.
    pub(crate) fn restart_is_agreed(&self, connection: Connection) -> bool {
        let agreed = |n: &Negotiated| n.graceful_restart.is_some();
        self.established() == Some(connection) && self.negotiated().is_some_and(agreed)
    }

    /// Families whose routes outlive the session.
    pub(crate) fn keeps(&self, reason: &DownReason, negotiated: &Negotiated) -> [bool; 2] {
        let outlives = match reason {
            DownReason::Sent(n) | DownReason::Received(n) => {
                negotiated.notification_restart && !n.is_hard_reset()
            }
            DownReason::ConnectionLost | DownReason::Replaced => true,
            DownReason::ConnectFailed | DownReason::Restarting => false,
        };
        let Some(theirs) = negotiated.graceful_restart.as_ref().filter(|_| outlives) else {
            return [false; 2];
        };
        Family::ALL.map(|family| {
            let listed = |f: Family| theirs.families.iter().any(|g| g.afi_safi == f.afi_safi());
            let long_lived = negotiated.long_lived_s[family.index()] > 0;
            negotiated.family(family).is_some() && (listed(family) || long_lived)
        })
    }

    /// Before `Down`: what was stale already goes (RFC 4724 §4.2), unless it is long-lived, whose clock runs on
    /// (RFC 9494 §4.2).
    pub(crate) fn keep_stale(&mut self, keep: [bool; 2], negotiated: &Negotiated) {
        self.timers.stop(Timer::StalePath);
        for family in Family::ALL {
            let i = family.index();
            if self.restart.kept[i] == Kept::Stale {
                self.sweep(family);
            }
            match (keep[i], self.restart.kept[i]) {
                (true, Kept::Nothing) => self.restart.kept[i] = Kept::Stale,
                (true, _) => {}
                (false, _) => {
                    self.timers.stop(Timer::LongLived(family));
                    self.restart.kept[i] = Kept::Nothing;
                }
            }
        }
        self.restart.long_lived_s = negotiated.long_lived_s;
    }

    /// After `Down`: the neighbor's restart time runs. What is long-lived already gains the routes of the session
    /// that just ended.
    pub(crate) fn wait_for_restart(&mut self, negotiated: &Negotiated) {
        if self.restart.stale() == [false; 2] {
            return;
        }
        let theirs = negotiated.graceful_restart.as_ref();
        let asked = theirs.map_or(0, |g| g.restart_time_s);
        let granted = self
            .config
            .graceful_restart
            .map_or(0, |g| g.max_restart_time_s);
        match u64::from(asked.min(granted)) {
            0 => self.restart_expired(),
            seconds => self.start_timer(Timer::Restart, seconds * 1_000),
        }
    }

    /// The neighbor did not come back in time.
    pub(crate) fn restart_expired(&mut self) {
        for family in Family::ALL {
            let i = family.index();
            let seconds = u64::from(self.restart.long_lived_s[i]);
            match self.restart.kept[i] {
                Kept::Nothing => {}
                Kept::Stale if seconds == 0 => self.sweep(family),
                Kept::Stale => {
                    self.restart.kept[i] = Kept::LongLived;
                    self.start_timer(Timer::LongLived(family), seconds * 1_000);
                    self.emit(Output::StartLongLivedStale(family));
                }
                Kept::LongLived => self.emit(Output::StartLongLivedStale(family)),
            }
        }
    }

    /// The session is up again: what the neighbor did not preserve goes, the rest waits for End-of-RIB.
    pub(crate) fn came_back(&mut self, negotiated: &Negotiated) {
        self.timers.stop(Timer::Restart);
        for family in Family::ALL {
            if !preserved(family, negotiated) {
                self.sweep(family);
            }
        }
        let restart = self.config.graceful_restart;
        let seconds = restart.map_or(0, |g| u64::from(g.stale_path_time_s));
        if self.restart.waits() {
            self.start_timer(Timer::StalePath, seconds * 1_000);
        }
    }

    /// The neighbor is back but its End-of-RIB does not come.
    pub(crate) fn stale_path_expired(&mut self) {
        for family in Family::ALL {
            if self.restart.kept[family.index()] == Kept::Stale {
                self.sweep(family);
            }
        }
    }

    pub(crate) fn end_of_rib(&mut self, family: Family) {
        if self.established().is_some() {
            self.sweep(family);
            if !self.restart.waits() {
                self.timers.stop(Timer::StalePath);
            }
        }
    }

    /// Nothing of the family is kept any more.
    pub(crate) fn sweep(&mut self, family: Family) {
        self.timers.stop(Timer::LongLived(family));
        let kept = std::mem::take(&mut self.restart.kept[family.index()]);
        if kept != Kept::Nothing {
            self.emit(Output::SweepStale(family));
        }
    }

    /// Nothing is kept any more and nobody is waited for.
    pub(crate) fn sweep_all(&mut self) {
        self.timers.stop(Timer::Restart);
        self.timers.stop(Timer::StalePath);
        for family in Family::ALL {
            self.sweep(family);
        }
    }
}

/// The F bits of the new OPEN.
fn preserved(family: Family, negotiated: &Negotiated) -> bool {
    let afi_safi = family.afi_safi();
    let Some(restart) = &negotiated.graceful_restart else {
        return false;
    };
    let listed = |c: &Capability| match c {
        Capability::LongLivedGracefulRestart(families) => families
            .iter()
            .any(|f| f.afi_safi == afi_safi && f.forwarding),
        _ => false,
    };
    let long_lived = negotiated.long_lived_s[family.index()] > 0
        && negotiated.remote_capabilities.iter().any(listed);
    let short = restart
        .families
        .iter()
        .any(|f| f.afi_safi == afi_safi && f.forwarding);
    negotiated.family(family).is_some() && (short || long_lived)
}
