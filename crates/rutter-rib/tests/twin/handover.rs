//! The table passes to another one in the middle of a history, as a new version of Rutter takes over the one that runs.

use std::collections::BTreeMap;
use std::convert::Infallible;

use rutter_lpm::Profile;
use rutter_net::{Family, Prefix};
use rutter_rib::{
    Batch, ClientStream, ImportedTable, Neighbor, PeerId, Retain, Rib, RibConfig, RouteView,
    TableExport,
};
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

/// A table that another process has in part.
pub struct Transfer {
    export: TableExport,
    /// The neighbors when it began.
    neighbors: Vec<(PeerId, Neighbor)>,
    /// The records of the stages so far.
    stages: Vec<Vec<u8>>,
}

impl Transfer {
    fn begin(world: &World) -> Self {
        Transfer {
            export: TableExport::default(),
            neighbors: neighbors(world),
            stages: Vec::new(),
        }
    }

    /// Sends what has changed.
    fn send_changes(&mut self, rib: &Rib) -> usize {
        let stages = &mut self.stages;
        let sent = self.export.send_changes(rib, |record| keep(stages, record));
        sent.expect("no error is possible")
    }

    /// The records of the last stage; `None` if another moment is needed.
    fn last_stage(&mut self, world: &mut World) -> Option<Vec<Vec<u8>>> {
        let clients = world.clients.iter_mut().flatten();
        let mut streams: Vec<&mut ClientStream> = clients.map(|client| client.stream()).collect();
        let held = world.rib.hold(&mut streams)?;
        let streams: Vec<&ClientStream> = streams.iter().map(|stream| &**stream).collect();
        let mut records = Vec::new();
        let send = |record: &[u8]| keep(&mut records, record);
        let written = held.write(&mut self.export, &streams, send);
        written.expect("no error is possible");
        Some(records)
    }
}

fn keep(records: &mut Vec<Vec<u8>>, record: &[u8]) -> Result<(), Infallible> {
    records.push(record.to_vec());
    Ok(())
}

fn neighbors(world: &World) -> Vec<(PeerId, Neighbor)> {
    let ids = (0..world.clients.len() as u16).map(PeerId);
    ids.filter_map(|id| Some((id, world.rib.neighbor(id)?)))
        .collect()
}

/// An empty table for the routes of this one.
fn empty(world: &World, shards: usize, actions: Actions, has_mirror: bool) -> Rib {
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
    rib.replace_outside_data(world.rib.outside_data(), || {});
    rib
}

/// Reads a table.
fn read(
    rib: &Rib,
    transfer: &Transfer,
    present: Vec<(PeerId, Neighbor)>,
    last: &[Vec<u8>],
) -> Result<Vec<ClientStream>, BadRecord> {
    let mut import = rib.import(transfer.neighbors.clone());
    for record in &transfer.stages {
        import.record(record)?;
    }
    import.begin_last_stage(present);
    for record in last {
        import.record(record)?;
    }
    let ImportedTable { streams, sets, .. } = import.finish()?;
    rib.release_imported(sets);
    Ok(streams)
}

/// The prefixes, and the neighbors, identifiers and attributes of their routes in order.
type Routes = BTreeMap<Prefix, Vec<(PeerId, u32, Vec<u8>, bool)>>;

fn routes(rib: &Rib) -> Routes {
    let snapshot = rib.snapshot();
    let all = Family::ALL.into_iter();
    let all = all.flat_map(|family| snapshot.destinations(family));
    let route = |route: &RouteView<'_>| {
        let block = route.attrs.block().to_vec();
        (route.peer, route.path_id, block, route.reject.is_some())
    };
    all.map(|one| (one.prefix, one.routes.iter().map(route).collect()))
        .collect()
}

impl World {
    /// Sends another process what has changed since the stage before.
    pub fn send_stage(&mut self) {
        let begun = self.transfer.take();
        let mut transfer = begun.unwrap_or_else(|| Transfer::begin(self));
        transfer.send_changes(&self.rib);
        self.transfer = Some(transfer);
    }

