//! The table passes to another one in the middle of a history, as a new version of Rutter takes over the one that runs.

use rutter_lpm::Profile;
use rutter_rib::{Batch, ClientStream, PeerId, Rib, RibConfig};
use rutter_wire::handover::BadRecord;

use crate::world::{Actions, Attrs, World, asn, export};

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

/// A table with routes, a client that has everything and one that catches up.
fn world() -> World {
    let mut world = World::new(3, 2, 1 << 20);
    (0..3).for_each(|peer| world.up(peer, peer == 2));
    let attrs = Attrs {
        path: vec![asn(0)],
        origin: 0,
        med: Some(1),
        communities: vec![65_000 << 16 | 1],
    };
    for index in 0..50_u8 {
        world.announce(0, &[format!("10.{index}.0.0/16").parse().unwrap()], &attrs);
    }
    world.drain(1);
    world
}

#[test]
fn records_that_are_incomplete_are_refused() {
    let mut world = world();
    let whole = records(&mut world).expect("a quiet table").concat();
    let read = |records: &[u8]| {
        let records = [records.to_vec()];
        successor(&world, 1, Actions::Sent, false, &records).map(|(_, streams)| streams.len())
    };
    assert_eq!(read(&whole), Ok(3));
    for end in 0..whole.len() {
        assert!(read(&whole[..end]).is_err(), "cut at {end}");
    }
    assert_eq!(
        read(&[&whole[..], &whole[..]].concat()),
        Err(BadRecord("end"))
    );
    let unknown = [&whole[..], &[200]].concat();
    assert!(read(&unknown).is_err());
}

#[test]
fn a_client_of_which_the_new_process_knows_no_session_is_refused() {
    let mut world = world();
    let records = records(&mut world).expect("a quiet table");
    world.clients.pop();
    let other = successor(&world, 1, Actions::Sent, false, &records);
    assert_eq!(other.err(), Some(BadRecord("neighbor")));
}

/// Until the new process goes on, the old one may have to: its clients notice nothing.
#[test]
fn a_table_that_was_held_in_vain_goes_on() {
    let mut world = world();
    let before = world.clients[1].as_ref().map(|client| client.messages);
    for _ in 0..3 {
        records(&mut world).expect("a quiet table");
    }
    world.drain(1);
    let after = world.clients[1].as_ref().map(|client| client.messages);
    assert_eq!(before, after);
    world.drain(2);
    let held = world.clients[2].as_ref().map(|client| client.held.len());
    assert_eq!(held, Some(50));
}
