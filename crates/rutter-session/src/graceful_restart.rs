//! Graceful Restart: the stale routes of a neighbor whose session is down (RFC 4724, 8538, 9494).

use rutter_net::{Family, PerFamily};
use rutter_wire::capability::Capability;

use crate::session::Session;
use crate::{ConnectionId, DownReason, Negotiated, Output, Timer};

/// The stale routes that the table keeps for a neighbor.
#[derive(Clone, Debug, Default)]
pub(crate) struct StaleRoutes {
    /// The state of each family, in index order.
    pub(crate) by_family: PerFamily<StaleState>,
    /// The long-lived stale time of each family, as negotiated in the session that ended last, seconds.
    pub(crate) long_lived_s: PerFamily<u32>,
}

/// The state of the stale routes of one family.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum StaleState {
    /// The family has no stale routes.
    #[default]
    None,
    /// The restart timer runs or, once the session is re-established, the timer for End-of-RIB.
    Stale,
    /// The routes are long-lived stale: their own timer runs.
    LongLived,
}

impl StaleRoutes {
    pub(crate) fn stale(&self) -> PerFamily<bool> {
        self.by_family.map(|state| state != StaleState::None)
    }

    fn awaits_end_of_rib(&self) -> bool {
        self.by_family
            .iter()
            .any(|state| *state == StaleState::Stale)
    }
}

/// The end of a connection before our own restart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Goodbye {
    /// The neighbor keeps our routes only if the connection closes without a NOTIFICATION.
    Silent,
    /// The neighbor keeps our routes, or has none to keep: it learns the reason.
    Notification,
}

impl Session {
    /// The end of a connection before our own restart that lets the neighbor keep our routes.
    pub(crate) fn goodbye_before_restart(&self, connection: ConnectionId) -> Goodbye {
        let loses_routes = |n: &Negotiated| n.graceful_restart.is_some() && !n.notification_restart;
        let is_established = self.established() == Some(connection);
        match is_established && self.negotiated().is_some_and(loses_routes) {
            true => Goodbye::Silent,
            false => Goodbye::Notification,
        }
    }

    /// The families whose routes stay after the session.
    pub(crate) fn keeps(&self, reason: &DownReason, negotiated: &Negotiated) -> PerFamily<bool> {
        let routes_stay = match reason {
            DownReason::Sent(n) | DownReason::Received(n) => {
                negotiated.notification_restart && !n.is_hard_reset()
            }
            DownReason::ConnectionLost | DownReason::Replaced => true,
            DownReason::ConnectFailed | DownReason::Restarting => false,
        };
        let Some(theirs) = negotiated.graceful_restart.as_ref().filter(|_| routes_stay) else {
            return PerFamily::both(false);
        };
        PerFamily::from_fn(|family| {
            let listed = |f: Family| theirs.families.iter().any(|g| g.afi_safi == f.afi_safi());
            let long_lived = negotiated.long_lived_s[family] > 0;
            negotiated.family(family).is_some() && (listed(family) || long_lived)
        })
    }

    /// Runs before `Down`: removes routes that were already stale (RFC 4724 §4.2). Long-lived stale routes stay, and
    /// their timer continues (RFC 9494 §4.2).
    pub(crate) fn keep_stale(&mut self, keep: PerFamily<bool>, negotiated: &Negotiated) {
        self.timers.stop(Timer::StalePath);
        for family in Family::ALL {
            if self.stale_routes.by_family[family] == StaleState::Stale {
                self.sweep(family);
            }
            match (keep[family], self.stale_routes.by_family[family]) {
                (true, StaleState::None) => self.stale_routes.by_family[family] = StaleState::Stale,
                (true, _) => {}
                (false, _) => {
                    self.timers.stop(Timer::LongLived(family));
                    self.stale_routes.by_family[family] = StaleState::None;
                }
            }
        }
        self.stale_routes.long_lived_s = negotiated.long_lived_s;
    }

    /// Runs after `Down`: starts the neighbor's restart time. Routes of the session that just ended join the routes
    /// that are already long-lived stale.
    pub(crate) fn wait_for_restart(&mut self, negotiated: &Negotiated) {
        if self.stale_routes.stale() == PerFamily::both(false) {
            return;
        }
        let theirs = negotiated.graceful_restart.as_ref();
        let requested = theirs.map_or(0, |g| g.restart_time_s);
        let limit = self
            .config
            .graceful_restart
            .map_or(0, |g| g.max_restart_time_s);
        match u64::from(requested.min(limit)) {
            0 => self.restart_expired(),
            seconds => self.start_timer(Timer::Restart, seconds * 1_000),
        }
    }

    /// The neighbor did not re-establish the session in time.
    pub(crate) fn restart_expired(&mut self) {
        for family in Family::ALL {
            let seconds = u64::from(self.stale_routes.long_lived_s[family]);
            match self.stale_routes.by_family[family] {
                StaleState::None => {}
                StaleState::Stale if seconds == 0 => self.sweep(family),
                StaleState::Stale => {
                    self.stale_routes.by_family[family] = StaleState::LongLived;
                    self.start_timer(Timer::LongLived(family), seconds * 1_000);
                    self.emit(Output::StartLongLivedStale(family));
                }
                StaleState::LongLived => self.emit(Output::StartLongLivedStale(family)),
            }
        }
    }

    /// The session is re-established: removes the families that the neighbor did not preserve. The others wait for
    /// End-of-RIB.
    pub(crate) fn re_established(&mut self, negotiated: &Negotiated) {
        self.timers.stop(Timer::Restart);
        for family in Family::ALL {
            if !preserved(family, negotiated) {
                self.sweep(family);
            }
        }
        let restart = self.config.graceful_restart;
        let seconds = restart.map_or(0, |g| u64::from(g.stale_path_time_s));
        if self.stale_routes.awaits_end_of_rib() {
            self.start_timer(Timer::StalePath, seconds * 1_000);
        }
    }

    /// The session is re-established, but End-of-RIB did not arrive in time.
    pub(crate) fn stale_path_expired(&mut self) {
        for family in Family::ALL {
            if self.stale_routes.by_family[family] == StaleState::Stale {
                self.sweep(family);
            }
        }
    }

    pub(crate) fn end_of_rib(&mut self, family: Family) {
        if self.established().is_some() {
            self.sweep(family);
            if !self.stale_routes.awaits_end_of_rib() {
                self.timers.stop(Timer::StalePath);
            }
        }
    }

    /// Removes the stale routes of a family.
    pub(crate) fn sweep(&mut self, family: Family) {
        self.timers.stop(Timer::LongLived(family));
        let state = std::mem::take(&mut self.stale_routes.by_family[family]);
        if state != StaleState::None {
            self.emit(Output::SweepStale(family));
        }
    }

    /// Removes the stale routes of a neighbor whose session is down, before their time is over.
    pub(crate) fn remove_stale(&mut self) {
        if self.established().is_none() {
            self.sweep_all();
        }
    }

    /// Removes all stale routes and stops waiting for the neighbor.
    pub(crate) fn sweep_all(&mut self) {
        self.timers.stop(Timer::Restart);
        self.timers.stop(Timer::StalePath);
        for family in Family::ALL {
            self.sweep(family);
        }
    }
}

/// Returns whether the neighbor preserved its forwarding state of the family: the F bit of the new OPEN.
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
    let long_lived =
        negotiated.long_lived_s[family] > 0 && negotiated.remote_capabilities.iter().any(listed);
    let short = restart
        .families
        .iter()
        .any(|f| f.afi_safi == afi_safi && f.forwarding);
    negotiated.family(family).is_some() && (short || long_lived)
}
