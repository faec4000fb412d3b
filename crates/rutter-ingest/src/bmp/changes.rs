//! A summary of sessions that went up and down. A router may have thousands, so the log gets few lines.

use std::fmt::{self, Display};

/// The changes of a router's sessions since the last log line.
#[derive(Default)]
pub(super) struct Changes {
    up: u64,
    down: u64,
    /// The first few changes, as text.
    named: Vec<String>,
    /// The number of calls of `settled` since the last log line.
    asked: u32,
    /// The number of changes at the previous call.
    before: u64,
}

/// The number of sessions that a log line names.
const NAMED: usize = 3;
/// While changes continue, a line is due after this many calls of `settled`.
const AT_LATEST: u32 = 10;

impl Changes {
    /// Records that a session was established.
    pub fn up(&mut self, peer: &str) {
        self.up += 1;
        self.name(format_args!("{peer} up"));
    }

    /// Records that a session went down.
    pub fn down(&mut self, peer: &str, reason: &str) {
        self.down += 1;
        self.name(format_args!("{peer} down: {reason}"));
    }

    fn name(&mut self, what: fmt::Arguments<'_>) {
        if self.named.len() < NAMED {
            self.named.push(what.to_string());
        }
    }

    /// Returns the changes to log: when none were added since the previous call, or after [`AT_LATEST`] calls.
    pub fn settled(&mut self) -> Option<Changes> {
        let all = self.up + self.down;
        if all == 0 {
            return None;
        }
        self.asked += 1;
        let quiet = self.before == all;
        self.before = all;
        (quiet || self.asked >= AT_LATEST).then(|| std::mem::take(self))
    }
}

impl Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Changes {
            up, down, named, ..
        } = self;
        let more = match up + down > named.len() as u64 {
            true => ", …",
            false => "",
        };
        write!(f, "{up} up, {down} down ({}{more})", named.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_sessions_are_one_line() {
        let mut changes = Changes::default();
        assert!(changes.settled().is_none());
        (0..1_000).for_each(|n| changes.up(&format!("peer{n}")));
        assert!(changes.settled().is_none());
        changes.down("peer7", "it is gone");
        assert!(changes.settled().is_none());
        let logged = changes.settled().unwrap().to_string();
        assert_eq!(logged, "1000 up, 1 down (peer0 up, peer1 up, peer2 up, …)");
        assert!(changes.settled().is_none());
        let logged = (0..100).find_map(|n| {
            changes.up(&format!("peer{n}"));
            changes.settled()
        });
        assert!(logged.unwrap().to_string().starts_with("10 up, 0 down"));
    }
}
