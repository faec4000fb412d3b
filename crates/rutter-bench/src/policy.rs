//! The changes that the benchmark makes to a daemon's policy.

use crate::registry::Edition;

/// A policy for all clients of the daemon under test; the default accepts and announces everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// On import: routes with more AS numbers in their path are rejected.
    pub longest_path: u8,
    /// On export: routes with a community of [`WITHHELD`] are withheld from all clients.
    pub withholds: bool,
    /// On import: the routes that this edition of the registry rejects are rejected.
    pub registry: Option<Edition>,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            longest_path: u8::MAX,
            withholds: false,
            registry: None,
        }
    }
}

/// First half of the communities that all networks of a workload use; the second half is below [`TAGS`].
pub const TAG: u16 = 63_999;
/// The number of these communities. About one route in 35 carries one.
pub const TAGS: u16 = 10;
/// Second halves of the communities that the export policy treats as "announce to no client": about one route in 90
/// carries one.
pub const WITHHELD: std::ops::Range<u16> = 0..4;

/// Returns whether a route with these communities is withheld by a policy that knows [`WITHHELD`].
pub fn is_withheld(communities: &[u32]) -> bool {
    let means_nobody = |community: &u32| {
        community >> 16 == u32::from(TAG) && WITHHELD.contains(&(*community as u16))
    };
    communities.iter().any(means_nobody)
}
