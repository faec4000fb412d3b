//! `[mrt]`: archives in MRT format.

use std::path::PathBuf;

use crate::PathRole;
use crate::key_rows::section;
use crate::toml_values::Item;
use crate::value_forms::seconds;

section! {
    /// Archives in MRT format (RFC 6396). Without this section no files are written.
    pub struct Mrt = "[mrt]" {
        /// The folder of the files.
        "directory": "path", default "required", reload AtOnce
            => directory: PathBuf, require "\"/var/lib/rutter/mrt\"" |i: &Item<'_>| i.named(PathRole::Folder);
        /// A dump of the whole table (TABLE_DUMP_V2) this often; `0`: none.
        "table-interval": "duration", default "`\"2h\"`", reload AtOnce
            => table_interval_s: u32 = 7200, read interval;
        /// A new file of updates (BGP4MP_ET) this often; `0`: none.
        "updates-interval": "duration", default "`\"5m\"`", reload AtOnce
            => updates_interval_s: u32 = 300, read interval;
        /// The compression of files.
        "compress": "`\"gzip\"`, `\"none\"`", default "`\"gzip\"`", reload AtOnce
            => gzip: bool = true, read |i| i.word(&[("gzip", true), ("none", false)]);
    }
}

fn interval(item: &Item<'_>) -> Option<u32> {
    seconds(item, 0, 31_536_000).map(|s| s as u32)
}
