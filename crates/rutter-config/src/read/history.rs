//! `[history]`.

use super::Root;
use crate::config::History;
use crate::forms;
use crate::item::{Item, Section};
use crate::{PathRole, schema};

pub(super) fn history(root: &Root<'_>) -> Option<History> {
    root.section("history", &[schema::HISTORY], |section| {
        let path = section.require("path", "\"/var/lib/rutter/history\"")?;
        let mut history = History {
            path: path.named(PathRole::Folder)?,
            rotate_s: 300,
            rotate_rows: 10_000_000,
            snapshot_every_s: 3600,
            retention_s: 0,
            compression: 3,
        };
        section.set("rotate", &mut history.rotate_s, |i| {
            forms::seconds(i, 1, 3600)
        });
        section.set("rotate-rows", &mut history.rotate_rows, |i| {
            i.int(1_000..=1_000_000_000)
        });
        section.set("snapshot-every", &mut history.snapshot_every_s, |i| {
            forms::seconds(i, 10, 7 * 86_400)
        });
        section.set("retention", &mut history.retention_s, retention);
        section.set("compression", &mut history.compression, |i| {
            i.int(0..=22).map(|n| n as i32)
        });
        check_snapshots(&section, &history);
        Some(history)
    })
}

/// Reads the retention time. Files are removed by whole hours.
fn retention(item: &Item<'_>) -> Option<u64> {
    let kept = forms::seconds(item, 0, 100 * 366 * 86_400)?;
    if (1..HOUR).contains(&kept) {
        item.error(
            format!("{kept} seconds are too short: files are removed by whole hours"),
            "write \"1h\" or more, or 0 to keep everything",
        );
        return None;
    }
    Some(kept)
}

/// Reports snapshots that are rarer than the retention time, because past tables start from a snapshot.
fn check_snapshots(section: &Section<'_>, history: &History) {
    let (every, kept) = (history.snapshot_every_s, history.retention_s);
    if (1..every).contains(&kept)
        && let Some(item) = section.get("snapshot-every")
    {
        item.error(
            format!("a snapshot every {every} seconds is too rare: files are removed after {kept} seconds"),
            "write a shorter `snapshot-every`, or a longer `retention`",
        );
    }
}

const HOUR: u64 = 3600;
