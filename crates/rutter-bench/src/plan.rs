//! What a run is to do.

use std::net::SocketAddr;
use std::time::Duration;

use crate::daemons::Daemon;
use crate::disturbance::Disturbance;
use crate::oracle::Visibility;
use crate::process;
use crate::speaker::Offer;
use crate::under_load::Scene;

/// Against what a run goes.
#[derive(Clone, Debug)]
pub enum Target {
    /// Start it, stop it afterwards.
    Start(Daemon),
    /// It runs already and knows all clients.
    Attach {
        /// Where it listens.
        address: SocketAddr,
        /// Its process, if its cost shall be measured.
        pid: Option<u32>,
        /// Whom it gives the best route.
        visibility: Visibility,
    },
}

/// How a run goes.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Threads of the daemon, where it can have several.
    pub threads: usize,
    /// Threads of the load.
    pub load_threads: usize,
    /// Verify attributes and choice too, not only the set of prefixes.
    pub deep: bool,
    /// Rounds of the latency test after the load; 0: none.
    pub latency_rounds: u32,
    /// Rounds of each measurement of the latency under other load; 0: none.
    pub under_load_rounds: u32,
    /// Those other things.
    pub scenes: Vec<Scene>,
    /// What is done to it after the load.
    pub disturbances: Vec<Disturbance>,
    /// How long to wait for sessions, and for every client to be exact.
    pub timeout: Duration,
    /// How long to look on after the last change: nothing may change any more, and memory settles.
    pub settle: Duration,
    /// What the clients offer.
    pub offer: Offer,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            threads: process::cores(),
            load_threads: 1,
            deep: true,
            latency_rounds: 0,
            under_load_rounds: 0,
            scenes: Scene::ALL.to_vec(),
            disturbances: Vec::new(),
            timeout: Duration::from_secs(600),
            settle: Duration::from_secs(2),
            offer: Offer::default(),
        }
    }
}

/// Where a run is; for progress bars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Sessions come up.
    Connecting,
    /// Routes flow.
    Loading,
    /// Nothing should change any more.
    Settling,
    /// Latency is measured.
    Probing,
    /// Clients are lost, come back, come late or read slowly.
    Disturbing,
}
