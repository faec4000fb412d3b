//! What the station knows of its routers, for people and metrics.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use parking_lot::Mutex;
use rutter_api::RouterRow;
use rutter_net::{AfiSafi, Asn};

use crate::clock::unix_us;

/// A router that is connected.
#[derive(Clone, Debug)]
pub struct RouterStatus {
    /// What it calls itself, or its address.
    pub name: String,
    /// Where it connects from.
    pub address: SocketAddr,
    /// Hardware and software as it says.
    pub description: String,
    /// When it connected, in microseconds since 1970.
    pub since_us: u64,
    /// Messages taken.
    pub messages: u64,
    /// Messages that could not be read and were passed over.
    pub faults: u64,
    /// UPDATEs of peers of which no Peer Up was heard, or beyond the limit of peers; passed over.
    pub unknown: u64,
    /// UPDATEs that were malformed.
    pub malformed: u64,
    /// Messages that were mirrored.
    pub mirrored: u64,
    /// Sessions that are up.
    pub peers: Vec<PeerStatus>,
}

/// A monitored session.
#[derive(Clone, Debug)]
pub struct PeerStatus {
    /// Its address.
    pub address: IpAddr,
    /// Its AS.
    pub asn: Asn,
    /// Which of the router's instances.
    pub distinguisher: u64,
    /// The router's latest counters, by number.
    pub counters: Vec<Counter>,
}

/// A counter of a Statistics Report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counter {
    /// Its number.
    pub kind: u16,
    /// The family it counts, where it counts one.
    pub afi_safi: Option<AfiSafi>,
    /// What it counts, where the number is known.
    pub name: Option<&'static str>,
    /// Its value.
    pub value: u64,
}

impl From<&RouterStatus> for RouterRow {
    fn from(status: &RouterStatus) -> Self {
        RouterRow {
            name: status.name.clone(),
            address: status.address,
            description: status.description.clone(),
            connected_for_s: unix_us().saturating_sub(status.since_us) / 1_000_000,
            peers: status.peers.len() as u64,
            messages: status.messages,
            faults: status.faults,
            unknown: status.unknown,
            malformed: status.malformed,
            mirrored: status.mirrored,
        }
    }
}

/// All connected routers, by a number of their connection.
#[derive(Clone, Default)]
pub(super) struct Routers(Arc<Mutex<BTreeMap<u64, RouterStatus>>>);

impl Routers {
    pub fn publish(&self, connection: u64, status: RouterStatus) {
        self.0.lock().insert(connection, status);
    }

    pub fn remove(&self, connection: u64) {
        self.0.lock().remove(&connection);
    }

    pub fn all(&self) -> Vec<RouterStatus> {
        self.0.lock().values().cloned().collect()
    }

    /// For whoever is shown them.
    pub fn rows(&self) -> Vec<RouterRow> {
        self.0.lock().values().map(RouterRow::from).collect()
    }
}
