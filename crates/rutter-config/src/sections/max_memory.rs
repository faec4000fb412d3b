//! `max-memory`: the limit on the memory for the routes of one neighbor.

use crate::key_rows::section;
use crate::toml_values::Item;
use crate::value_forms::{octets, seconds};

section! {
    /// The limit on the memory for the routes of one neighbor.
    #[derive(Copy)]
    pub struct MaxMemory = "max-memory" {
        /// The bytes for the neighbor's attribute sets and routes, rejected ones included. A set that several neighbors announce counts for the last of them. A route counts about 50 bytes with IPv4 and 74 with IPv6, which is the most that it takes.
        "limit": "size, or `\"none\"`", default "`\"1G\"`", reload AtOnce
            => limit: Option<u64> = Some(1 << 30), read limit;
        /// Above the limit: log; reset the session and restart it later; reset it and wait for an operator. The neighbor receives Cease, Out of Resources.
        "action": "`\"warn\"`, `\"restart\"`, `\"shutdown\"`", default "`\"restart\"`", reload AtOnce
            => action: MemoryAction = MemoryAction::Restart, read |i| i.word(ACTIONS);
        /// The time until a `restart`, also of a session that ends because all neighbors together exceed `daemon.max-memory`.
        "restart-after": "duration", default "`\"15m\"`", reload AtOnce
            => restart_after_s: u32 = 900, read |i| seconds(i, 1, 604_800).map(|s| s as u32);
    }
}

/// The action for a neighbor whose routes take too much memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemoryAction {
    /// Write a log line.
    Warn,
    /// Reset the session (RFC 4486 subcode 8), and restart it later.
    Restart,
    /// Reset the session and keep it down until an operator acts.
    Shutdown,
}

const ACTIONS: &[(&str, MemoryAction)] = &[
    ("warn", MemoryAction::Warn),
    ("restart", MemoryAction::Restart),
    ("shutdown", MemoryAction::Shutdown),
];

fn limit(item: &Item<'_>) -> Option<Option<u64>> {
    if item.as_str() == Some("none") {
        return Some(None);
    }
    octets(item, 1 << 20, 1 << 50).map(Some)
}
