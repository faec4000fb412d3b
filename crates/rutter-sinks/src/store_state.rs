//! What a store contains, as far as the sink must know it: the state machine between the spool and the
//! transactions.

use std::collections::HashMap;
use std::sync::Arc;

use rutter_events::Kind;
use rutter_net::PerFamily;

use crate::batch::{Batch, Change, PeerChange};
use crate::block::{Block, Entry, Marker};
use crate::peer::{PeerKey, StoredPeer};
use crate::spool::Position;

/// A peer that has or may have routes in the store.
#[derive(Clone, Debug)]
struct PeerState {
    peer: Arc<StoredPeer>,
    up: bool,
    /// Per family: whether the peer may have routes.
    holds: PerFamily<bool>,
    /// The number of rows since the session came up; `None` after the initial rows.
    first_rows: Option<u64>,
    /// The store ignores its rows for now. Its routes will be loaded from the table.
    deferred: bool,
    /// The number of rows in the last batch.
    batch_rows: u64,
    up_since_us: u64,
}

/// The position of a store, the peers with routes in it, and the peers that must still be loaded.
///
/// `apply` makes a batch from blocks, and the state after it. The writer keeps the new state only after the
/// commit, so that a failure changes nothing.
#[derive(Clone, Debug, Default)]
pub struct StoreState {
    position: Option<Position>,
    /// True if the store keeps current routes. Before the first marker of a run, rows go to the history only.
    live: bool,
    /// All routes must be loaded again.
    load_all: bool,
    peers: HashMap<PeerKey, PeerState>,
    defer_from: u64,
}

impl StoreState {
    /// The initial state. A peer with at least `defer_from` initial rows is loaded by the bulk path.
    pub fn new(defer_from: u64) -> Self {
        Self {
            defer_from,
            ..Self::default()
        }
    }

    /// The position after the last committed row.
    pub fn position(&self) -> Option<Position> {
        self.position
    }

    /// Sets the position of a store that was opened for the first time.
    pub fn resume(&mut self, position: Option<Position>) {
        self.position = position;
    }

    /// Discards the state after the store lost its own. No routes are kept until the next marker.
    pub fn reset(&mut self) {
        (self.live, self.load_all) = (false, false);
        self.peers.clear();
    }

    /// Makes the batch of some blocks and the state after it. Uses blocks up to the first with a marker, and
    /// returns their number.
    pub fn apply(&self, blocks: Vec<Block>) -> (Batch, StoreState, usize) {
        let mut next = self.clone();
        next.peers
            .values_mut()
            .for_each(|state| state.batch_rows = 0);
        let mut batch = Batch::default();
        let mut indexes = HashMap::new();
        let mut taken = 0;
        for block in blocks {
            taken += 1;
            batch.end = block.end();
            let (run, first) = (block.run, block.first_seq);
            for (seq, entry) in (first..).zip(block.entries) {
                next.take(&entry, &mut batch, &mut indexes);
                let next_seq = seq + 1;
                batch.rows.push((Position { run, next_seq }, entry));
            }
            if let Some(marker) = block.marker {
                next.begin(marker, &mut batch);
                break;
            }
        }
        next.position = Some(batch.end);
        (batch, next, taken)
    }

    fn begin(&mut self, marker: Marker, batch: &mut Batch) {
        (self.live, self.load_all) = (true, true);
        batch.changes.clear();
        batch.cleared.clear();
        self.peers.clear();
        for (up, peer) in marker.peers {
            let mut state = PeerState::new(Arc::clone(&peer));
            (state.up, state.holds) = (up, PerFamily::both(true));
            self.peers.insert(peer.key.clone(), state);
        }
    }

    fn take(&mut self, entry: &Entry, batch: &mut Batch, indexes: &mut HashMap<PeerKey, usize>) {
        let Some(peer) = &entry.peer else {
            return;
        };
        let index = *indexes.entry(peer.key.clone()).or_insert_with(|| {
            batch.peers.push(Arc::clone(peer));
            batch.peers.len() - 1
        });
        match entry.kind {
            Kind::PeerUp | Kind::PeerDown { .. } => batch.peer_changes.push(PeerChange {
                peer: Arc::clone(peer),
                up: entry.kind == Kind::PeerUp,
                time_us: entry.time_us,
                detail: entry.detail.clone(),
            }),
            _ => {}
        }
        if !self.live {
            return;
        }
        let state = self
            .peers
            .entry(peer.key.clone())
            .or_insert_with(|| PeerState::new(Arc::clone(peer)));
        state.peer = Arc::clone(peer);
        match entry.kind {
            Kind::PeerUp => state.session_up(entry.time_us),
            Kind::PeerDown { retained } => state.session_down(retained, index, batch),
            Kind::Announce | Kind::Withdraw => state.route(entry, index, batch, self.defer_from),
            _ => {}
        }
        if state.is_gone() {
            self.peers.remove(&peer.key);
        }
    }

