//! `[history]`: the archive of Parquet files.

use std::path::PathBuf;

use crate::PathRole;
use crate::key_rows::section;
use crate::toml_values::{Item, Section};
use crate::value_forms::seconds;

section! {
    /// Events and snapshots of the table as Parquet files: see docs/history.md. `rutter collect` only.
    pub struct History = "[history]" {
        /// The folder of the archive.
        "path": "path", default "required", reload NextCollect
            => path: PathBuf, require "\"/var/lib/rutter/history\"" |i: &Item<'_>| i.named(PathRole::Folder);
        /// A file of events ends after this time, or at the end of its hour. A collector that is killed loses the events of the current file, and reports it on the next start.
        "rotate": "duration", default "`\"5m\"`", reload NextCollect
            => rotate_s: u64 = 300, read |i| seconds(i, 1, 3600);
        /// A file of events also ends after this number of rows.
        "rotate-rows": "number", default "10000000", reload NextCollect
            => rotate_rows: u64 = 10_000_000, read |i| i.int(1_000..=1_000_000_000);
        /// Time between snapshots of the table. A past table is computed from a snapshot and the events after it.
        "snapshot-every": "duration", default "`\"1h\"`", reload NextCollect
            => snapshot_every_s: u64 = 3600, read |i| seconds(i, 10, 7 * 86_400);
        /// Files are removed this long after the end of their hour. At least an hour, and at least `snapshot-every`.
        "retention": "duration", default "`0`: unlimited", reload NextCollect
            => retention_s: u64 = 0, read retention;
        /// The ZSTD level, 1 to 22; 0: no compression.
        "compression": "number", default "3", reload NextCollect
            => compression: i32 = 3, read |i| i.int(0..=22).map(|n| n as i32);
    }
}

impl History {
    /// Reports snapshots that are rarer than the retention time, because past tables start from a snapshot.
    pub(crate) fn check(&self, section: &Section<'_>) {
        let (every, kept) = (self.snapshot_every_s, self.retention_s);
        if (1..every).contains(&kept)
            && let Some(item) = section.get("snapshot-every")
        {
            item.error(
                format!("a snapshot every {every} seconds is too rare: files are removed after {kept} seconds"),
                "write a shorter `snapshot-every`, or a longer `retention`",
            );
        }
    }
}

/// Reads the retention time. Files are removed by whole hours.
fn retention(item: &Item<'_>) -> Option<u64> {
    let kept = seconds(item, 0, 100 * 366 * 86_400)?;
    if (1..HOUR).contains(&kept) {
        item.error(
            format!("{kept} seconds are too short: files are removed by whole hours"),
            "write \"1h\" or more, or 0 to keep everything",
        );
        return None;
    }
    Some(kept)
}

const HOUR: u64 = 3600;
