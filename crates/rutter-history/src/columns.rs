//! A page of rows, column by column, before it is packed.

use rutter_events::{AttrColumns, Kind, Peer, Row};
use rutter_net::{Family, Prefix};

use crate::group::{MISSING, Run, push};
use crate::places::Places;

/// Collects rows until there are enough for a page. A row costs numbers: which set, which peer, and so on.
pub(crate) struct Columns {
    collector: Box<str>,
    run: Vec<i64>,
    seq: Vec<i64>,
    time: Vec<i64>,
    all: [Run; 1],
    kinds: Vec<Run>,
    peers: Places<Peer>,
    peer_runs: Vec<Run>,
    prefixes: Vec<Option<Prefix>>,
    path_ids: Vec<u32>,
    path_id_runs: Vec<Run>,
    sets: Places<AttrColumns>,
    set_runs: Vec<Run>,
    details: Vec<Box<str>>,
    detail_runs: Vec<Run>,
}

impl Columns {
    /// For rows of one collector.
    pub fn new(collector: &str) -> Self {
        Self {
            collector: collector.into(),
            run: Vec::new(),
            seq: Vec::new(),
            time: Vec::new(),
            all: [(0, 0)],
            kinds: Vec::new(),
            peers: Places::default(),
            peer_runs: Vec::new(),
            prefixes: Vec::new(),
            path_ids: Vec::new(),
            path_id_runs: Vec::new(),
            sets: Places::default(),
            set_runs: Vec::new(),
            details: Vec::new(),
            detail_runs: Vec::new(),
        }
    }

    /// Rows since the last page.
    pub fn len(&self) -> usize {
        self.seq.len()
    }

    /// Adds a row.
    pub fn push(&mut self, row: &Row<'_>) {
        self.run.push(row.run as i64);
        self.seq.push(row.seq as i64);
        self.time.push(row.time_us as i64);
        self.all[0].1 += 1;
        push(&mut self.kinds, code(row.kind), 1);
        let peer = row.peer.map_or(MISSING, |peer| self.peers.of(peer));
        push(&mut self.peer_runs, peer, 1);
        self.prefixes.push(row.prefix);
        let path_id = row.prefix.map_or(MISSING, |_| self.path_id(row.path_id));
        push(&mut self.path_id_runs, path_id, 1);
        let set = row.attrs.map_or(MISSING, |set| self.sets.of(set));
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

    /// Forgets the rows.
    pub fn clear(&mut self) {
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
        self.sets.clear();
        self.details.clear();
    }

    /// `run`, `seq` or `time`.
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

    /// All rows: they have the first of something.
    pub fn all(&self) -> &[Run] {
        &self.all
    }

    /// Which kind each row is of, by its place in [`crate::texts::KINDS`].
    pub fn kinds(&self) -> &[Run] {
        &self.kinds
    }

    /// The peers.
    pub fn peers(&self) -> impl Iterator<Item = &Peer> {
        self.peers.iter()
    }

    /// Which peer each row has.
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

    /// Which path identifier each row has.
    pub fn path_id_runs(&self) -> &[Run] {
        &self.path_id_runs
    }

    /// The attribute sets.
    pub fn sets(&self) -> impl Iterator<Item = &AttrColumns> {
        self.sets.iter()
    }

    /// Which attribute set each row has.
    pub fn set_runs(&self) -> &[Run] {
        &self.set_runs
    }

    /// The details.
    pub fn details(&self) -> impl Iterator<Item = &str> {
        self.details.iter().map(|text| &**text)
    }

    /// Which detail each row has.
    pub fn detail_runs(&self) -> &[Run] {
        &self.detail_runs
    }
}

/// How the `detail` of a `peer-down` begins that leaves routes in the table: `retained ipv4-unicast: …`.
pub(crate) const RETAINED: &str = "retained ";

fn retained_text(retained: [bool; 2]) -> Option<String> {
    let families = Family::ALL
        .into_iter()
        .filter(|family| retained[family.index()]);
    let names: Vec<&str> = families.map(family_name).collect();
    (!names.is_empty()).then(|| names.join(" "))
}

/// Which families a `peer-down` leaves in the table, from its `detail`.
pub(crate) fn retained_of(detail: &str) -> [bool; 2] {
    let families = detail
        .strip_prefix(RETAINED)
        .and_then(|rest| rest.split_once(": "));
    let families = families.map_or("", |(families, _)| families);
    let has = |family| families.split(' ').any(|name| name == family_name(family));
    Family::ALL.map(has)
}

fn family_name(family: Family) -> &'static str {
    match family {
        Family::Ipv4Unicast => "ipv4-unicast",
        Family::Ipv6Unicast => "ipv6-unicast",
    }
}

/// The place of a kind in [`crate::texts::KINDS`].
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
