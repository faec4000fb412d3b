//! The table in stages: what another process has of it so far, and the differences that it must be sent.

use std::collections::HashMap;
use std::sync;

use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix, PerFamily};
use rutter_policy::{ChangesId, Class, RejectReason};
use rutter_wire::handover::Writer;
use smallvec::SmallVec;
use triomphe::Arc;

use super::records::Records;
use super::sent_sets::SentSets;
use super::{Tag, route_changes};
use crate::adj_rib_in::class_table::ClassTable;
use crate::adj_rib_in::route::{Route, State};
use crate::adj_rib_in::shard::{Shard, Stored};
use crate::adj_rib_in::table::{BOOK, Book, Destination, Id, Key, PAGE, Page};
use crate::adj_rib_in::verdict::Verdict;
use crate::decision::PeerRank;
use crate::topology::Topology;
use crate::{PeerId, Rib};

/// What another process has of a table. Each stage sends it the difference, see [`TableExport::send_changes`] and
/// [`HeldTable::write`](crate::HeldTable::write).
///
/// While it lives, the table keeps the destinations as they were at the last stage, like a
/// [`Snapshot`](crate::Snapshot). After an error it is of no use.
#[derive(Default)]
pub struct TableExport {
    pub(super) ipv4: SentFamily<Ipv4Prefix>,
    pub(super) ipv6: SentFamily<Ipv6Prefix>,
    pub(super) sets: SentSets,
    /// The meaning of each octet, as it was sent.
    verdicts: HashMap<u8, Vec<u8>>,
}

/// The destinations of a family that another process has.
pub(super) struct SentFamily<K> {
    /// By shard.
    pub(super) shards: Vec<SentShard<K>>,
    /// The numbers that were given to destinations.
    pub(super) numbers: u32,
}

impl<K> Default for SentFamily<K> {
    fn default() -> Self {
        SentFamily {
            shards: Vec::new(),
            numbers: 0,
        }
    }
}

/// The destinations of a shard that another process has.
pub(super) struct SentShard<K> {
    books: Books<K>,
    /// By id; [`NO_NUMBER`] if none was given.
    pub(super) numbers: Vec<u32>,
}

type Books<K> = Vec<Arc<Book<K>>>;

/// In place of the number of a destination.
pub(super) const NO_NUMBER: u32 = u32::MAX;

/// The table at one moment.
pub(super) struct Moment {
    ipv4: Vec<Books<Ipv4Prefix>>,
    ipv6: Vec<Books<Ipv6Prefix>>,
    sizes: PerFamily<usize>,
    ranks: Vec<(PeerId, PeerRank)>,
    classes: sync::Arc<ClassTable>,
}

impl Moment {
    /// Add each shard while the topology stays as it is: the routes name its classes.
    pub(super) fn new(topology: &Topology) -> Self {
        let ids = topology.iter().map(|(id, _)| id);
        Moment {
            ipv4: Vec::new(),
            ipv6: Vec::new(),
            sizes: PerFamily::default(),
            ranks: ids.map(|id| (id, topology.ranks[id.index()])).collect(),
            classes: sync::Arc::clone(&topology.classes),
        }
    }

    pub(super) fn add(&mut self, shard: &Shard) {
        self.ipv4.push(Ipv4Prefix::table(shard).share());
        self.ipv6.push(Ipv6Prefix::table(shard).share());
        self.sizes[Family::Ipv4Unicast] += Ipv4Prefix::table(shard).len();
        self.sizes[Family::Ipv6Unicast] += Ipv6Prefix::table(shard).len();
    }
}

