//! The dynamic neighbors by the network of their `[[dynamic-neighbor]]` section.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use rutter_net::Prefix;

/// Counts dynamic neighbors, so that no connection takes a look at all neighbors.
///
/// Invariant: the addresses of a network are those that have it, and no network is without addresses.
#[derive(Default, Debug)]
pub(crate) struct DynamicCounts {
    network_of: HashMap<IpAddr, Prefix>,
    addresses_of: HashMap<Prefix, HashSet<IpAddr>>,
}

impl DynamicCounts {
    /// Sets the network of a neighbor's section; `None` for a neighbor that is not dynamic, or not any more.
    pub(crate) fn set(&mut self, address: IpAddr, network: Option<Prefix>) {
        let before = match network {
            Some(network) => self.network_of.insert(address, network),
            None => self.network_of.remove(&address),
        };
        if let Some(before) = before
            && let Some(addresses) = self.addresses_of.get_mut(&before)
        {
            addresses.remove(&address);
            if addresses.is_empty() {
                self.addresses_of.remove(&before);
            }
        }
        if let Some(network) = network {
            self.addresses_of
                .entry(network)
                .or_default()
                .insert(address);
        }
    }

    /// The number of neighbors of a network.
    pub(crate) fn of(&self, network: Prefix) -> usize {
        self.addresses_of.get(&network).map_or(0, HashSet::len)
    }

    /// The neighbors of a network.
    pub(crate) fn addresses_of(&self, network: Prefix) -> impl Iterator<Item = IpAddr> + '_ {
        self.addresses_of
            .get(&network)
            .into_iter()
            .flatten()
            .copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbor_counts_once_and_in_one_network() {
        let [a, b] =
            ["192.0.2.0/24", "198.51.100.0/24"].map(|text| text.parse::<Prefix>().unwrap());
        let [x, y] = [1, 2].map(|last| IpAddr::from([192, 0, 2, last]));
        let mut counts = DynamicCounts::default();
        counts.set(x, Some(a));
        counts.set(x, Some(a));
        counts.set(y, Some(a));
        assert_eq!((counts.of(a), counts.of(b)), (2, 0));
        counts.set(y, Some(b));
        assert_eq!((counts.of(a), counts.of(b)), (1, 1));
        counts.set(x, None);
        counts.set(x, None);
        counts.set(y, None);
        assert_eq!((counts.of(a), counts.of(b)), (0, 0));
        assert!(counts.network_of.is_empty() && counts.addresses_of.is_empty());
    }
}
