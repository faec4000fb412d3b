//! The benchmarks `rutter-collect bench-history`, `bench-sinks` and `bench-sql`.

mod feeds;
mod history;
pub(crate) mod sinks;
pub(crate) mod sql;

use crate::cli::{BenchHistoryArgs, BenchSinksArgs};
use crate::failure::Failure;
use sinks::Place;

/// Measures the sinks. Prints each figure as soon as it is known.
pub(crate) fn sinks(args: &BenchSinksArgs) -> Result<(), Failure> {
    // Without a named database, both are started here.
    let (postgres, mariadb) = match (&args.postgres, &args.mariadb) {
        (None, None) => (Some(Place::OwnServer), Some(Place::OwnServer)),
        (postgres, mariadb) => (postgres.clone(), mariadb.clone()),
    };
    let settings = sinks::Settings {
        prefixes: args.prefixes.clone(),
        most: args.most.unwrap_or(0),
        feeds: args.feeds,
        rounds: args.rounds.max(1),
        postgres,
        mariadb,
        insert_single_rows: args.singles,
        folder: args.folder.clone(),
    };
    sinks::run(&settings, &mut |line| println!("{line}")).map_err(Failure::text)
}

/// Measures the archive. Prints each figure as soon as it is known.
pub(crate) fn history(args: &BenchHistoryArgs) -> Result<(), Failure> {
    let settings = history::Settings {
        prefixes: args.prefixes.clone(),
        most: args.most.unwrap_or(0),
        feeds: args.feeds.max(1),
        updates: args.updates,
        compression: args.compression,
        folder: args.folder.clone(),
    };
    history::run(&settings, &mut |line| println!("{line}")).map_err(Failure::text)
}
