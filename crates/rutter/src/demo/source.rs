//! Where the destinations come from.

use std::io;
use std::path::Path;

use rutter_load::workload::read_prefix_file;
use rutter_net::Prefix;

use super::mrt;
use crate::cli::DemoArgs;
use crate::failure::Failure;
use crate::units::grouped;

/// The destinations of a file; `None` where they are to be generated.
pub(super) fn destinations(args: &DemoArgs) -> Result<Option<Vec<Prefix>>, Failure> {
    match (&args.mrt, &args.prefixes) {
        (Some(path), _) => some(path, mrt::read_destinations(path)),
        (None, Some(path)) => some(path, list(path)),
        (None, None) => Ok(None),
    }
}

fn list(path: &Path) -> io::Result<Vec<Prefix>> {
    let found = read_prefix_file(path, false)?;
    if found.dropped > 0 {
        let dropped = grouped(found.dropped as u64);
        eprintln!("left out {dropped} prefixes that an exchange rejects (length, bogons)");
    }
    Ok(found.prefixes)
}

fn some(path: &Path, found: io::Result<Vec<Prefix>>) -> Result<Option<Vec<Prefix>>, Failure> {
    let path = path.display();
    match found {
        Ok(prefixes) if prefixes.is_empty() => Err(Failure::text(format!(
            "{path}: no prefix in it that an exchange accepts"
        ))),
        Ok(prefixes) => Ok(Some(prefixes)),
        Err(error) => Err(Failure::text(format!("{path}: {error}"))),
    }
}
