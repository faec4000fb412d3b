//! `[history]`.

use super::Root;
use crate::config::History;
use crate::forms;
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
        section.set("retention", &mut history.retention_s, |i| {
            forms::seconds(i, 0, 100 * 366 * 86_400)
        });
        section.set("compression", &mut history.compression, |i| {
            i.int(0..=22).map(|n| n as i32)
        });
        Some(history)
    })
}
