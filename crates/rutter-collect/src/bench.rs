//! `rutter-collect bench-sinks`: how fast rows leave the collector.

use rutter_sinks::bench::{self, Settings};

use crate::cli::BenchSinksArgs;
use crate::failure::Failure;

/// Measures and prints each figure when it is known.
pub(crate) fn sinks(args: &BenchSinksArgs) -> Result<(), Failure> {
    let settings = Settings {
        prefixes: args.prefixes.clone(),
        most: args.most.unwrap_or(0),
        feeds: args.feeds,
        rounds: args.rounds.max(1),
        postgres: args.postgres.clone(),
        mariadb: args.mariadb.clone(),
        singles: args.singles,
        folder: args.folder.clone(),
    };
    bench::run(&settings, &mut |line| println!("{line}")).map_err(Failure::text)
}
