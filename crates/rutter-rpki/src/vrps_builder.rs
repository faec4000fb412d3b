//! Collects VRPs for a set.

use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

use crate::family_vrps::{FamilyVrps, RawVrp};
use crate::{InvalidVrp, Vrp, Vrps};

/// Collects VRPs in any order and builds an immutable set. Equal VRPs count once.
///
/// ```
/// use rutter_rpki::{Vrp, VrpsBuilder};
///
/// let mut builder = VrpsBuilder::new();
/// let vrp = Vrp { prefix: "192.0.2.0/24".parse()?, max_len: 24, asn: 64500 };
/// builder.add(vrp)?;
/// builder.add(vrp)?;
/// assert_eq!(builder.build().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct VrpsBuilder {
    ipv4: Vec<RawVrp<Ipv4Prefix>>,
    ipv6: Vec<RawVrp<Ipv6Prefix>>,
}

impl VrpsBuilder {
    /// A builder without VRPs.
    pub fn new() -> Self {
        VrpsBuilder::default()
    }

    /// Adds a VRP. The error names the prefix and the lengths that are possible.
    pub fn add(&mut self, vrp: Vrp) -> Result<(), InvalidVrp> {
        let Vrp {
            prefix,
            max_len,
            asn,
        } = vrp.check()?;
        match prefix {
            Prefix::V4(prefix) => self.ipv4.push((prefix, asn, max_len)),
            Prefix::V6(prefix) => self.ipv6.push((prefix, asn, max_len)),
        }
        Ok(())
    }

    /// Adds all VRPs of a set.
    pub fn add_all(&mut self, vrps: &Vrps) {
        for vrp in vrps.iter() {
            let added = self.add(vrp);
            debug_assert!(added.is_ok(), "a set has no invalid VRP");
        }
    }

    /// Builds the set.
    pub fn build(self) -> Vrps {
        Vrps::new(FamilyVrps::build(self.ipv4), FamilyVrps::build(self.ipv6))
    }
}
