//! The clients of a table that is read: their streams, and what they have yet to be sent.

use std::sync::Arc;

use rutter_net::Family;
use rutter_wire::handover::{BadRecord, Reader};

use super::TableImport;
use super::destinations::Place;
use crate::advertise::catch_up::CatchUp;
use crate::advertise::group::Group;
use crate::lifecycle::style;
use crate::{ClientStream, PeerId};

impl TableImport<'_> {
    pub(super) fn client(&mut self, item: &mut Reader<'_>) -> Result<(), BadRecord> {
        self.put_in_order();
        let rib = self.rib;
        let peer = PeerId(item.number("client")?);
        let group = self.group_of(peer)?;
        let mut stream = ClientStream::from_state(rib, peer, group, item)?;
        let is_live = item.bool("client")?;
        if is_live && self.reordered.iter().all(|places| places.is_empty()) {
            stream.follow_from_end();
            let group = stream.group();
            // A client to which nothing is exported any more receives nothing of the log.
            let shards = rib.shards.iter().filter(|_| group.style.advertises);
            shards.for_each(|shard| shard.lock().clients.join(peer, group));
        } else {
            for shard in &rib.shards {
                let style = &stream.group().style;
                shard.lock().begin_catch_up(peer, style);
            }
            for family in Family::ALL {
                if !is_live {
                    self.marks(peer, family, item)?;
                }
                self.mark_reordered(peer, family);
            }
        }
        self.streams.push(stream);
        Ok(())
    }

    /// The group of a client, also of one to which nothing is exported any more.
    fn group_of(&self, client: PeerId) -> Result<Arc<Group>, BadRecord> {
        let mut topology = self.rib.topology.write();
        let held = topology.peer_mut(client).ok_or(BadRecord("client"))?;
        if held.group.is_none() {
            let session = held.session.as_ref();
            let style = session.and_then(|session| style(held, session, self.rib.cluster_id));
            held.group = style.map(|style| self.rib.group(style));
        }
        held.group.clone().ok_or(BadRecord("client"))
    }

    fn marks(
        &self,
        client: PeerId,
        family: Family,
        item: &mut Reader<'_>,
    ) -> Result<(), BadRecord> {
        let places = &self.places[family];
        let marked = item.octets("marks")?;
        let unchanged = item.octets("marks")?;
        let len = places.len().div_ceil(8);
        if marked.len() != len || unchanged.len() != len {
            return Err(BadRecord("marks"));
        }
        let mut shards: Vec<_> = self.rib.shards.iter().map(|shard| shard.lock()).collect();
        let mut with = |place: Place, action: &dyn Fn(&mut CatchUp)| {
            let clients = &mut shards[place.shard as usize].clients;
            if let Some(catching_up) = clients.catching_up(client) {
                action(catching_up);
            }
        };
        for (byte, (marked, unchanged)) in marked.iter().zip(unchanged).enumerate() {
            for bit in (0..8).filter(|bit| marked >> bit & 1 != 0) {
                let place = places.find(8 * byte + bit)?;
                let has_changed = unchanged >> bit & 1 == 0;
                with(place, &|one| {
                    one.restore_mark(family, place.id, has_changed);
                });
            }
        }
        for _ in 0..item.number::<usize>("count of paths")? {
            let number: usize = item.number("destination")?;
            let is_complete = item.bool("paths")?;
            let mut paths = Vec::new();
            for _ in 0..item.number::<usize>("count of paths")? {
                paths.push(item.number("path")?);
            }
            let place = places.find(number)?;
            with(place, &|one| {
                one.restore_paths(family, place.id, is_complete, &paths);
            });
        }
        Ok(())
    }

    /// Sends a client the destinations again whose order is another in this process.
    fn mark_reordered(&self, client: PeerId, family: Family) {
        for ((shard, id), former) in &self.reordered[family] {
            let mut shard = self.rib.shards[*shard as usize].lock();
            if let Some(catching_up) = shard.clients.catching_up(client) {
                catching_up.mark(family, *id);
                catching_up.remember_paths(family, *id, former);
            }
        }
    }
}
