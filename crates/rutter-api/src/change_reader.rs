//! A reader of the changes of the table, with a filter.

use std::sync::Arc;
use std::time::Duration;

use rutter_net::Prefix;
use rutter_rib::{ChangeLog, ChangedPeer, ChangesLost, LoggedChange, Rib, TableChange};
use serde::{Deserialize, Serialize};

use crate::answer::{Failure, PeerSelector};
use crate::convert::change_row;
use crate::{Change, ChangeRow};

/// A filter of changes. A change must meet all conditions; the default matches all changes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChangeFilter {
    /// Changes of this neighbor: name, address or `AS64500`. A best route concerns the senders of the old and the new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// Changes of this prefix and everything inside it.
    #[serde(
        skip_serializing_if = "Option::is_none",
        with = "crate::string_form::option"
    )]
    pub within: Option<Prefix>,
    /// Changes of these kinds: names of [`Change::KINDS`]; empty: of all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
}

/// Reads the changes of the table that match a filter, in order.
pub struct ChangeReader {
    log: Arc<ChangeLog>,
    filter: ChangeFilter,
    next: u64,
}

/// The log of changes keeps so many of them. Each takes about 200 bytes, and the attributes that it shares with others.
pub const CHANGES: usize = 65_536;
/// Without readers the log ends after this time. A reader that comes back earlier has missed nothing.
const KEPT_UNREAD: Duration = Duration::from_secs(300);

impl ChangeReader {
    /// Reads the changes after the one with this number, or from now on. `unix_us` is the wall time.
    ///
    /// # Errors
    ///
    /// A kind has an unknown name.
    pub fn open(
        rib: &Rib,
        filter: ChangeFilter,
        after: Option<u64>,
        unix_us: u64,
    ) -> Result<Self, Failure> {
        let unknown = |kind: &&String| !Change::KINDS.contains(&kind.as_str());
        if let Some(kind) = filter.kinds.iter().find(unknown) {
            return Err(Failure::refused(format!(
                "`{kind}` is no kind of change: write some of {} with commas between them",
                Change::KINDS.join(", ")
            )));
        }
        let log = rib.watch_changes(CHANGES, unix_us);
        Ok(ChangeReader {
            next: after.map_or_else(|| log.next_number(), |after| after.saturating_add(1)),
            filter,
            log,
        })
    }

    /// Looks at the next `most` changes and returns the matching ones, or `None` if there are no further changes.
    /// `unix_us` is the wall time.
    ///
    /// # Errors
    ///
    /// The log does not keep the next change any more.
    pub fn read(
        &mut self,
        most: usize,
        unix_us: u64,
    ) -> Result<Option<Vec<ChangeRow>>, ChangesLost> {
        self.log.set_time(unix_us);
        let changes = self.log.read(self.next, most)?;
        let Some(last) = changes.last() else {
            return Ok(None);
        };
        self.next = last.number + 1;
        let matching = changes.iter().filter(|one| self.filter.matches(one));
        Ok(Some(matching.map(change_row).collect()))
    }

    /// The number of the last change that was read.
    pub fn last_number(&self) -> u64 {
        self.next - 1
    }
}

/// Ends the log of changes if nobody has read it for a while. Call it now and then with the wall time.
pub fn end_unread_changes(rib: &Rib, unix_us: u64) {
    rib.end_unread_changes(unix_us, KEPT_UNREAD.as_micros() as u64);
}

impl ChangeFilter {
    fn matches(&self, logged: &LoggedChange) -> bool {
        let (kind, prefix, peers) = parts(&logged.change);
        let is_inside = |within: Prefix| prefix.is_some_and(|prefix| within.covers(prefix));
        (self.kinds.is_empty() || self.kinds.iter().any(|wanted| wanted == kind))
            && self.within.is_none_or(is_inside)
            && self.peer.as_deref().is_none_or(|wanted| {
                let wanted = PeerSelector::new(wanted);
                let mut peers = peers.into_iter().flatten();
                peers.any(|peer| wanted.matches(&peer.name, peer.address, peer.asn.0))
            })
    }
}

/// The kind of a change, its destination and its neighbors.
fn parts(change: &TableChange) -> (&'static str, Option<Prefix>, [Option<&ChangedPeer>; 2]) {
    match change {
        TableChange::Announced { route, .. } => {
            ("announced", Some(route.prefix), [Some(&route.peer), None])
        }
        TableChange::Withdrawn { route } => {
            ("withdrawn", Some(route.prefix), [Some(&route.peer), None])
        }
        TableChange::Verdict { route, .. } => {
            ("verdict", Some(route.prefix), [Some(&route.peer), None])
        }
        TableChange::Best {
            prefix,
            before,
            after,
        } => {
            let after = after.as_ref().map(|(peer, _)| peer);
            ("best", Some(*prefix), [before.as_ref(), after])
        }
        TableChange::SessionUp { peer } => ("session-up", None, [Some(peer), None]),
        TableChange::SessionDown { peer, .. } => ("session-down", None, [Some(peer), None]),
    }
}
