//! The facts of PeeringDB that ARouteServer uses, from a dump of its networks.

use std::collections::BTreeMap;

use serde::Deserialize;

/// What PeeringDB has on networks, by AS number.
#[derive(Default)]
pub(crate) struct PeeringDb {
    networks: BTreeMap<u32, Network>,
}

#[derive(Deserialize)]
struct Dump {
    data: Vec<Network>,
}

/// A network.
#[derive(Deserialize, Clone, Copy)]
struct Network {
    asn: u32,
    #[serde(default)]
    info_prefixes4: Option<u32>,
    #[serde(default)]
    info_prefixes6: Option<u32>,
    #[serde(default)]
    info_never_via_route_servers: Option<bool>,
}

impl PeeringDb {
    /// Parses the answer of PeeringDB's API to `/api/net`.
    pub(crate) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let dump: Dump = serde_json::from_str(text)?;
        let networks = dump.data.into_iter().map(|network| (network.asn, network));
        Ok(PeeringDb {
            networks: networks.collect(),
        })
    }

    /// Returns the networks that never announce routes through route servers, in order.
    pub(crate) fn never_via_route_servers(&self) -> Vec<u32> {
        let networks = self.networks.values();
        networks
            .filter(|network| network.info_never_via_route_servers == Some(true))
            .map(|network| network.asn)
            .collect()
    }

    /// Returns the prefix limits of a network for IPv4 and IPv6; zero counts as none.
    pub(crate) fn limits(&self, asn: u32) -> [Option<u32>; 2] {
        let network = self.networks.get(&asn);
        let limit = |value: fn(&Network) -> Option<u32>| network.and_then(value).filter(|n| *n > 0);
        [limit(|n| n.info_prefixes4), limit(|n| n.info_prefixes6)]
    }
}