    /// Replaces the table. Clients that had everything are sent nothing.
    pub fn hand_over(&mut self, how: HandOver, actions: Actions) {
        self.commit_rests();
        self.sweep_all();
        let begun = self.transfer.take();
        let mut transfer = begun.unwrap_or_else(|| Transfer::begin(self));
        let Some(last) = transfer.last_stage(self) else {
            self.transfer = Some(transfer);
            return;
        };
        let rib = empty(self, how.shards, actions, how.has_mirror);
        let taken = read(&rib, &transfer, neighbors(self), &last);
        let streams = taken.expect("whole records");
        drop(transfer);
        if how.fails {
            return;
        }
        assert_eq!(routes(&self.rib), routes(&rib));
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

/// A table of which the other process has a first stage, and the records of the last one.
fn in_two_stages(world: &mut World) -> (Transfer, Vec<Vec<u8>>) {
    let mut transfer = Transfer::begin(world);
    assert_eq!(transfer.send_changes(&world.rib), 50);
    world.withdraw(0, &["10.7.0.0/16".parse().unwrap()]);
    let attrs = Attrs {
        path: vec![asn(0), 2],
        origin: 0,
        med: None,
        communities: Vec::new(),
    };
    world.announce(
        0,
        &["10.9.0.0/16", "10.60.0.0/16"].map(|p| p.parse().unwrap()),
        &attrs,
    );
    let last = transfer.last_stage(world).expect("a quiet table");
    (transfer, last)
}

fn read_here(world: &World, transfer: &Transfer, last: &[Vec<u8>]) -> Result<usize, BadRecord> {
    let rib = empty(world, 1, Actions::Sent, false);
    read(&rib, transfer, neighbors(world), last).map(|streams| streams.len())
}

#[test]
fn records_that_are_damaged_are_refused() {
    let mut world = world();
    let (mut transfer, last) = in_two_stages(&mut world);
    assert_eq!(read_here(&world, &transfer, &last), Ok(3));
    let bad = Err(BadRecord("checksum"));
    let (first, last) = (transfer.stages.concat(), last.concat());
    for end in 0..first.len() {
        transfer.stages = vec![first[..end].to_vec()];
        assert_eq!(
            read_here(&world, &transfer, std::slice::from_ref(&last)),
            bad,
            "{end}"
        );
    }
    for place in 0..first.len() {
        transfer.stages = vec![first.clone()];
        transfer.stages[0][place] ^= 1 << (place % 8);
        assert_eq!(
            read_here(&world, &transfer, std::slice::from_ref(&last)),
            bad,
            "{place}"
        );
    }
    transfer.stages = vec![first];
    for end in 0..last.len() {
        let cut = [last[..end].to_vec()];
        assert_eq!(read_here(&world, &transfer, &cut), bad, "{end}");
    }
}

#[test]
fn records_that_are_missing_or_come_twice_are_refused() {
    let mut world = world();
    let (mut transfer, last) = in_two_stages(&mut world);
    let read_with = |transfer: &Transfer, last: &[Vec<u8>]| read_here(&world, transfer, last);
    assert_eq!(read_with(&transfer, &[]), Err(BadRecord("end")));
    let twice = [&last[..], &last[..]].concat();
    assert_eq!(read_with(&transfer, &twice), Err(BadRecord("end")));
    transfer.stages.clear();
    assert!(read_with(&transfer, &last).is_err());
    transfer.stages = last.clone();
    let early = read_with(&transfer, &last);
    assert_eq!(early, Err(BadRecord("end")), "the last stage comes first");
}

#[test]
fn a_client_of_which_the_new_process_knows_no_session_is_refused() {
    let mut world = world();
    let (transfer, last) = in_two_stages(&mut world);
    world.clients.pop();
    let other = read_here(&world, &transfer, &last);
    assert_eq!(other, Err(BadRecord("neighbor")));
}

/// Until the new process goes on, the old one may have to: its clients notice nothing.
#[test]
fn a_table_that_was_held_in_vain_goes_on() {
    let mut world = world();
    let before = world.clients[1].as_ref().map(|client| client.messages);
    for _ in 0..3 {
        let mut transfer = Transfer::begin(&world);
        transfer.last_stage(&mut world).expect("a quiet table");
    }
    world.drain(1);
    let after = world.clients[1].as_ref().map(|client| client.messages);
    assert_eq!(before, after);
    world.drain(2);
    let held = world.clients[2].as_ref().map(|client| client.held.len());
    assert_eq!(held, Some(50));
}

/// A prefix can be withdrawn for good between the end of a catch-up and the turn that frees what was kept for it.
#[test]
fn a_prefix_that_is_withdrawn_after_a_catch_up_is_gone() {
    let mut world = World::new(3, 2, 1 << 20);
    (0..2).for_each(|peer| world.up(peer, false));
    // The attributes differ, so that the table does not fit into what a client is sent at once.
    let announce_all = |world: &mut World, origin: u8| {
        let prefixes: Vec<Prefix> = (0..4_000_u32)
            .map(|n| format!("11.{}.{}.0/24", n / 256, n % 256))
            .map(|prefix| prefix.parse().unwrap())
            .collect();
        for (prefix, med) in prefixes.iter().zip(0..) {
            let attrs = Attrs {
                path: vec![asn(0), 2],
                origin,
                med: Some(med),
                communities: Vec::new(),
            };
            world.announce(0, &[*prefix], &attrs);
        }
        prefixes
    };
    let prefixes = announce_all(&mut world, 0);
    world.up(2, true);
    (0..20).for_each(|_| world.read(2, 4_096));
    for prefix in &prefixes {
        world.withdraw(0, &[*prefix]);
    }
    announce_all(&mut world, 1);
    world.settle();
    assert!(world.rib.has_leftovers(), "a client could hold a prefix");
    // One stays, because an empty table forgets what was kept.
    world.withdraw(0, &prefixes[..3_999]);
    let mut transfer = Transfer::begin(&world);
    let last = transfer.last_stage(&mut world).expect("a quiet table");
    assert_eq!(read_here(&world, &transfer, &last), Ok(3));
}

/// Enough destinations for several pages and books. Between the stages some go and their places are reused, some move, and
/// most stay.
#[test]
fn later_stages_have_only_what_changed() {
    let mut world = World::new(3, 2, 1 << 20);
    (0..3).for_each(|peer| world.up(peer, peer == 2));
    let prefix = |number: u32| -> Prefix {
        match number % 8 {
            0 => format!("2001:db8:{number:x}::/48").parse().unwrap(),
            _ => format!(
                "{}.{}.{}.0/24",
                20 + (number >> 16),
                number >> 8 & 255,
                number & 255
            )
            .parse()
            .unwrap(),
        }
    };
    let of = |numbers: &[u32], ipv6: bool| -> Vec<Prefix> {
        let all = numbers.iter().map(|number| prefix(*number));
        all.filter(|p| matches!(p, Prefix::V6(_)) == ipv6).collect()
    };
    let announce = |world: &mut World, peer: u16, numbers: &[u32], tail: u32| {
        let attrs = Attrs {
            path: vec![asn(peer), tail],
            origin: 0,
            med: None,
            communities: Vec::new(),
        };
        for family in [false, true] {
            world.announce_many(peer, &of(numbers, family), &attrs);
        }
    };
    let withdraw = |world: &mut World, peer: u16, numbers: &[u32]| {
        for family in [false, true] {
            let gone = of(numbers, family);
            gone.chunks(200).for_each(|some| world.withdraw(peer, some));
        }
    };
    const COUNT: u32 = 60_000;
    let all: Vec<u32> = (0..COUNT).collect();
    announce(&mut world, 0, &all, 5);
    announce(&mut world, 1, &all[..COUNT as usize / 2], 6);
    world.drain(1);
    let mut transfer = Transfer::begin(&world);
    assert_eq!(transfer.send_changes(&world.rib), COUNT as usize);
    assert_eq!(transfer.send_changes(&world.rib), 0);
    let mut draw = 1_u32;
    let mut some = |count: u32| -> Vec<u32> {
        let mut next = || {
            draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (draw >> 8) % (COUNT + 5_000)
        };
        (0..count).map(|_| next()).collect()
    };
    for stage in 0..4 {
        for tail in 7..9 {
            let gone = some(500);
            (0..2).for_each(|peer| withdraw(&mut world, peer, &gone));
            announce(&mut world, 0, &some(300), tail + stage);
        }
        let sent = transfer.send_changes(&world.rib);
        assert!((500..3_500).contains(&sent), "{sent}");
    }
    (0..2).for_each(|peer| withdraw(&mut world, peer, &some(2_000)));
    world.sweep_all();
    let last = transfer.last_stage(&mut world).expect("a quiet table");
    for shards in [1, 4] {
        let rib = empty(&world, shards, Actions::Sent, true);
        let streams = read(&rib, &transfer, neighbors(&world), &last).expect("whole records");
        assert_eq!(streams.len(), 3);
        assert_eq!(routes(&rib), routes(&world.rib));
        let bytes = |rib: &Rib| {
            let charged = |id| rib.peer_memory(PeerId(id));
            (0..3).map(charged).collect::<Vec<_>>()
        };
        assert_eq!(bytes(&rib), bytes(&world.rib));
    }
}

/// The memory of a table that became empty is released: all its ids begin again.
#[test]
fn a_table_that_empties_between_stages_is_empty_afterwards() {
    let mut world = world();
    let mut transfer = Transfer::begin(&world);
    transfer.send_changes(&world.rib);
    world.down(0, Retain::Nothing);
    world.settle();
    let rib = empty(&world, 2, Actions::Sent, false);
    let last = transfer.last_stage(&mut world).expect("a quiet table");
    let streams = read(&rib, &transfer, neighbors(&world), &last).expect("whole records");
    assert_eq!(streams.len(), 2);
    assert!(rib.snapshot().is_empty());
}

/// What clients hold depends on the order of the routes, and that on the BGP Identifiers of the neighbors.
#[test]
fn a_neighbor_that_comes_back_with_another_identifier_between_stages_changes_the_order() {
    let mut world = world();
    let attrs = Attrs {
        path: vec![asn(1)],
        origin: 0,
        med: None,
        communities: vec![65_000 << 16 | 1],
    };
    for index in 0..50_u8 {
        world.announce(1, &[format!("10.{index}.0.0/16").parse().unwrap()], &attrs);
    }
    world.settle();
    let mut transfer = Transfer::begin(&world);
    transfer.send_changes(&world.rib);
    let first = |rib: &Rib| routes(rib).values().next().map(|routes| routes[0].0);
    let before = first(&world.rib);
    world.down(0, Retain::Stale);
    world.up_as(0, 5_000 - 4_999 * u32::from(before != Some(PeerId(0))));
    world.settle();
    assert_ne!(first(&world.rib), before);
    let rib = empty(&world, 1, Actions::Sent, false);
    let last = transfer.last_stage(&mut world).expect("a quiet table");
    let streams = read(&rib, &transfer, neighbors(&world), &last).expect("whole records");
    assert_eq!(routes(&rib), routes(&world.rib));
    assert!(
        streams
            .iter()
            .all(|stream| stream.is_drained() && !stream.has_more())
    );
}
