//! Sessions that come and go, told in few lines: a router may have thousands.

use std::fmt::{self, Display};

/// What happened to a router's sessions since it was last told.
#[derive(Default)]
pub(super) struct Changes {
    up: u64,
    down: u64,
    /// The first few, in words.
    named: Vec<String>,
    /// How often it was asked whether it is time to tell.
    asked: u32,
    /// How many there were when it was last asked.
    before: u64,
}

/// Sessions that are named in a line.
const NAMED: usize = 3;
/// While more and more happens, it is told each so many times that it is asked.
const AT_LATEST: u32 = 10;

impl Changes {
    /// A session is up.
    pub fn up(&mut self, peer: &str) {
        self.up += 1;
        self.name(format_args!("{peer} up"));
    }

    /// A session is down.
    pub fn down(&mut self, peer: &str, reason: &str) {
        self.down += 1;
        self.name(format_args!("{peer} down: {reason}"));
    }

    fn name(&mut self, what: fmt::Arguments<'_>) {
        if self.named.len() < NAMED {
            self.named.push(what.to_string());
        }
    }

    /// What is to be told now: when nothing more has happened since it was last asked, or for a while.
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
        let told = changes.settled().unwrap().to_string();
        assert_eq!(told, "1000 up, 1 down (peer0 up, peer1 up, peer2 up, …)");
        assert!(changes.settled().is_none());
        let told = (0..100).find_map(|n| {
            changes.up(&format!("peer{n}"));
            changes.settled()
        });
        assert!(told.unwrap().to_string().starts_with("10 up, 0 down"));
    }
}
