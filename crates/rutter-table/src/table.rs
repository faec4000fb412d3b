//! The table of one moment.

use std::net::IpAddr;

use rutter_api::{AttributesRow, RouteSource};
use rutter_lpm::Profile;
use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

use rutter_rpki::{Rov, Vrps};

/// Attributes that several routes share.
#[derive(Clone, PartialEq, Debug)]
pub struct Set {
    /// The peer that announced them.
    pub peer: RouteSource,
    /// The last AS of the path; `None` if the path is empty or ends in a set.
    pub origin_as: Option<u32>,
    /// The attributes, as the management protocol has them.
    pub attributes: AttributesRow,
}

/// A route with the place of its attributes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route {
    /// Its prefix.
    pub prefix: Prefix,
    /// Index of its [`Set`].
    pub set: u32,
    /// Origin validation, if the table has VRPs.
    pub rov: Option<Rov>,
}

/// One route for each prefix, found by address.
#[derive(Debug)]
pub struct Table {
    sets: Vec<Set>,
    routes: Vec<Route>,
    ipv4: rutter_lpm::Table<Ipv4Prefix>,
    ipv6: rutter_lpm::Table<Ipv6Prefix>,
}

impl Default for Table {
    fn default() -> Self {
        Table {
            sets: Vec::new(),
            routes: Vec::new(),
            ipv4: rutter_lpm::Table::new(Profile::Fast),
            ipv6: rutter_lpm::Table::new(Profile::Fast),
        }
    }
}

impl Table {
    /// Adds a set; its index is for [`Table::insert`].
    pub fn add_set(&mut self, set: Set) -> u32 {
        self.sets.push(set);
        (self.sets.len() - 1) as u32
    }

    /// Adds a route of a set. A later route replaces an earlier one of the same prefix.
    pub fn insert(&mut self, prefix: Prefix, set: u32) {
        let index = self.routes.len() as u32;
        let old = match prefix {
            Prefix::V4(prefix) => self.ipv4.insert(prefix, index),
            Prefix::V6(prefix) => self.ipv6.insert(prefix, index),
        };
        if let Some(old) = old {
            self.routes[old as usize].set = set;
            match prefix {
                Prefix::V4(prefix) => self.ipv4.insert(prefix, old),
                Prefix::V6(prefix) => self.ipv6.insert(prefix, old),
            };
            return;
        }
        self.routes.push(Route {
            prefix,
            set,
            rov: None,
        });
    }

    /// Validates the origin of every route (RFC 6811).
    pub fn validate(&mut self, vrps: &Vrps) {
        for route in &mut self.routes {
            let origin = self.sets[route.set as usize].origin_as;
            route.rov = Some(vrps.validate(route.prefix, origin));
        }
    }

    /// The index of the route with the longest prefix that contains the address. IPv4-mapped addresses
    /// (`::ffff:192.0.2.1`) are looked up as IPv4.
    #[inline]
    pub fn find(&self, addr: IpAddr) -> Option<u32> {
        match addr.to_canonical() {
            IpAddr::V4(addr) => self.ipv4.lookup(addr),
            IpAddr::V6(addr) => self.ipv6.lookup(addr),
        }
    }

    /// [`Self::find`] for several addresses, in their order. It is faster than single look-ups if the table is larger
    /// than the caches.
    pub fn find_many(&self, addrs: &[IpAddr], found: &mut Vec<Option<u32>>) {
        let (mut ipv4, mut ipv6) = (Vec::with_capacity(addrs.len()), Vec::new());
        for addr in addrs {
            match addr.to_canonical() {
                IpAddr::V4(addr) => ipv4.push(addr),
                IpAddr::V6(addr) => ipv6.push(addr),
            }
        }
        let mut of_ipv4 = vec![None; ipv4.len()];
        let mut of_ipv6 = vec![None; ipv6.len()];
        self.ipv4.lookup_many(&ipv4, &mut of_ipv4);
        self.ipv6.lookup_many(&ipv6, &mut of_ipv6);
        let (mut of_ipv4, mut of_ipv6) = (of_ipv4.into_iter(), of_ipv6.into_iter());
        found.clear();
        found.extend(addrs.iter().map(|addr| match addr.to_canonical() {
            IpAddr::V4(_) => of_ipv4.next().flatten(),
            IpAddr::V6(_) => of_ipv6.next().flatten(),
        }));
    }

    /// The route with the longest prefix that contains the address.
    pub fn lookup(&self, addr: IpAddr) -> Option<(&Route, &Set)> {
        let route = &self.routes[self.find(addr)? as usize];
        Some((route, self.set(route)))
    }

    /// All routes, in the order in which they were added.
    pub fn routes(&self) -> &[Route] {
        &self.routes
    }

    /// All sets.
    pub fn sets(&self) -> &[Set] {
        &self.sets
    }

    /// The set of a route.
    pub fn set(&self, route: &Route) -> &Set {
        &self.sets[route.set as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn set(origin_as: u32) -> Set {
        Set {
            peer: RouteSource {
                name: "peer".into(),
                address: [192, 0, 2, 1].into(),
                asn: 64_500,
            },
            origin_as: Some(origin_as),
            attributes: AttributesRow::default(),
        }
    }

    #[test]
    fn the_longest_prefix_and_the_latest_route_count() {
        let mut table = Table::default();
        let sets = [1, 2, 3].map(|asn| table.add_set(set(asn)));
        table.insert("10.0.0.0/8".parse().unwrap(), sets[0]);
        table.insert("10.1.0.0/16".parse().unwrap(), sets[1]);
        table.insert("10.1.0.0/16".parse().unwrap(), sets[2]);
        let origin = |addr: &str| {
            let found = table.lookup(addr.parse().unwrap());
            found.and_then(|(_, set)| set.origin_as)
        };
        assert_eq!(origin("10.2.0.1"), Some(1));
        assert_eq!(origin("10.1.0.1"), Some(3));
        assert_eq!(origin("::ffff:10.1.0.1"), Some(3));
        assert_eq!(origin("2001:db8::1"), None);
        assert_eq!(table.routes().len(), 2);
        table.insert("2001:db8::/32".parse().unwrap(), sets[0]);
        let addrs = [
            "10.2.0.1",
            "2001:db8::1",
            "::ffff:10.1.0.1",
            "192.0.2.1",
            "::1",
        ];
        let addrs = addrs.map(|addr| addr.parse().unwrap());
        let mut found = vec![Some(7)];
        table.find_many(&addrs, &mut found);
        assert_eq!(found, addrs.map(|addr| table.find(addr)));
        assert_eq!(found.iter().flatten().count(), 3);
    }
}
