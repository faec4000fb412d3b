//! The prefixes that the speakers of the demonstration announce.

use std::path::Path;

use rutter_bench::rng::Rng;
use rutter_bench::workload::{read_prefix_file, synthetic_table};
use rutter_net::{Family, PerFamily, Prefix};

use crate::cli::CollectArgs;
use crate::failure::Failure;

/// All prefixes, by family.
pub(crate) struct Table(PerFamily<Vec<Prefix>>);

impl Table {
    /// Returns the table that the arguments ask for.
    pub(crate) fn of(args: &CollectArgs) -> Result<Self, Failure> {
        match &args.prefixes {
            Some(path) => Self::read(path),
            None => {
                let prefixes = synthetic_table(args.destinations as usize, &Rng::new(1));
                Ok(Self::new(&prefixes))
            }
        }
    }

    /// Reads the prefixes of a list.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        // The error names the file.
        Ok(Self::new(&read_prefix_file(path, true)?.prefixes))
    }

    fn new(prefixes: &[Prefix]) -> Self {
        let of = |family: Family| {
            let members = prefixes.iter().filter(|p| p.family() == family);
            members.copied().collect()
        };
        Table(PerFamily::from_fn(of))
    }

    /// Returns the prefixes that one speaker announces: IPv4 for even numbers, IPv6 for odd numbers.
    pub(crate) fn of_feed(&self, number: u16) -> &[Prefix] {
        &self.0[Family::ALL[usize::from(number % 2)]]
    }

    /// Returns the number of routes that `feeds` speakers announce.
    pub(crate) fn routes(&self, feeds: u16) -> u64 {
        (0..feeds)
            .map(|number| self.of_feed(number).len() as u64)
            .sum()
    }
}
