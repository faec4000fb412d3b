//! What the process's memory is for, and its return to the kernel when the table has come to rest.

use std::fs;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rutter_rib::MemoryRow;

use crate::allocator;
use crate::mailbox::Command;
use crate::privileges;
use crate::shared::Shared;

/// The table has come to rest when it changed less than this since the last look.
const QUIET: u64 = 1_000;
/// After this many changes it is worth looking for free pages.
const MANY: u64 = 20_000;
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Gives free memory back to the kernel each time the table has come to rest after much change: freed pages lie
/// between used ones, where the allocator does not look by itself. Ends when the sender of `end` is dropped.
pub(crate) fn keep_small(shared: &Arc<Shared>, end: &Receiver<()>) {
    privileges::yield_to_routing();
    let (mut seen, mut since, mut trim_due) = (0, 0, false);
    while end.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        let changes = shared.rib.changes();
        let new = changes - seen;
        seen = changes;
        since += new;
        if new < QUIET && since > MANY {
            since = 0;
            shared.rib.release_buffers();
            for thread in 0..shared.threads.len() {
                // A thread whose box is full is not quiet: then its buffers are in use.
                let _ = shared.post(thread, Command::ReleaseBuffers);
            }
            trim_due = true;
        } else if std::mem::take(&mut trim_due) {
            allocator::trim();
        }
    }
}

/// What the resident memory is for: the table's own rows, then everything else, so that the sum is what the kernel
/// says.
pub(crate) fn rows(shared: &Shared) -> Vec<MemoryRow> {
    let mut rows = shared.rib.memory();
    let known: u64 = rows.iter().map(|row| row.bytes).sum();
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let octets = |field| kib(&status, field).map(|kib| kib * 1_024);
    let mut add = |what, bytes| {
        rows.push(MemoryRow {
            what,
            count: 0,
            bytes,
        });
    };
    if let (Some(in_use), Some(resident)) = (allocator::in_use(), octets("RssAnon:")) {
        add(
            "sessions, buffers and the rest",
            in_use.saturating_sub(known),
        );
        let held = resident.saturating_sub(in_use.max(known));
        add("free, held by the allocator; stacks", held);
    }
    if let Some(mapped) = octets("RssFile:") {
        add("program and libraries", mapped);
    }
    rows
}

/// Resident memory of this process.
pub(crate) fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    Some(kib(&status, "VmRSS:")? * 1_024)
}

fn kib(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.split_whitespace().next()?.parse().ok()
}
