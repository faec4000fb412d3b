//! The records of a cache: a complete set of VRPs and ASPAs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};
use rutter_rpki::Vrp;

use super::intervals::RtrIntervals;

/// A VRP whose lengths are in range, in little memory: a cache has half a million.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VrpRecord {
    /// IPv4.
    V4(VrpRecord4),
    /// IPv6.
    V6(VrpRecord6),
}

/// An IPv4 VRP.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VrpRecord4 {
    bits: u32,
    len: u8,
    max_len: u8,
    asn: u32,
}

/// An IPv6 VRP.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VrpRecord6 {
    bits: [u64; 2],
    len: u8,
    max_len: u8,
    asn: u32,
}

impl VrpRecord {
    /// A VRP, or `None` if `max_len` is below the prefix length or above the family's.
    pub fn new(prefix: Prefix, max_len: u8, asn: u32) -> Option<Self> {
        let len = prefix.len();
        if !(len..=prefix.max_len()).contains(&max_len) {
            return None;
        }
        Some(match prefix {
            Prefix::V4(prefix) => VrpRecord::V4(VrpRecord4 {
                bits: prefix.bits(),
                len,
                max_len,
                asn,
            }),
            Prefix::V6(prefix) => VrpRecord::V6(VrpRecord6 {
                bits: [(prefix.bits() >> 64) as u64, prefix.bits() as u64],
                len,
                max_len,
                asn,
            }),
        })
    }

    /// Returns whether the prefix is an IPv4 prefix.
    pub fn is_ipv4(&self) -> bool {
        matches!(self, VrpRecord::V4(_))
    }

    /// The prefix.
    pub fn prefix(&self) -> Prefix {
        match self {
            VrpRecord::V4(vrp) => {
                Prefix::V4(Ipv4Prefix::new(vrp.bits, vrp.len).expect("a checked length"))
            }
            VrpRecord::V6(vrp) => {
                let bits = u128::from(vrp.bits[0]) << 64 | u128::from(vrp.bits[1]);
                Prefix::V6(Ipv6Prefix::new(bits, vrp.len).expect("a checked length"))
            }
        }
    }

    /// The longest prefix length that the AS may announce.
    pub fn max_len(&self) -> u8 {
        match self {
            VrpRecord::V4(vrp) => vrp.max_len,
            VrpRecord::V6(vrp) => vrp.max_len,
        }
    }

    /// The origin AS.
    pub fn asn(&self) -> u32 {
        match self {
            VrpRecord::V4(vrp) => vrp.asn,
            VrpRecord::V6(vrp) => vrp.asn,
        }
    }

    /// The VRP as origin validation uses it.
    pub fn vrp(&self) -> Vrp {
        Vrp {
            prefix: self.prefix(),
            max_len: self.max_len(),
            asn: self.asn(),
        }
    }
}

impl fmt::Display for VrpRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.vrp().fmt(f)
    }
}

impl fmt::Debug for VrpRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The providers of each customer AS, sorted.
pub type AspaRecords = BTreeMap<u32, Arc<[u32]>>;

/// A complete set of records, without duplicates.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct RtrRecords {
    pub(super) ipv4: Vec<VrpRecord4>,
    pub(super) ipv6: Vec<VrpRecord6>,
    pub(super) aspas: Arc<AspaRecords>,
}

impl RtrRecords {
    /// The number of VRPs.
    pub fn vrp_count(&self) -> usize {
        self.ipv4.len() + self.ipv6.len()
    }

    /// The number of ASPAs.
    pub fn aspa_count(&self) -> usize {
        self.aspas.len()
    }

    /// Returns whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.vrp_count() + self.aspa_count() == 0
    }

    /// The VRPs in the order of their prefixes.
    pub fn vrps(&self) -> impl Iterator<Item = VrpRecord> {
        let ipv4 = self.ipv4.iter().copied().map(VrpRecord::V4);
        ipv4.chain(self.ipv6.iter().copied().map(VrpRecord::V6))
    }

    /// The ASPAs.
    pub fn aspas(&self) -> &Arc<AspaRecords> {
        &self.aspas
    }

    /// The number of records that the limits count: VRPs, ASPAs and providers.
    pub(super) fn counted(&self) -> usize {
        let providers: usize = self.aspas.values().map(|list| list.len()).sum();
        self.vrp_count() + self.aspa_count() + providers
    }
}

impl fmt::Debug for RtrRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} VRPs, {} ASPAs", self.vrp_count(), self.aspa_count())
    }
}

/// The records of a cache as of its last End of Data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RtrData {
    /// The records.
    pub records: Arc<RtrRecords>,
    /// The version of the protocol that delivered them.
    pub version: u8,
    /// The session of the cache.
    pub session: u16,
    /// The serial number.
    pub serial: u32,
    /// The time of the last End of Data.
    pub received_at: Instant,
    /// The intervals in use.
    pub intervals: RtrIntervals,
}
