//! What the speakers of the demonstration announce.

use rutter_load::rng::Rng;
use rutter_load::workload::{read_prefix_file, synthetic_table};
use rutter_net::{Family, Prefix};

use crate::cli::CollectArgs;
use crate::failure::Failure;

/// All prefixes, by family.
pub(super) struct Table([Vec<Prefix>; 2]);

impl Table {
    /// As asked for.
    pub(super) fn of(args: &CollectArgs) -> Result<Self, Failure> {
        let prefixes = match &args.prefixes {
            // The error names the file.
            Some(path) => read_prefix_file(path, true)?.prefixes,
            None => synthetic_table(args.destinations as usize, &Rng::new(1)),
        };
        let of = |family: Family| {
            let members = prefixes.iter().filter(|p| p.family() == family);
            members.copied().collect()
        };
        Ok(Table(Family::ALL.map(of)))
    }

    /// What one speaker announces: even ones IPv4, odd ones IPv6.
    pub(super) fn of_feed(&self, number: u16) -> &[Prefix] {
        &self.0[usize::from(number % 2)]
    }

    /// Routes of so many speakers.
    pub(super) fn routes(&self, feeds: u16) -> u64 {
        (0..feeds)
            .map(|number| self.of_feed(number).len() as u64)
            .sum()
    }
}
