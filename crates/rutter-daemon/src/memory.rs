//! The use of the process's memory, and the return of free memory to the kernel after bursts of updates.

use std::fs;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rutter_rib::MemoryRow;

use crate::allocator;
use crate::lost_marks::LostMarks;
use crate::mailbox::Command;
use crate::privileges;
use crate::shared::{Shared, unix_us};

/// The table is quiet if it had fewer changes than this since the last check.
const QUIET: u64 = 1_000;
/// The number of changes after which a search for free pages is worth its cost.
const MANY: u64 = 20_000;
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Returns free memory to the kernel each time the table is quiet after many changes. Freed pages lie between used ones,
/// where the allocator does not search of its own accord. Ends when the sender of `end` is dropped.
pub(crate) fn trim_when_quiet(shared: &Arc<Shared>, end: &Receiver<()>) {
    privileges::yield_to_routing();
    let (mut seen, mut since, mut trim_due) = (0, 0, false);
    let mut lost_marks = LostMarks::default();
    while end.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        // The threads look as they receive. Routes also come from elsewhere: BMP, MRT files.
        let limits = &shared.memory_limits;
        limits.check(shared, shared.clock.now_ms());
        // BMP stations and streams of changes may all have gone.
        rutter_api::end_unread_changes(&shared.rib, unix_us());
        let changes = shared.rib.changes();
        let new = changes - seen;
        seen = changes;
        since += new;
        lost_marks.check(shared, Instant::now(), new < QUIET);
        if new < QUIET && since > MANY {
            since = 0;
            shared.rib.release_buffers();
            for thread in 0..shared.threads.len() {
                // A thread whose mailbox is full is busy and needs its buffers.
                let _ = shared.post(thread, Command::ReleaseBuffers);
            }
            trim_due = true;
        } else if std::mem::take(&mut trim_due) {
            allocator::trim();
        }
    }
}

/// The use of the resident memory: the rows of the table, then all the rest. The sum is the kernel's figure.
pub(crate) fn rows(shared: &Shared) -> Vec<MemoryRow> {
    let mut rows = shared.rib.memory();
    let known: u64 = rows.iter().map(|row| row.bytes).sum();
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let bytes = |field| kib(&status, field).map(|kib| kib * 1_024);
    let mut add = |what, bytes| {
        rows.push(MemoryRow {
            what,
            count: 0,
            bytes,
        });
    };
    if let (Some(in_use), Some(resident)) = (allocator::in_use(), bytes("RssAnon:")) {
        add(
            "sessions, buffers and the rest",
            in_use.saturating_sub(known),
        );
        let held = resident.saturating_sub(in_use.max(known));
        add("free, held by the allocator; stacks", held);
    }
    if let Some(mapped) = bytes("RssFile:") {
        add("program and libraries", mapped);
    }
    rows
}

/// The resident memory of this process, bytes.
pub(crate) fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    Some(kib(&status, "VmRSS:")? * 1_024)
}

fn kib(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.split_whitespace().next()?.parse().ok()
}