impl TableExport {
    /// Sends the table, or what has changed since the stage before, as records for
    /// [`TableImport`](crate::TableImport). Others may change the table at the same time. Returns the number of destinations that
    /// were sent. The first error of `send` ends it.
    pub fn send_changes<E>(
        &mut self,
        rib: &Rib,
        send: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<usize, E> {
        let topology = rib.topology.read();
        let mut moment = Moment::new(&topology);
        rib.shards
            .iter()
            .for_each(|shard| moment.add(&shard.lock()));
        drop(topology);
        self.sets.reserve(&rib.store);
        let mut records = Records::new(send);
        let sent = self.write(moment, &mut records)?;
        records.end()?;
        Ok(sent)
    }

    /// Writes the difference between the stage before and this moment. Returns the number of destinations in it.
    pub(super) fn write<E, S: FnMut(&[u8]) -> Result<(), E>>(
        &mut self,
        moment: Moment,
        records: &mut Records<S>,
    ) -> Result<usize, E> {
        let out = records.begin(Tag::Size)?;
        moment.sizes.iter().for_each(|count| out.count(*count));
        for (peer, rank) in &moment.ranks {
            let out = records.begin(Tag::Rank)?;
            out.number(peer.0);
            write_rank(rank, out);
        }
        let renamed = self.write_verdicts(&moment.classes, records)?;
        let mut difference = Difference {
            sets: &mut self.sets,
            renamed: &renamed,
            records,
            count: 0,
        };
        difference.write(&mut self.ipv4, moment.ipv4)?;
        difference.write(&mut self.ipv6, moment.ipv6)?;
        Ok(difference.count)
    }

    /// Writes the meanings of the octets of verdicts. Returns the octets that had another meaning before.
    fn write_verdicts<E, S: FnMut(&[u8]) -> Result<(), E>>(
        &mut self,
        classes: &ClassTable,
        records: &mut Records<S>,
    ) -> Result<Vec<u8>, E> {
        let rejected = RejectReason::ALL.iter().map(|reason| {
            let mut out = Writer::default();
            out.bool(false);
            out.string(reason.name());
            (Verdict::rejected(*reason).octet(), out.bytes)
        });
        let accepted = classes.verdicts().map(|(verdict, class)| {
            let mut out = Writer::default();
            out.bool(true);
            write_class(class, &mut out);
            (verdict.octet(), out.bytes)
        });
        let mut renamed = Vec::new();
        for (octet, meaning) in rejected.chain(accepted) {
            let out = records.begin(Tag::Verdict)?;
            out.u8(octet);
            out.bytes.extend_from_slice(&meaning);
            let before = self.verdicts.insert(octet, meaning.clone());
            renamed.extend(before.filter(|before| *before != meaning).map(|_| octet));
        }
        Ok(renamed)
    }
}

/// The difference between two moments.
struct Difference<'a, S> {
    sets: &'a mut SentSets,
    /// Routes with these octets of verdicts differ in any case.
    renamed: &'a [u8],
    records: &'a mut Records<S>,
    /// The number of destinations so far.
    count: usize,
}

impl<E, S: FnMut(&[u8]) -> Result<(), E>> Difference<'_, S> {
    fn write<K: Stored>(&mut self, sent: &mut SentFamily<K>, now: Vec<Books<K>>) -> Result<(), E> {
        sent.shards.resize_with(now.len(), || SentShard {
            books: Vec::new(),
            numbers: Vec::new(),
        });
        // A prefix may have moved to the number of another: all removals come first.
        for (shard, now) in sent.shards.iter().zip(&now) {
            self.removals(shard, now)?;
        }
        for (shard, now) in sent.shards.iter_mut().zip(now) {
            self.destinations(shard, &now, &mut sent.numbers)?;
            shard.books = now;
        }
        Ok(())
    }

    fn removals<K: Stored>(&mut self, sent: &SentShard<K>, now: &Books<K>) -> Result<(), E> {
        for (first, before, now) in differing_pages(&sent.books, now) {
            for (id, before) in (first..).zip(before) {
                let after = now.get((id - first) as usize);
                if !before.routes.is_empty() && !after.is_some_and(|after| is_for(after, before)) {
                    self.count += 1;
                    let out = self.records.begin(removal::<K>())?;
                    out.number(sent.numbers[id as usize]);
                }
            }
        }
        Ok(())
    }

    fn destinations<K: Stored>(
        &mut self,
        sent: &mut SentShard<K>,
        now: &Books<K>,
        numbers: &mut u32,
    ) -> Result<(), E> {
        let SentShard {
            books,
            numbers: by_id,
        } = sent;
        let end = now.len() * BOOK * PAGE;
        by_id.reserve(end.saturating_sub(by_id.len()));
        for (first, before, now) in differing_pages(books, now) {
            for (id, after) in (first..).zip(now) {
                let before = before.get((id - first) as usize);
                if after.routes.is_empty() || before.is_some_and(|b| self.is_same(b, after)) {
                    continue;
                }
                self.count += 1;
                self.destination(after, number_of(by_id, id, numbers))?;
            }
        }
        Ok(())
    }

    fn is_same<K: Key>(&self, before: &Destination<K>, after: &Destination<K>) -> bool {
        let is_same = |(one, other): (&Route, &Route)| {
            one.attrs.same(&other.attrs)
                && (one.peer, one.path_id) == (other.peer, other.path_id)
                && (one.state, one.verdict) == (other.state, other.verdict)
                && !self.renamed.contains(&one.verdict.octet())
        };
        before.prefix == after.prefix
            && before.routes.len() == after.routes.len()
            && before.routes.iter().zip(after.routes.iter()).all(is_same)
    }

    fn destination<K: Stored>(
        &mut self,
        destination: &Destination<K>,
        number: u32,
    ) -> Result<(), E> {
        let mut sets: SmallVec<[u32; 32]> = SmallVec::new();
        for route in destination.routes.iter() {
            sets.push(self.sets.number(&route.attrs, self.records)?);
        }
        let out = begin_destination(self.records, destination.prefix, number)?;
        out.count(sets.len());
        for (route, set) in destination.routes.iter().zip(sets) {
            out.number(set);
            out.number(route.peer.0);
            out.number(route.path_id);
            out.u8(route.state.0 & State::OF_ROUTE);
            out.u8(route.verdict.octet());
        }
        Ok(())
    }
}

