//! `[sources]`: the copies of outside data on disk.

use std::path::PathBuf;

use crate::PathRole;
use crate::key_rows::section;

section! {
    /// Outside data of `[rpki]` and `[irr]`. Rutter keeps the last good copy of each source, so that a restart does not depend on them.
    pub struct Sources = "[sources]" {
        /// The folder of the copies.
        "state": "path", default "`\"/var/lib/rutter/sources\"`", reload NextStart
            => state: PathBuf = "/var/lib/rutter/sources".into(), read |i| i.named(PathRole::Folder);
    }
}

impl Default for Sources {
    fn default() -> Self {
        Sources::new()
    }
}
