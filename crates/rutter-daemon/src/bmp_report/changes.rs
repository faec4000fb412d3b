//! The routes that changed and that a station has not been sent yet.
//!
//! The state of such a route is read from the table when it is sent. So a route that changes often waits once, and the
//! number of waiting routes is bounded.

use std::collections::{HashMap, HashSet, hash_set};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rutter_net::Prefix;
use rutter_rib::{ChangeLog, PeerId, Rib, TableChange};

use crate::shared::unix_us;

/// A route by its sender and path identifier; `None`: only the choice of the best route changed.
type Changed = (Prefix, Option<(PeerId, u32)>);

/// The changes by destination.
pub(super) type ByPrefix = HashMap<Prefix, Vec<Option<(PeerId, u32)>>>;

/// The changes that wait for a station.
pub(super) struct Changes {
    log: Arc<ChangeLog>,
    /// The number of the next change.
    next: u64,
    /// The changes of the present round, and the changes since it began.
    round: hash_set::IntoIter<Changed>,
    later: HashSet<Changed>,
    /// Changes of best routes wait, too.
    with_best: bool,
    /// The number of rounds that began, the time of the last one, and the shortest time between two.
    rounds: u64,
    begun: Option<Instant>,
    pace: Duration,
    /// The routes of each neighbor that were rejected since the log is read, each time that one was.
    rejections: HashMap<PeerId, u64>,
}

/// The moment at which all changes that waited have been sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment(u64);

/// Changes were lost: the station needs the whole table again.
pub(super) struct Lost;

/// The size of the log, as for all its readers.
const LOG: usize = rutter_api::CHANGES;
/// More waiting routes are not kept. Each takes about 64 bytes.
const MOST_WAITING: usize = 500_000;
/// The changes that are taken from the log at once.
const TAKEN: usize = 4_096;

impl Changes {
    /// The changes from now on, with those of best routes or without them.
    pub(super) fn begin(rib: &Rib, with_best: bool, pace: Duration) -> Self {
        let log = rib.watch_changes(LOG, unix_us());
        Changes {
            next: log.next_number(),
            log,
            round: HashSet::new().into_iter(),
            later: HashSet::new(),
            with_best,
            rounds: 0,
            begun: None,
            pace,
            rejections: HashMap::new(),
        }
    }

    /// Takes all new changes from the log. Returns whether a session began or ended.
    pub(super) fn gather(&mut self) -> Result<bool, Lost> {
        let mut is_session = false;
        self.log.set_time(unix_us());
        loop {
            let changes = self.log.read(self.next, TAKEN).map_err(|_| Lost)?;
            let Some(last) = changes.last() else {
                return Ok(is_session);
            };
            self.next = last.number + 1;
            for logged in &changes {
                if let Some(peer) = rejected(&logged.change) {
                    *self.rejections.entry(peer).or_default() += 1;
                }
                match &logged.change {
                    TableChange::Announced { route, .. }
                    | TableChange::Withdrawn { route }
                    | TableChange::Verdict { route, .. } => {
                        let path = (route.peer.id, route.path_id);
                        self.later.insert((route.prefix, Some(path)));
                    }
                    TableChange::Best { prefix, .. } => {
                        if self.with_best {
                            self.later.insert((*prefix, None));
                        }
                    }
                    TableChange::SessionUp { .. } | TableChange::SessionDown { .. } => {
                        is_session = true;
                    }
                }
            }
            if self.waiting() > MOST_WAITING {
                return Err(Lost);
            }
        }
    }

    /// The number of routes that wait.
    pub(super) fn waiting(&self) -> usize {
        self.round.len() + self.later.len()
    }

    /// Takes at most so many of the waiting routes.
    pub(super) fn take(&mut self, most: usize) -> ByPrefix {
        if self.round.len() == 0 {
            if self.begun.is_some_and(|begun| begun.elapsed() < self.pace) {
                return ByPrefix::new();
            }
            self.begun = Some(Instant::now()).filter(|_| !self.later.is_empty());
            self.rounds += 1;
            self.round = std::mem::take(&mut self.later).into_iter();
        }
        let mut taken = ByPrefix::new();
        for (prefix, path) in self.round.by_ref().take(most) {
            taken.entry(prefix).or_default().push(path);
        }
        taken
    }

    /// The moment at which all changes that wait now have been sent. A route that did not fit into a batch waits a round
    /// longer.
    pub(super) fn moment(&self) -> Moment {
        Moment(self.rounds + 3)
    }

    /// Returns whether this moment has come.
    pub(super) fn is_past(&self, Moment(rounds): Moment) -> bool {
        self.rounds >= rounds || self.waiting() == 0
    }

    /// The number of times that a route of this neighbor was rejected, since the log is read.
    pub(super) fn rejections(&self, peer: PeerId) -> u64 {
        self.rejections.get(&peer).copied().unwrap_or_default()
    }

    /// Counts the rejections of a neighbor from now on.
    pub(super) fn forget_rejections(&mut self, peer: PeerId) {
        self.rejections.remove(&peer);
    }

    /// Lets routes wait again.
    pub(super) fn put_back(&mut self, routes: ByPrefix) {
        for (prefix, paths) in routes {
            self.later
                .extend(paths.into_iter().map(|path| (prefix, path)));
        }
    }
}

/// Returns the sender of a route that this change rejects.
fn rejected(change: &TableChange) -> Option<PeerId> {
    let (route, outcome) = match change {
        TableChange::Announced { route, outcome, .. } => (route, outcome),
        TableChange::Verdict { route, after, .. } => (route, after),
        _ => return None,
    };
    outcome.is_err().then_some(route.peer.id)
}
