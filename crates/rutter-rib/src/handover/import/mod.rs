//! The table of the process that continues: read from the records of the one before.

mod clients;
mod destinations;
mod neighbors;

use std::collections::BTreeMap;

use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix, PerFamily};
use rutter_policy::{ChangesId, Class, RejectReason};
use rutter_wire::attr::Attributes;
use rutter_wire::handover::{BadRecord, Reader};

use self::destinations::Places;
use super::{Tag, records, route_changes};
use crate::adj_rib_in::attr_set::Summary;
use crate::adj_rib_in::edit::Keys;
use crate::adj_rib_in::shard::Stored;
use crate::adj_rib_in::table::Id;
use crate::adj_rib_in::tally::Tally;
use crate::adj_rib_in::verdict::Verdict;
use crate::decision::PeerRank;
use crate::{AttrSet, ClientStream, Neighbor, PeerId, Rib, TableTotals};

/// Room for more destinations is made when they come.
const MOST_RESERVED: usize = 4 << 20;

/// Reads the records of a table into an empty one.
pub struct TableImport<'a> {
    rib: &'a Rib,
    is_last_stage: bool,
    /// The neighbors whose items have not arrived.
    awaited: Vec<PeerId>,
    /// The ranks of neighbors in the process before, and the counts of their routes. Both have the same length.
    ranks: Vec<PeerRank>,
    tallies: Vec<PerFamily<Tally>>,
    /// A rank changed after routes were put in order by it.
    has_other_ranks: bool,
    /// The meaning of each octet.
    verdicts: [Option<Verdict>; 256],
    sets: Vec<AttrSet>,
    /// By the number of the destination.
    places: PerFamily<Places>,
    /// The destinations whose routes have another order here, with the order of the process before: what clients hold of
    /// them is uncertain.
    reordered: PerFamily<BTreeMap<(u32, Id), Keys>>,
    streams: Vec<ClientStream>,
    totals: TableTotals,
    is_complete: bool,
}

/// A table that was read.
pub struct ImportedTable {
    /// Its size.
    pub totals: TableTotals,
    /// The streams of its clients.
    pub streams: Vec<ClientStream>,
    /// Call [`Rib::release_imported`] when there is time.
    pub sets: ImportedSets,
}

/// The attribute sets of a table that was read. Until they are released, unused ones stay in memory too.
pub struct ImportedSets(Vec<AttrSet>);

impl Rib {
    /// Begins to read the records of a table. The table must be empty, and `neighbors` those of the other table under
    /// the same ids: the identifiers of paths that clients hold follow from these.
    pub fn import(&self, neighbors: Vec<(PeerId, Neighbor)>) -> TableImport<'_> {
        let mut topology = self.topology.write();
        for (peer, neighbor) in neighbors {
            topology.add_as(peer, neighbor);
        }
        topology.rebuild_rules();
        drop(topology);
        self.changed();
        TableImport {
            rib: self,
            is_last_stage: false,
            awaited: Vec::new(),
            ranks: Vec::new(),
            tallies: Vec::new(),
            has_other_ranks: false,
            verdicts: [None; 256],
            sets: Vec::new(),
            places: PerFamily::default(),
            reordered: PerFamily::default(),
            streams: Vec::new(),
            totals: TableTotals::default(),
            is_complete: false,
        }
    }

    /// Releases the attribute sets of a table that was read. O(attribute sets).
    pub fn release_imported(&self, sets: ImportedSets) {
        for set in sets.0 {
            self.store.release_unrouted(set);
        }
    }

    /// Evaluates all routes again, after they were read with the verdicts of another process. Clients receive only
    /// differences. `notify` is as in [`Rib::replace_neighbors`].
    pub fn reevaluate_all(&self, notify: impl FnMut()) {
        let peers: Vec<PeerId> = self.topology.read().iter().map(|(id, _)| id).collect();
        self.reevaluate_imports(&peers, notify);
    }
}

