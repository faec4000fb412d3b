//! Where the destinations come from.

use rutter_load::workload::read_prefix_file;
use rutter_net::Prefix;

use crate::cli::DemoArgs;
use crate::failure::Failure;
use crate::units::grouped;

/// The destinations of a file; `None` where they are to be generated.
pub(super) fn destinations(args: &DemoArgs) -> Result<Option<Vec<Prefix>>, Failure> {
    if args.mrt.is_some() {
        return Err(Failure::text("--mrt is not in this build yet: give --prefixes"));
    }
    let Some(path) = &args.prefixes else {
        return Ok(None);
    };
    let found = read_prefix_file(path, false)
        .map_err(|e| Failure::text(format!("{}: {e}", path.display())))?;
    if found.prefixes.is_empty() {
        let path = path.display();
        return Err(Failure::text(format!("{path}: no prefix that an exchange accepts")));
    }
    if found.dropped > 0 {
        let dropped = grouped(found.dropped as u64);
        eprintln!("left out {dropped} prefixes that an exchange rejects (length, bogons)");
    }
    Ok(Some(found.prefixes))
}
