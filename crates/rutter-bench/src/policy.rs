//! What the benchmark changes of a daemon's policy while it runs.

/// A policy for all clients of the daemon under test; the default accepts and announces everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// On import: routes with more AS numbers in their path are rejected from everybody.
    pub longest_path: u8,
    /// On export: routes with one of [`WITHHELD`] go to nobody.
    pub withholds: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            longest_path: u8::MAX,
            withholds: false,
        }
    }
}

/// First half of the communities on which all networks of a workload agree; the second half is below [`TAGS`].
pub const TAG: u16 = 63_999;
/// How many of them there are. About one route in 35 carries one.
pub const TAGS: u16 = 10;
/// Second halves of those that mean "to nobody" once the policy knows them: about one route in 90 carries one.
pub const WITHHELD: std::ops::Range<u16> = 0..4;

/// Whether a route with these communities is withheld by a policy that knows [`WITHHELD`].
pub fn is_withheld(communities: &[u32]) -> bool {
    let means_nobody = |community: &u32| {
        community >> 16 == u32::from(TAG) && WITHHELD.contains(&(*community as u16))
    };
    communities.iter().any(means_nobody)
}
