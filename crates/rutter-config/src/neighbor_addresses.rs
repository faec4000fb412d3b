//! The addresses in a configuration that the import policies of all neighbors compare with next hops.

use std::collections::HashMap;
use std::net::IpAddr;

use rutter_net::Asn;

use crate::{Config, Neighbor, NeighborKind};

/// The addresses of all neighbors together. They are collected once: an exchange with ten thousand members would
/// otherwise look at each of them for the policy of each.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct NeighborAddresses {
    of_members: HashMap<Asn, Vec<IpAddr>>,
    own: Vec<IpAddr>,
}

impl NeighborAddresses {
    /// Collects the addresses. `listen` are those at which the daemon accepts connections.
    pub(crate) fn collect(neighbors: &[Neighbor], listen: impl Iterator<Item = IpAddr>) -> Self {
        let mut of_members: HashMap<Asn, Vec<IpAddr>> = HashMap::new();
        for member in neighbors.iter().filter(|n| n.kind == NeighborKind::Member) {
            let addresses = of_members.entry(member.asn).or_default();
            addresses.push(member.address);
        }
        let local = neighbors.iter().filter_map(|n| n.session.local_address);
        let mut own: Vec<IpAddr> = local.chain(listen).collect();
        own.retain(|address| !address.is_unspecified());
        own.sort_unstable();
        own.dedup();
        NeighborAddresses { of_members, own }
    }

    /// The addresses of all members with this AS.
    pub(crate) fn of_members(&self, asn: Asn) -> &[IpAddr] {
        self.of_members.get(&asn).map_or(&[], Vec::as_slice)
    }

    /// Our own addresses, as far as they are configured.
    pub(crate) fn own(&self) -> &[IpAddr] {
        &self.own
    }
}

impl Config {
    /// The configured neighbor with an address.
    pub fn neighbor(&self, address: IpAddr) -> Option<&Neighbor> {
        let place = self.neighbors.binary_search_by_key(&address, |n| n.address);
        place.ok().map(|at| &self.neighbors[at])
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const EXCHANGE: &str =
        "[exchange]\nasn = 64500\nrouter-id = \"192.0.2.1\"\nlan = [\"198.51.100.0/24\"]\n";

    #[test]
    fn finds_what_a_search_through_all_neighbors_finds() {
        let mut text = EXCHANGE.to_owned();
        // Addresses out of order, and three members of each AS.
        for number in 0..60 {
            let (asn, last) = (3_000 + number % 20, 1 + number * 37 % 60);
            text += &format!("[[member]]\nasn = {asn}\naddress = \"198.51.100.{last}\"\n");
        }
        let config = Config::parse(&text, Path::new("members.toml"))
            .expect("valid")
            .config;
        assert_eq!(config.neighbors.len(), 60);
        for neighbor in &config.neighbors {
            assert_eq!(config.neighbor(neighbor.address), Some(neighbor));
            let same_as = config.neighbors.iter().filter(|n| n.asn == neighbor.asn);
            let expected: Vec<IpAddr> = same_as.map(|n| n.address).collect();
            assert_eq!(expected.len(), 3);
            let settings = config.import_settings(neighbor);
            assert_eq!(settings.member_addresses, expected);
            assert_eq!(settings.own_addresses, config.addresses.own());
        }
        assert_eq!(config.neighbor([198, 51, 100, 99].into()), None);
    }
}
