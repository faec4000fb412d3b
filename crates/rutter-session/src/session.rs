//! The machine's door.

use std::collections::VecDeque;

use crate::timers::Timers;
use crate::{Config, Connection, Input, Negotiated, Output, State, Stats, Timer};

/// The session with one neighbor.
#[derive(Clone, Debug)]
pub struct Session {
    config: Config,
    timers: Timers,
    outputs: VecDeque<Output>,
    stats: Stats,
}

impl Session {
    /// A session in Idle. `seed` decides the jitter of its timers.
    pub fn new(config: Config, seed: u64) -> Self {
        let _ = seed;
        Session {
            config,
            timers: Timers::new(),
            outputs: VecDeque::new(),
            stats: Stats::default(),
        }
    }

    /// Takes one input. Drain [`Session::poll_output`] before the next. `now_ms` is monotonic.
    pub fn handle(&mut self, now_ms: u64, input: Input<'_>) {
        let _ = (now_ms, input);
        todo!()
    }

    /// One UPDATE came on the established connection; its body is the caller's to give to the table.
    pub fn update_received(&mut self, now_ms: u64) {
        self.updates_received(now_ms, 1);
    }

    /// As [`Session::update_received`] for several at once.
    pub fn updates_received(&mut self, now_ms: u64, count: u64) {
        let _ = (now_ms, count);
        todo!()
    }

    /// The next thing to be done.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When to give [`Input::Tick`] at the latest.
    pub fn next_deadline(&self) -> Option<u64> {
        self.timers.next()
    }

    /// The connection to use for one that the neighbor made, `None` if it is not welcome: close it.
    pub fn accepts(&self) -> Option<Connection> {
        todo!()
    }

    /// The state; with two connections, of the one that is further.
    pub fn state(&self) -> State {
        todo!()
    }

    /// The connection that is established.
    pub fn established(&self) -> Option<Connection> {
        todo!()
    }

    /// What was agreed on, while Established.
    pub fn negotiated(&self) -> Option<&Negotiated> {
        todo!()
    }

    /// Longest message to take from a connection now, for [`rutter_wire::frame::next_frame`].
    pub fn max_receive_len(&self, connection: Connection) -> usize {
        let _ = connection;
        todo!()
    }

    /// Families whose stale routes are kept, in index order.
    pub fn stale(&self) -> [bool; 2] {
        todo!()
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Other settings, from the next connection on. Follow it by [`Input::Reset`] where that cannot wait.
    pub fn set_config(&mut self, config: Config) {
        self.config = config;
    }

    /// Counters.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Timers that run, with their deadlines in milliseconds.
    pub fn timers(&self) -> impl Iterator<Item = (Timer, u64)> + '_ {
        let running = |t: Timer| self.timers.deadline(t).map(|at| (t, at));
        Timer::ALL.into_iter().filter_map(running)
    }

    /// Panics where the session contradicts itself; for tests and the simulator.
    pub fn check_invariants(&self) {
        todo!()
    }
}
