//! What must hold between any two inputs.

use rutter_net::Family;

use crate::restart::Kept;
use crate::session::{Aim, Session};
use crate::{Connection, State, Timer};

impl Session {
    /// Panics where the session contradicts itself; for tests and the simulator.
    pub fn check_invariants(&self) {
        self.check_aim();
        for connection in Connection::ALL {
            self.check_link(connection);
        }
        self.check_pair();
        self.check_restart();
    }

    fn check_aim(&self) {
        let none = self.links.iter().all(Option::is_none);
        assert!(
            self.aim == Aim::Up || none,
            "a connection that nobody wants"
        );
        let paused = self.timers.is_running(Timer::IdleHold);
        assert_eq!(self.aim == Aim::Pause, paused, "a pause has an end");
        let talks = self.state() >= State::OpenSent;
        let seeks = self.aim == Aim::Up && !self.passive && !talks;
        let retries = self.timers.is_running(Timer::ConnectRetry);
        assert_eq!(seeks, retries, "ConnectRetryTimer runs while we seek");
    }

    fn check_link(&self, connection: Connection) {
        let link = self.links[connection.index()].as_ref();
        let runs = |timer: Timer| self.timers.is_running(timer);
        let negotiated = link.and_then(|l| l.negotiated());
        let talks = link.is_some_and(|l| l.state() >= State::OpenSent);
        let holds = talks && negotiated.is_none_or(|n| n.hold_time_s > 0);
        assert_eq!(runs(Timer::Hold(connection)), holds, "HoldTimer");
        let keeps_alive = negotiated.is_some_and(|n| n.keepalive_s > 0);
        assert_eq!(
            runs(Timer::Keepalive(connection)),
            keeps_alive,
            "KeepaliveTimer"
        );
        assert!(talks || !runs(Timer::SendHold(connection)), "SendHoldTimer");
    }

    fn check_pair(&self) {
        let states = Connection::ALL.map(|c| self.link_state(c));
        let twice = |s: State| states == [Some(s), Some(s)];
        assert!(!twice(State::Connect), "two attempts to connect");
        assert!(!twice(State::Established), "two established connections");
        if states.contains(&Some(State::Established)) {
            let rival = |s: &Option<State>| matches!(s, Some(State::Connect | State::OpenConfirm));
            assert!(!states.iter().any(rival), "a rival of the established one");
        }
    }

    fn check_restart(&self) {
        let up = self.established().is_some();
        let runs = |timer: Timer| self.timers.is_running(timer);
        assert!(
            !(up && runs(Timer::Restart)),
            "waiting for somebody who is here"
        );
        assert!(up || !runs(Timer::StalePath), "End-of-RIB of nobody");
        for family in Family::ALL {
            let kept = self.restart.kept[family.index()];
            let waits = if up { Timer::StalePath } else { Timer::Restart };
            assert!(kept != Kept::Stale || runs(waits), "stale for ever");
            let long_lived = runs(Timer::LongLived(family));
            assert_eq!(kept == Kept::LongLived, long_lived, "long-lived stale");
            assert!(up || !self.refreshing[family.index()], "refresh of nobody");
        }
    }
}
