//! A page of rows, column by column, before compression.

use std::sync::Arc;

use rutter_events::{Kind, Peer, Row};
use rutter_net::{Family, PerFamily, Prefix};
use rutter_rib::AttrSet;

use crate::interner::Interner;
use crate::row_attrs::RowAttrs;
use crate::row_group::{MISSING, Run, push};

/// Collects the rows of a page. A row is stored as indexes of its set, peer and other values.
pub(crate) struct RowPage {
    collector: Box<str>,
    run: Vec<i64>,
    seq: Vec<i64>,
    time: Vec<i64>,
    all: [Run; 1],
    kinds: Vec<Run>,
    peers: Interner<Arc<Peer>>,
    peer_runs: Vec<Run>,
    prefixes: Vec<Option<Prefix>>,
    path_ids: Vec<u32>,
    path_id_runs: Vec<Run>,
    sets: Interner<RowAttrs>,
    /// How often the sets were discarded.
    generation: u64,
    /// The number of sets that are kept from page to page.
    most_sets: usize,
    set_runs: Vec<Run>,
    details: Vec<Box<str>>,
    detail_runs: Vec<Run>,
}

impl RowPage {
    /// For rows of one collector, keeping about this number of sets.
    pub fn new(collector: &str, most_sets: usize) -> Self {
        Self {
            collector: collector.into(),
            run: Vec::new(),
            seq: Vec::new(),
            time: Vec::new(),
            all: [(0, 0)],
            kinds: Vec::new(),
            peers: Interner::default(),
            peer_runs: Vec::new(),
            prefixes: Vec::new(),
            path_ids: Vec::new(),
            path_id_runs: Vec::new(),
            sets: Interner::default(),
            generation: 0,
            most_sets,
            set_runs: Vec::new(),
            details: Vec::new(),
            detail_runs: Vec::new(),
        }
    }

    /// The number of rows in the page.
    pub fn len(&self) -> usize {
        self.seq.len()
    }

    /// Adds a row.
    pub fn push(&mut self, row: &Row<'_>) {
        let set = row.attrs.map_or(MISSING, |set| {
            let address = Arc::as_ptr(set).addr();
            self.sets
                .index_of(address, || RowAttrs::Event(Arc::clone(set)))
        });
        self.push_with(row, set);
    }

    /// Adds a row of the table with these attributes.
    pub fn push_stored(&mut self, row: &Row<'_>, set: &AttrSet) {
        let address = set.block().as_ptr().addr();
        let set = self.sets.index_of(address, || RowAttrs::Table(set.clone()));
        self.push_with(row, set);
    }

    fn push_with(&mut self, row: &Row<'_>, set: u32) {
        self.run.push(signed(row.run));
        self.seq.push(signed(row.seq));
        self.time.push(signed(row.time_us));
        self.all[0].1 += 1;
        push(&mut self.kinds, code(row.kind), 1);
        let peer = row.peer.map_or(MISSING, |peer| {
            let address = Arc::as_ptr(peer).addr();
            self.peers.index_of(address, || Arc::clone(peer))
        });
        push(&mut self.peer_runs, peer, 1);
        self.prefixes.push(row.prefix);
        let path_id = row.prefix.map_or(MISSING, |_| self.path_id(row.path_id));
        push(&mut self.path_id_runs, path_id, 1);
        push(&mut self.set_runs, set, 1);
        let detail = self.detail(row);
        push(&mut self.detail_runs, detail, 1);
    }

    fn path_id(&mut self, path_id: u32) -> u32 {
        if self.path_ids.last() != Some(&path_id) {
            self.path_ids.push(path_id);
        }
        self.path_ids.len() as u32 - 1
    }

    fn detail(&mut self, row: &Row<'_>) -> u32 {
        let retained = match row.kind {
            Kind::PeerDown { retained } => retained_text(retained),
            _ => None,
        };
        let text = match &retained {
            None if row.detail.is_empty() => return MISSING,
            None => row.detail,
            Some(families) => &format!("{RETAINED}{families}: {}", row.detail),
        };
        if self.details.last().is_none_or(|last| **last != *text) {
            self.details.push(text.into());
        }
        self.details.len() as u32 - 1
    }

    /// Discards the sets. Keys that refer to them become invalid.
    pub fn forget_sets(&mut self) {
        self.sets.clear();
        self.generation += 1;
    }

