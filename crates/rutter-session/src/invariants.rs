//! Invariants that hold between any two inputs.

use rutter_net::Family;

use crate::graceful_restart::StaleState;
use crate::session::{Session, TargetState};
use crate::{ConnectionId, State, Timer};

impl Session {
    /// Panics if an invariant is violated; for tests and the simulator.
    pub fn check_invariants(&self) {
        self.check_target();
        for connection in ConnectionId::ALL {
            self.check_connection(connection);
        }
        self.check_pair();
        self.check_restart();
    }

    fn check_target(&self) {
        let none = self.connections.iter().all(Option::is_none);
        assert!(
            self.target == TargetState::Established || none,
            "no connection without a target"
        );
        let timer_runs = self.timers.is_running(Timer::IdleHold);
        let holds = self.target == TargetState::IdleHold;
        assert_eq!(holds, timer_runs, "an idle hold ends");
        let is_open = self.state() >= State::OpenSent;
        let connects = self.target == TargetState::Established && !self.passive && !is_open;
        let retries = self.timers.is_running(Timer::ConnectRetry);
        assert_eq!(connects, retries, "ConnectRetryTimer runs while we connect");
    }

    fn check_connection(&self, connection: ConnectionId) {
        let runs = |timer: Timer| self.timers.is_running(timer);
        let negotiated = self.negotiated_on(connection);
        let is_open = self.connection_state(connection) >= Some(State::OpenSent);
        let holds = is_open && negotiated.is_none_or(|n| n.hold_time_s > 0);
        assert_eq!(runs(Timer::Hold(connection)), holds, "HoldTimer");
        let keeps_alive = negotiated.is_some_and(|n| n.keepalive_s > 0);
        assert_eq!(
            runs(Timer::Keepalive(connection)),
            keeps_alive,
            "KeepaliveTimer"
        );
        assert!(
            is_open || !runs(Timer::SendHold(connection)),
            "SendHoldTimer"
        );
    }

    fn check_pair(&self) {
        let states = ConnectionId::ALL.map(|c| self.connection_state(c));
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
            "no restart timer while established"
        );
        assert!(up || !runs(Timer::StalePath), "End-of-RIB needs a session");
        for family in Family::ALL {
            let state = self.stale_routes.by_family[family];
            let timer = if up { Timer::StalePath } else { Timer::Restart };
            assert!(
                state != StaleState::Stale || runs(timer),
                "stale has an end"
            );
            let long_lived = runs(Timer::LongLived(family));
            assert_eq!(
                state == StaleState::LongLived,
                long_lived,
                "long-lived stale"
            );
            let refreshing = self.refreshing[family];
            assert!(up || !refreshing, "a refresh needs a session");
        }
    }
}
