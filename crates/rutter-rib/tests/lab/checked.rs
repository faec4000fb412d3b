//! An exchange that checks its clients with outside data.

use std::sync::Arc;

use rutter_policy::{ImportPolicy, ImportRule, ImportSettings, NextHopRule, OutsideData};
use rutter_rib::*;

use super::{Lab, neighbor};

/// A client that the exchange checks.
pub fn checked_client(index: u8, adjust: impl FnOnce(&mut ImportSettings)) -> Neighbor {
    let mut client = neighbor(index, PeerKind::RouteServerClient, u32::from(index));
    let mut settings = ImportSettings {
        rule: ImportRule::Checks,
        next_hop: NextHopRule::Any,
        ..client.import.settings().clone()
    };
    adjust(&mut settings);
    client.import = Arc::new(ImportPolicy::new(settings));
    client
}

/// These data, and two clients with the AS numbers 1 and 2.
pub fn checked_exchange(data: Arc<OutsideData>, adjust: impl Fn(&mut ImportSettings)) -> Lab {
    let mut lab = Lab::empty();
    lab.rib.replace_outside_data(data, || {});
    lab.add(checked_client(1, &adjust), |_| {});
    lab.add(checked_client(2, &adjust), |_| {});
    lab
}

impl Lab {
    /// Replaces the outside data, and sends the differences.
    pub fn replace_data(&self, data: Arc<OutsideData>) {
        self.rib.replace_outside_data(data, || {});
        self.rib.flush();
    }
}