    /// Discards the rows. Sets are kept, so that their strings are looked up once and not once per page.
    pub fn clear(&mut self) {
        if self.sets.len() > self.most_sets {
            self.forget_sets();
        }
        for numbers in [&mut self.run, &mut self.seq, &mut self.time] {
            numbers.clear();
        }
        for runs in [
            &mut self.kinds,
            &mut self.peer_runs,
            &mut self.path_id_runs,
            &mut self.set_runs,
            &mut self.detail_runs,
        ] {
            runs.clear();
        }
        self.all = [(0, 0)];
        self.peers.clear();
        self.prefixes.clear();
        self.path_ids.clear();
        self.details.clear();
    }

    /// The numbers of the column `run`, `seq` or `time`.
    pub fn numbers(&self, name: &str) -> &[i64] {
        match name {
            "run" => &self.run,
            "seq" => &self.seq,
            _ => &self.time,
        }
    }

    /// The collector of all rows.
    pub fn collector(&self) -> &str {
        &self.collector
    }

    /// A run over all rows, for columns with a single value.
    pub fn all(&self) -> &[Run] {
        &self.all
    }

    /// The kind of each row, as an index into [`crate::column_values::KINDS`].
    pub fn kinds(&self) -> &[Run] {
        &self.kinds
    }

    /// The peers.
    pub fn peers(&self) -> impl Iterator<Item = &Peer> {
        self.peers.from(0).iter().map(|peer| &**peer)
    }

    /// The peer index of each row.
    pub fn peer_runs(&self) -> &[Run] {
        &self.peer_runs
    }

    /// The prefix of each row.
    pub fn prefixes(&self) -> impl Iterator<Item = Option<Prefix>> {
        self.prefixes.iter().copied()
    }

    /// The path identifiers.
    pub fn path_ids(&self) -> impl Iterator<Item = u32> {
        self.path_ids.iter().copied()
    }

    /// The path identifier index of each row.
    pub fn path_id_runs(&self) -> &[Run] {
        &self.path_id_runs
    }

    /// Changes when the sets are discarded.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The attribute sets from an index on.
    pub fn sets_from(&self, index: usize) -> &[RowAttrs] {
        self.sets.from(index)
    }

    /// The attribute set index of each row.
    pub fn set_runs(&self) -> &[Run] {
        &self.set_runs
    }

    /// The details.
    pub fn details(&self) -> impl Iterator<Item = &str> {
        self.details.iter().map(|text| &**text)
    }

    /// The detail index of each row.
    pub fn detail_runs(&self) -> &[Run] {
        &self.detail_runs
    }
}

/// The value of a column of type `u64` or `time`. Runs and times are microseconds since 1970, and event numbers begin at 0
/// with each run, so all values fit.
fn signed(number: u64) -> i64 {
    debug_assert!(
        i64::try_from(number).is_ok(),
        "{number} fits a signed column"
    );
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The beginning of the `detail` of a `peer-down` that leaves routes in the table: `retained ipv4-unicast: …`.
pub(crate) const RETAINED: &str = "retained ";

fn retained_text(retained: PerFamily<bool>) -> Option<String> {
    let families = Family::ALL.into_iter().filter(|family| retained[*family]);
    let names: Vec<&str> = families.map(family_name).collect();
    (!names.is_empty()).then(|| names.join(" "))
}

/// The families that a `peer-down` leaves in the table, from its `detail`.
pub(crate) fn retained_of(detail: &str) -> PerFamily<bool> {
    let families = detail
        .strip_prefix(RETAINED)
        .and_then(|rest| rest.split_once(": "));
    let families = families.map_or("", |(families, _)| families);
    let has = |family| families.split(' ').any(|name| name == family_name(family));
    PerFamily::from_fn(has)
}

fn family_name(family: Family) -> &'static str {
    match family {
        Family::Ipv4Unicast => "ipv4-unicast",
        Family::Ipv6Unicast => "ipv6-unicast",
    }
}

/// The index of a kind in [`crate::column_values::KINDS`].
fn code(kind: Kind) -> u32 {
    match kind {
        Kind::Announce => 0,
        Kind::Withdraw => 1,
        Kind::PeerUp => 2,
        Kind::PeerDown { .. } => 3,
        Kind::EndOfRib(_) => 4,
        Kind::Gap { .. } => 5,
        Kind::Start => 6,
        Kind::Stop => 7,
        Kind::ClockStep { .. } => 8,
        Kind::State => 9,
    }
}
