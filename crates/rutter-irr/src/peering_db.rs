//! Facts about networks from PeeringDB.

use std::collections::{BTreeMap, HashMap};

use rutter_net::PerFamily;
use serde::Deserialize;

use crate::{AsSetName, ParseFileError, PrefixLimits};

/// The networks of a PeeringDB dump by AS number.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PeeringDb {
    nets: HashMap<u32, PeeringDbNet>,
}

/// A network's statements about itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeeringDbNet {
    /// The AS number.
    pub asn: u32,
    /// The recommended maximum of prefixes: the fields `info_prefixes4` and `info_prefixes6`.
    pub prefix_limits: PerFamily<Option<u32>>,
    /// The AS-SETs that the field `irr_as_set` names.
    pub as_sets: Vec<AsSetName>,
    /// The network asks that its routes never pass route servers.
    pub never_via_route_servers: bool,
}

/// The answer of PeeringDB's API for `net` objects.
#[derive(Deserialize)]
struct Dump {
    data: Vec<Net>,
}

#[derive(Deserialize)]
struct Net {
    asn: u32,
    info_prefixes4: Option<u32>,
    info_prefixes6: Option<u32>,
    irr_as_set: Option<String>,
    info_never_via_route_servers: Option<bool>,
}

impl PeeringDb {
    /// Parses a dump of `net` objects, as `https://www.peeringdb.com/api/net` returns them.
    ///
    /// # Errors
    /// If the JSON has another form, or more than `limit` networks.
    pub fn parse(text: &[u8], limit: usize) -> Result<Self, ParseFileError> {
        let dump: Dump = serde_json::from_slice(text)?;
        ParseFileError::check_limit(dump.data.len(), limit, 0, "networks")?;
        let nets = dump.data.into_iter().map(|net| (net.asn, net.into()));
        Ok(PeeringDb {
            nets: nets.collect(),
        })
    }

    /// The network with an AS number.
    pub fn net(&self, asn: u32) -> Option<&PeeringDbNet> {
        self.nets.get(&asn)
    }

    /// The AS-SETs by AS number, of the networks that have any.
    pub fn into_as_sets(self) -> BTreeMap<u32, Vec<AsSetName>> {
        let nets = self.nets.into_values();
        let nets = nets.filter(|net| !net.as_sets.is_empty());
        nets.map(|net| (net.asn, net.as_sets)).collect()
    }

    /// The recommended limits, of the networks that have any.
    pub fn prefix_limits(&self) -> PrefixLimits {
        let nets = self.nets.values();
        nets.map(|net| (net.asn, net.prefix_limits)).collect()
    }

    /// Returns the number of networks.
    pub fn len(&self) -> usize {
        self.nets.len()
    }

    /// Returns whether there are no networks.
    pub fn is_empty(&self) -> bool {
        self.nets.is_empty()
    }

    /// The AS numbers of the networks that ask not to pass route servers, in order.
    pub fn never_via_route_servers(&self) -> Vec<u32> {
        let nets = self.nets.values().filter(|net| net.never_via_route_servers);
        let mut asns: Vec<u32> = nets.map(|net| net.asn).collect();
        asns.sort_unstable();
        asns
    }
}

impl From<Net> for PeeringDbNet {
    fn from(net: Net) -> Self {
        // PeeringDB writes 0 where a network gives no number.
        let number = |number: Option<u32>| number.filter(|number| *number > 0);
        PeeringDbNet {
            asn: net.asn,
            prefix_limits: PerFamily::new(net.info_prefixes4, net.info_prefixes6).map(number),
            as_sets: AsSetName::find_all(net.irr_as_set.as_deref().unwrap_or_default()),
            never_via_route_servers: net.info_never_via_route_servers.unwrap_or(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUMP: &[u8] = br#"{"meta": {}, "data": [
        {"id": 1, "asn": 64500, "info_prefixes4": 100, "info_prefixes6": 0, "irr_as_set": "RIPE::AS-FOO AS-BAR",
         "info_never_via_route_servers": true, "name": "x"},
        {"asn": 64501, "info_prefixes4": null, "irr_as_set": ""}]}"#;

    #[test]
    fn networks_are_found_by_asn() {
        let db = PeeringDb::parse(DUMP, 2).unwrap();
        let net = db.net(64_500).unwrap();
        assert_eq!(net.prefix_limits, PerFamily::new(Some(100), None));
        let names: Vec<String> = net.as_sets.iter().map(|name| name.to_string()).collect();
        assert_eq!(names, ["RIPE::AS-FOO", "AS-BAR"]);
        assert_eq!(db.never_via_route_servers(), [64_500]);
        let other = db.net(64_501).unwrap();
        assert!(other.as_sets.is_empty() && !other.never_via_route_servers);
        assert_eq!((db.net(1), db.len()), (None, 2));
        let limits = db.prefix_limits();
        assert_eq!((limits.len(), limits.of(64_500)), (1, net.prefix_limits));
    }

    #[test]
    fn wrong_dumps_are_refused() {
        assert!(PeeringDb::parse(DUMP, 1).unwrap_err().why.contains("limit"));
        let error = PeeringDb::parse(b"{\"data\": [\n{\"asn\": \"x\"}]}", 9).unwrap_err();
        assert_eq!(error.line, 2, "{error}");
        assert!(PeeringDb::parse(b"[]", 9).is_err());
    }
}