impl TableImport<'_> {
    /// Reads one record.
    pub fn record(&mut self, record: &[u8]) -> Result<(), BadRecord> {
        let mut items = Reader::new(records::items(record)?);
        while !items.is_empty() {
            let tag = Tag::from_octet(items.u8("kind")?).ok_or(BadRecord("kind"))?;
            if self.is_complete || tag.is_of_last_stage() && !self.is_last_stage {
                return Err(BadRecord("end"));
            }
            match tag {
                Tag::Size => self.size(&mut items)?,
                Tag::Rank => self.rank(&mut items)?,
                Tag::Verdict => self.verdict(&mut items)?,
                Tag::AttributeSet => self.attribute_set(&mut items)?,
                Tag::Ipv4Destination => self.destination::<Ipv4Prefix>(&mut items)?,
                Tag::Ipv6Destination => self.destination::<Ipv6Prefix>(&mut items)?,
                Tag::Ipv4Removal => self.removal::<Ipv4Prefix>(&mut items)?,
                Tag::Ipv6Removal => self.removal::<Ipv6Prefix>(&mut items)?,
                Tag::Neighbor => self.neighbor(&mut items)?,
                Tag::Owner => self.owner(&mut items)?,
                Tag::Audience => self.audience(&mut items)?,
                Tag::Client => self.client(&mut items)?,
                Tag::End => self.end(&mut items)?,
            }
        }
        Ok(())
    }

    /// Completes the table after the last record.
    pub fn finish(self) -> Result<ImportedTable, BadRecord> {
        if !self.is_complete || !self.awaited.is_empty() {
            return Err(BadRecord("end"));
        }
        let topology = self.rib.topology.read();
        for (index, of_peer) in self.tallies.iter().enumerate() {
            for family in Family::ALL {
                let tally = &of_peer[family];
                match topology.peer(PeerId(index as u16)) {
                    Some(peer) => peer.counts.add(family, tally),
                    None if tally.received == Tally::default().received => {}
                    None => return Err(BadRecord("neighbor")),
                }
                topology.count_routes(tally);
            }
        }
        drop(topology);
        self.rib.changed();
        Ok(ImportedTable {
            totals: self.totals,
            streams: self.streams,
            sets: ImportedSets(self.sets),
        })
    }

    fn size(&mut self, item: &mut Reader<'_>) -> Result<(), BadRecord> {
        let ipv4: usize = item.number("count of destinations")?;
        let ipv6: usize = item.number("count of destinations")?;
        let share = |count: usize| count.min(MOST_RESERVED) / self.rib.shards.len();
        for shard in &self.rib.shards {
            let mut shard = shard.lock();
            Ipv4Prefix::table_mut(&mut shard).reserve(share(ipv4));
            Ipv6Prefix::table_mut(&mut shard).reserve(share(ipv6));
        }
        Ok(())
    }

    fn verdict(&mut self, item: &mut Reader<'_>) -> Result<(), BadRecord> {
        let octet = usize::from(item.u8("verdict")?);
        let find = |name: &str| {
            let mut all = RejectReason::ALL.iter().copied();
            all.find(|reason| reason.name() == name)
                .ok_or(BadRecord("reason of rejection"))
        };
        let verdict = if item.bool("verdict")? {
            let class = Class::from_bits(item.number("class")?);
            let failed = match item.string("failed check")? {
                "" => None,
                name => Some(find(name)?),
            };
            let changes = ChangesId::of(&route_changes::read(item)?);
            let class = Class {
                failed,
                changes: changes.ok_or(BadRecord("place for changes of filters"))?,
                ..class
            };
            let topology = self.rib.topology.read();
            let verdict = topology.classes.known_verdict(class);
            verdict.ok_or(BadRecord("place for a class"))?
        } else {
            Verdict::rejected(find(item.string("reason of rejection")?)?)
        };
        self.verdicts[octet] = Some(verdict);
        Ok(())
    }

    fn attribute_set(&mut self, item: &mut Reader<'_>) -> Result<(), BadRecord> {
        let block = item.octets("attributes")?;
        let next_hop = item.octets("next hop")?;
        let attributes = Attributes::from_canonical(block);
        let summary = || Summary::of(&attributes);
        let owner = PeerId(item.number("neighbor of attributes")?);
        let set = self.rib.store.intern(owner, block, next_hop, summary);
        if item.bool("audience")? {
            self.rib.assign_audience(&set, &attributes);
        }
        self.sets.push(set);
        Ok(())
    }

    fn set(&self, item: &mut Reader<'_>) -> Result<&AttrSet, BadRecord> {
        let number: usize = item.number("attribute set")?;
        self.sets.get(number).ok_or(BadRecord("attribute set"))
    }

    fn owner(&mut self, item: &mut Reader<'_>) -> Result<(), BadRecord> {
        let set = self.set(item)?;
        let owner = PeerId(item.number("neighbor of attributes")?);
        self.rib.store.charge(set, owner);
        Ok(())
    }

    fn audience(&mut self, item: &mut Reader<'_>) -> Result<(), BadRecord> {
        let set = self.set(item)?;
        self.rib.assign_audience(set, &set.attributes());
        Ok(())
    }

    fn end(&mut self, item: &mut Reader<'_>) -> Result<(), BadRecord> {
        self.put_in_order();
        let totals = TableTotals {
            destinations: item.number("count of destinations")?,
            routes: item.number("count of routes")?,
        };
        if totals != self.totals {
            return Err(BadRecord("count of routes"));
        }
        self.is_complete = true;
        Ok(())
    }
}
