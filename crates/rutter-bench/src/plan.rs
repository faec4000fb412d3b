//! The plan of a run.

use std::net::SocketAddr;
use std::time::Duration;

use crate::daemons::Daemon;
use crate::disturbance::Disturbance;
use crate::oracle::Visibility;
use crate::policy::Policy;
use crate::process;
use crate::registry::Edition;
use crate::speaker::Offer;
use crate::under_load::Scene;

/// The daemon of a run.
#[derive(Clone, Debug)]
pub enum Target {
    /// A daemon to start, and to stop afterwards.
    Start(Daemon),
    /// A daemon that is already running and knows all clients.
    Attach {
        /// The address at which it listens.
        address: SocketAddr,
        /// Its process, if its cost is to be measured.
        pid: Option<u32>,
        /// Which clients receive the best route.
        visibility: Visibility,
    },
}

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Threads of the daemon, if it can have several.
    pub threads: usize,
    /// Threads of the load.
    pub load_threads: usize,
    /// Verify attributes and best path too, not only the set of prefixes.
    pub deep: bool,
    /// Rounds of the latency test after the load; 0: none.
    pub latency_rounds: u32,
    /// Rounds of each measurement of the latency under other load; 0: none.
    pub under_load_rounds: u32,
    /// The scenes of that load.
    pub scenes: Vec<Scene>,
    /// Disturbances after the load.
    pub disturbances: Vec<Disturbance>,
    /// How long to wait for sessions, and for every client to be exact.
    pub timeout: Duration,
    /// How long to keep watching after the last change, in which nothing may change and memory settles.
    pub settle: Duration,
    /// Capabilities of the clients.
    pub offer: Offer,
    /// The daemon has an exchange's whole policy, with the registry of the workload.
    pub checks: bool,
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
            checks: false,
        }
    }
}

impl Plan {
    /// The policy of the daemon at the start.
    pub(crate) fn policy(&self) -> Policy {
        Policy {
            registry: self.checks.then_some(Edition::First),
            ..Policy::default()
        }
    }
}

/// The phase of a run, for progress bars.
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
