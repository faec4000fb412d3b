//! `rutter-collect bench-sinks` and `bench-history`: how fast rows leave the collector.

use rutter_sinks::bench::{self, Place, Settings};

use crate::cli::{BenchHistoryArgs, BenchSinksArgs};
use crate::failure::Failure;

/// Measures and prints each figure when it is known.
pub(crate) fn sinks(args: &BenchSinksArgs) -> Result<(), Failure> {
    // Nothing named: everything that can be started here.
    let (postgres, mariadb) = match (&args.postgres, &args.mariadb) {
        (None, None) => (Some(Place::Own), Some(Place::Own)),
        (postgres, mariadb) => (postgres.clone(), mariadb.clone()),
    };
    let settings = Settings {
        prefixes: args.prefixes.clone(),
        most: args.most.unwrap_or(0),
        feeds: args.feeds,
        rounds: args.rounds.max(1),
        postgres,
        mariadb,
        singles: args.singles,
        folder: args.folder.clone(),
    };
    bench::run(&settings, &mut |line| println!("{line}")).map_err(Failure::text)
}

/// Measures and prints each figure when it is known.
pub(crate) fn history(args: &BenchHistoryArgs) -> Result<(), Failure> {
    let settings = rutter_history::bench::Settings {
        prefixes: args.prefixes.clone(),
        most: args.most.unwrap_or(0),
        feeds: args.feeds.max(1),
        updates: args.updates,
        compression: args.compression,
        folder: args.folder.clone(),
    };
    rutter_history::bench::run(&settings, &mut |line| println!("{line}")).map_err(Failure::text)
}
