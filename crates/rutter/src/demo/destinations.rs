//! Where the destinations come from.

use rutter_bench::workload::{read_mrt_prefixes, read_prefix_file};
use rutter_net::Prefix;

use crate::cli::DemoArgs;
use crate::failure::Failure;
use crate::units::grouped;

/// The destinations of a file; `None` where they are to be generated. A list is taken whole, the route server's
/// checks make room for it; of a collector's dump the prefixes that an exchange accepts.
pub(super) fn read(args: &DemoArgs) -> Result<Option<Vec<Prefix>>, Failure> {
    let (path, found) = match (&args.mrt, &args.prefixes) {
        (Some(path), _) => (path, read_mrt_prefixes(path, false)),
        (None, Some(path)) => (path, read_prefix_file(path, true)),
        (None, None) => return Ok(None),
    };
    // The error names the file.
    let found = found.map_err(|error| Failure::text(error.to_string()))?;
    if found.prefixes.is_empty() {
        let path = path.display();
        return Err(Failure::text(format!(
            "{path}: no prefix in it that an exchange accepts"
        )));
    }
    if found.dropped > 0 {
        let dropped = grouped(found.dropped as u64);
        rutter_daemon::eprint_line(format_args!(
            "left out {dropped} prefixes that an exchange rejects (length, bogons)"
        ));
    }
    Ok(Some(found.prefixes))
}