    /// Returns whether the store has the current routes, or will have them after a load.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// Returns whether all routes must be loaded again.
    pub fn load_all(&self) -> bool {
        self.load_all
    }

    /// The peers to load from the table now: peers that have sent their initial routes, or that have waited for
    /// long.
    pub fn peers_to_load(&self, now_us: u64) -> Vec<Arc<StoredPeer>> {
        let due = |state: &&PeerState| {
            // Both directions, since the clock may have been set.
            let waited = now_us.abs_diff(state.up_since_us);
            state.deferred && (state.batch_rows < self.defer_from / 8 || waited > MAX_WAIT_US)
        };
        self.peers
            .values()
            .filter(due)
            .map(|state| Arc::clone(&state.peer))
            .collect()
    }

    /// The families of a peer that have routes in the store. The session is up, or the routes outlive it.
    pub fn holds(&self, peer: &PeerKey) -> Option<PerFamily<bool>> {
        self.peers.get(peer).map(|state| state.holds)
    }

    /// Returns whether a peer's session is up.
    pub fn is_up(&self, peer: &PeerKey) -> bool {
        self.peers.get(peer).is_some_and(|state| state.up)
    }

    /// All peers with routes, each with whether it is up.
    pub fn peers(&self) -> impl Iterator<Item = (bool, &Arc<StoredPeer>)> {
        self.peers.values().map(|state| (state.up, &state.peer))
    }

    /// Notes that there was no batch for a while.
    pub fn no_batch(&mut self) {
        self.peers
            .values_mut()
            .for_each(|state| state.batch_rows = 0);
    }

    /// Notes that the routes of these peers, or of all, were loaded.
    pub fn loaded(&mut self, peers: Option<&[Arc<StoredPeer>]>) {
        match peers {
            None => {
                self.load_all = false;
                self.peers.values_mut().for_each(PeerState::loaded);
            }
            Some(peers) => {
                for peer in peers {
                    if let Some(state) = self.peers.get_mut(&peer.key) {
                        state.loaded();
                    }
                }
            }
        }
    }
}

impl PeerState {
    fn new(peer: Arc<StoredPeer>) -> Self {
        Self {
            peer,
            up: false,
            holds: PerFamily::both(false),
            first_rows: None,
            deferred: false,
            batch_rows: 0,
            up_since_us: 0,
        }
    }

    fn session_up(&mut self, time_us: u64) {
        (self.up, self.holds) = (true, PerFamily::both(true));
        self.first_rows = Some(0);
        self.up_since_us = time_us;
    }

    fn session_down(&mut self, retained: PerFamily<bool>, index: usize, batch: &mut Batch) {
        let goes = PerFamily::from_fn(|family| self.holds[family] && !retained[family]);
        self.up = false;
        self.first_rows = None;
        self.holds = PerFamily::from_fn(|family| self.holds[family] && retained[family]);
        if goes.any() {
            let gone = |prefix: rutter_net::Prefix| goes[prefix.family()];
            batch
                .changes
                .retain(|(of, prefix, _), _| *of != index || !gone(*prefix));
            batch.cleared.push((Arc::clone(&self.peer), goes));
        }
        if self.holds == PerFamily::both(false) {
            self.deferred = false;
        }
    }

    fn route(&mut self, entry: &Entry, index: usize, batch: &mut Batch, defer_from: u64) {
        self.batch_rows += 1;
        if entry.kind == Kind::Announce {
            // The session came up before the marker and was down again at the marker.
            (self.up, self.holds) = (true, PerFamily::both(true));
        }
        if entry.time_us.abs_diff(self.up_since_us) > MAX_WAIT_US {
            self.first_rows = None;
        }
        if let Some(rows) = &mut self.first_rows {
            *rows += 1;
            if *rows >= defer_from && !self.deferred {
                self.deferred = true;
                batch.changes.retain(|(of, _, _), _| *of != index);
            }
        }
        let Some(prefix) = entry.prefix.filter(|_| !self.deferred) else {
            return;
        };
        let change = Change {
            time_us: entry.time_us,
            attrs: entry.attrs.clone(),
        };
        batch.changes.insert((index, prefix, entry.path_id), change);
    }

    fn loaded(&mut self) {
        self.deferred = false;
        self.first_rows = None;
    }

    fn is_gone(&self) -> bool {
        !self.up && self.holds == PerFamily::both(false)
    }
}

/// A peer that keeps sending routes is loaded after this time at the latest.
const MAX_WAIT_US: u64 = 60_000_000;
