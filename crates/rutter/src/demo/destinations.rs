//! The destinations of the demo.

use rutter_bench::workload::{read_mrt_prefixes, read_prefix_file};
use rutter_net::Prefix;

use crate::cli::DemoArgs;
use crate::failure::Failure;
use crate::units::grouped;

/// Reads the destinations from a file; `None` if they are generated. A list is used completely, and the checks of the
/// route server allow it. From a dump only prefixes that an exchange accepts are used.
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
            "{path}: it has no prefix that an exchange accepts"
        )));
    }
    if found.dropped > 0 {
        let dropped = grouped(found.dropped as u64);
        rutter_daemon::eprint_line(format_args!(
            "skipped {dropped} prefixes that an exchange rejects (length, bogons)"
        ));
    }
    Ok(Some(found.prefixes))
}
