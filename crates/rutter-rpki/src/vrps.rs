//! An immutable set of VRPs, and origin validation (RFC 6811).

use rutter_lpm::Place;
use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

use crate::family_vrps::FamilyVrps;
use crate::{InvalidVrp, Rov, RpkiData, Vrp, VrpsBuilder};

/// An immutable set of VRPs. Equal VRPs count once.
#[derive(PartialEq, Debug)]
pub struct Vrps {
    ipv4: FamilyVrps<Ipv4Prefix>,
    ipv6: FamilyVrps<Ipv6Prefix>,
}

impl Vrps {
    pub(crate) fn new(ipv4: FamilyVrps<Ipv4Prefix>, ipv6: FamilyVrps<Ipv6Prefix>) -> Self {
        Vrps { ipv4, ipv6 }
    }

    /// Parses a JSON document. [`RpkiData::parse`] also reads ASPAs.
    pub fn parse(text: &[u8]) -> Result<Self, serde_json::Error> {
        let data = RpkiData::parse(text)?;
        data.vrps
            .ok_or_else(|| serde::de::Error::missing_field("roas"))
    }

    /// Builds a set from VRPs in any order.
    pub fn from_vrps(vrps: impl IntoIterator<Item = Vrp>) -> Result<Self, InvalidVrp> {
        let mut builder = VrpsBuilder::new();
        for vrp in vrps {
            builder.add(vrp)?;
        }
        Ok(builder.build())
    }

    /// Returns the number of VRPs.
    pub fn len(&self) -> usize {
        self.ipv4.len() + self.ipv6.len()
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory of the set in bytes: about 22 bytes for an IPv4 VRP and 54 for an IPv6 VRP.
    pub fn memory(&self) -> usize {
        self.ipv4.memory() + self.ipv6.memory()
    }

    /// All VRPs, IPv4 first, in order of prefix, origin and maximum length.
    pub fn iter(&self) -> impl Iterator<Item = Vrp> {
        self.ipv4.iter().chain(self.ipv6.iter())
    }

    /// The VRPs that cover a prefix, those of the longest prefix first.
    pub fn covering(&self, prefix: Prefix) -> impl Iterator<Item = Vrp> {
        let (v4, v6) = match prefix {
            Prefix::V4(p) => (Some(self.ipv4.covering(p)), None),
            Prefix::V6(p) => (None, Some(self.ipv6.covering(p))),
        };
        v4.into_iter().flatten().chain(v6.into_iter().flatten())
    }

    /// The prefixes whose VRPs differ between two sets. Only routes that one of them covers can have another state.
    pub fn changed_prefixes(old: &Vrps, new: &Vrps) -> Vec<Prefix> {
        let mut out = Vec::new();
        FamilyVrps::changed(&old.ipv4, &new.ipv4, |prefix| out.push(prefix.into()));
        FamilyVrps::changed(&old.ipv6, &new.ipv6, |prefix| out.push(prefix.into()));
        out
    }

    /// Validates a route origin (RFC 6811 §2), without allocation. A route without an origin (an empty path, or one that
    /// ends in a set) is never valid.
    pub fn validate(&self, prefix: Prefix, origin: Option<u32>) -> Rov {
        self.validate_at(self.locate(prefix), prefix, origin)
    }

    /// As [`Self::validate`] for a prefix whose place is known.
    #[inline]
    pub fn validate_at(&self, place: Place, prefix: Prefix, origin: Option<u32>) -> Rov {
        match prefix {
            Prefix::V4(p) => self.ipv4.validate(place, p, origin),
            Prefix::V6(p) => self.ipv6.validate(place, p, origin),
        }
    }

    /// Finds the longest prefix with VRPs that covers `prefix`. All routes of the prefix share this place.
    #[inline]
    pub fn locate(&self, prefix: Prefix) -> Place {
        match prefix {
            Prefix::V4(p) => self.ipv4.locate(p),
            Prefix::V6(p) => self.ipv6.locate(p),
        }
    }

    /// [`Self::locate`] for many prefixes side by side, so that their cache misses overlap.
    pub fn locate_all_ipv4(&self, prefixes: &[Ipv4Prefix], places: &mut [Place]) {
        self.ipv4.locate_all(prefixes, places);
    }

    /// [`Self::locate`] for many prefixes side by side, so that their cache misses overlap.
    pub fn locate_all_ipv6(&self, prefixes: &[Ipv6Prefix], places: &mut [Place]) {
        self.ipv6.locate_all(prefixes, places);
    }
}
