//! The status of routers, for operators and metrics.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use parking_lot::Mutex;
use rutter_api::{OtherFamilyRow, RouterRow};
use rutter_net::{AfiSafi, Asn};

use super::other_families::FamilyCount;
use crate::clock::unix_us;

/// A connected router.
#[derive(Clone, Debug)]
pub struct RouterStatus {
    /// The sysName, or the address.
    pub name: String,
    /// The remote address of its connection.
    pub address: SocketAddr,
    /// The sysDescr.
    pub description: String,
    /// The time of the connection, in microseconds since 1970.
    pub since_us: u64,
    /// The number of received messages.
    pub messages: u64,
    /// The number of messages that could not be decoded.
    pub faults: u64,
    /// The number of ignored UPDATEs: without a Peer Up, or of peers beyond a limit.
    pub unknown: u64,
    /// The number of malformed UPDATEs. Their readable parts are in the table.
    pub malformed: u64,
    /// The number of UPDATEs that announced routes without a next hop.
    pub without_next_hop: u64,
    /// The number of UPDATEs of a Loc-RIB without a Peer Up.
    pub without_peer_up: u64,
    /// The UPDATEs with routes of each family that the table does not keep.
    pub other_families: Vec<FamilyCount>,
    /// The number of mirrored messages.
    pub mirrored: u64,
    /// The established sessions.
    pub peers: Vec<PeerStatus>,
}

/// A monitored session.
#[derive(Clone, Debug)]
pub struct PeerStatus {
    /// Its address.
    pub address: IpAddr,
    /// Its AS.
    pub asn: Asn,
    /// The Peer Distinguisher: the router's instance.
    pub distinguisher: u64,
    /// The latest value of each counter.
    pub counters: Vec<Counter>,
}

/// A counter of a Statistics Report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counter {
    /// The type code.
    pub kind: u16,
    /// The family, for a counter of one family.
    pub afi_safi: Option<AfiSafi>,
    /// The name, if the type code is known.
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
            without_next_hop: status.without_next_hop,
            without_peer_up: status.without_peer_up,
            other_families: status.other_families.iter().map(Into::into).collect(),
            mirrored: status.mirrored,
        }
    }
}

impl From<&FamilyCount> for OtherFamilyRow {
    fn from(count: &FamilyCount) -> Self {
        let further = || "other".to_owned();
        OtherFamilyRow {
            family: count.afi_safi.map_or_else(further, |of| of.to_string()),
            updates: count.updates,
        }
    }
}

/// All connected routers, by the number of their connection.
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

    /// The rows for `rutter show`, metrics and SQL.
    pub fn rows(&self) -> Vec<RouterRow> {
        self.0.lock().values().map(RouterRow::from).collect()
    }
}