/// Begins the item of a destination. Its routes follow.
pub(super) fn begin_destination<K: Stored, E, S: FnMut(&[u8]) -> Result<(), E>>(
    records: &mut Records<S>,
    prefix: K,
    number: u32,
) -> Result<&mut Writer, E> {
    let out = records.begin(match K::FAMILY {
        Family::Ipv4Unicast => Tag::Ipv4Destination,
        Family::Ipv6Unicast => Tag::Ipv6Destination,
    })?;
    out.number(number);
    write_prefix(prefix, out);
    Ok(out)
}

fn removal<K: Stored>() -> Tag {
    match K::FAMILY {
        Family::Ipv4Unicast => Tag::Ipv4Removal,
        Family::Ipv6Unicast => Tag::Ipv6Removal,
    }
}

/// The number of the destination with an id, a new one if it has none.
pub(super) fn number_of(by_id: &mut Vec<u32>, id: Id, numbers: &mut u32) -> u32 {
    if by_id.len() <= id as usize {
        by_id.resize(id as usize + 1, NO_NUMBER);
    }
    let number = &mut by_id[id as usize];
    if *number == NO_NUMBER {
        *number = *numbers;
        *numbers += 1;
    }
    *number
}

/// Returns whether an id still has its prefix, with routes.
fn is_for<K: Key>(after: &Destination<K>, before: &Destination<K>) -> bool {
    !after.routes.is_empty() && after.prefix == before.prefix
}

/// The pages that differ between two moments, each with its first id. Where there is no page it is empty.
fn differing_pages<'a, K>(
    before: &'a [Arc<Book<K>>],
    now: &'a [Arc<Book<K>>],
) -> impl Iterator<Item = (Id, &'a Page<K>, &'a Page<K>)> {
    let is_same = move |book: &usize| match (before.get(*book), now.get(*book)) {
        (Some(before), Some(now)) => Arc::ptr_eq(before, now),
        _ => false,
    };
    let books = (0..before.len().max(now.len())).filter(move |book| !is_same(book));
    let places = books.flat_map(|book| (0..BOOK).map(move |page| (book, page)));
    let page = |books: &'a [Arc<Book<K>>], (book, page): (usize, usize)| {
        let held = books.get(book).and_then(|book| book.page(page));
        held.unwrap_or_default()
    };
    let pages = places.map(move |place| {
        let first = (place.0 * BOOK + place.1) * PAGE;
        (first as Id, page(before, place), page(now, place))
    });
    pages.filter(|(_, before, now)| !std::ptr::eq(*before, *now))
}

fn write_class(class: Class, out: &mut Writer) {
    // A reason has a number only within one version, and changes only within one process.
    let numbered = Class {
        failed: None,
        changes: ChangesId::NONE,
        ..class
    };
    out.number(numbered.to_bits());
    out.string(class.failed.map_or("", RejectReason::name));
    let changes = class.changes.changes().unwrap_or_default();
    route_changes::write(&changes, out);
}

fn write_rank(rank: &PeerRank, out: &mut Writer) {
    out.bool(rank.external);
    out.number(rank.bgp_id);
    out.bytes.extend_from_slice(&rank.address.to_be_bytes());
    out.number(rank.default_local_pref);
}

fn write_prefix<K: Key>(prefix: K, out: &mut Writer) {
    let prefix: rutter_net::Prefix = prefix.into();
    let octets = usize::from(prefix.len().div_ceil(8));
    out.u8(prefix.len());
    match prefix.addr() {
        std::net::IpAddr::V4(address) => {
            out.bytes.extend_from_slice(&address.octets()[..octets]);
        }
        std::net::IpAddr::V6(address) => {
            out.bytes.extend_from_slice(&address.octets()[..octets]);
        }
    }
}
