//! The table passes to another one in the middle of a history, as a new version of Rutter takes over the one that runs.

use rutter_lpm::Profile;
use rutter_rib::{Batch, ClientStream, PeerId, Rib, RibConfig};
use rutter_wire::handover::BadRecord;

use crate::world::{Actions, World, export};

/// The circumstances of a hand-over.
#[derive(Clone, Copy, Debug)]
pub struct HandOver {
    /// The shards of the new table.
    pub shards: usize,
    /// The new table mirrors its routes for look-ups.
    pub has_mirror: bool,
    /// The new process fails after it has received everything: the old one goes on.
    pub fails: bool,
}

/// The table and its streams as records; `None` if another moment is needed.
pub fn records(world: &mut World) -> Option<Vec<Vec<u8>>> {
    let clients = world.clients.iter_mut().flatten();
    let mut streams: Vec<&mut ClientStream> = clients.map(|client| client.stream()).collect();
    let held = world.rib.hold(&mut streams)?;
    let streams: Vec<&ClientStream> = streams.iter().map(|stream| &**stream).collect();
    let mut records = Vec::new();
    let written = held.write(&streams, |record| {
        records.push(record.to_vec());
        Ok::<_, std::convert::Infallible>(())
    });
    written.expect("no error is possible");
    Some(records)
}

/// A table that was read from the records of this one.
pub fn successor(
    world: &World,
    shards: usize,
    actions: Actions,
    has_mirror: bool,
    records: &[Vec<u8>],
) -> Result<(Rib, Vec<ClientStream>), BadRecord> {
    let rib = Rib::new(RibConfig {
        shards,
        cluster_id: 1,
        log_limit: world.log_limit,
        export: export(actions),
        seed: 99,
        always_compare_med: false,
    });
    if has_mirror {
        rib.enable_lookup(Profile::Compact);
    }
    rib.replace_filter_data(world.rib.filter_data(), || {});
    let ids = (0..world.clients.len() as u16).map(PeerId);
    let neighbors = ids.filter_map(|id| Some((id, world.rib.neighbor(id)?)));
    let mut import = rib.import(neighbors.collect());
    for record in records {
        import.record(record)?;
    }
    let (_, streams) = import.finish()?;
    Ok((rib, streams))
}

impl World {
    /// Replaces the table. Clients that had everything are sent nothing.
    pub fn hand_over(&mut self, how: HandOver, actions: Actions) {
        self.sweep_all();
        let Some(records) = records(self) else {
            return;
        };
        let taken = successor(self, how.shards, actions, how.has_mirror, &records);
        let (rib, streams) = taken.expect("whole records");
        if how.fails {
            return;
        }
        let is_idle = |stream: &ClientStream| stream.is_drained() && !stream.has_more();
        let counts: Vec<_> = self.peer_ids().map(|id| self.rib.counts(id)).collect();
        self.rib = rib;
        let now: Vec<_> = self.peer_ids().map(|id| self.rib.counts(id)).collect();
        assert_eq!(counts, now, "counts of routes");
        let mut had_everything = Vec::new();
        for stream in streams {
            let client = self.clients[stream.peer().index()].as_mut();
            let client = client.expect("a client of the table before");
            had_everything.push(is_idle(client.stream()));
            *client.stream() = stream;
        }
        self.rib.reevaluate_all(|| {
            self.rib.flush();
        });
        self.rib.flush();
        let clients = self.clients.iter_mut().flatten();
        for (client, had_everything) in clients.zip(had_everything) {
            assert_eq!(is_idle(client.stream()), had_everything);
        }
        *self.batch() = Batch::new();
    }

    fn peer_ids(&self) -> impl Iterator<Item = PeerId> + use<> {
        (0..self.clients.len() as u16).map(PeerId)
    }
}
