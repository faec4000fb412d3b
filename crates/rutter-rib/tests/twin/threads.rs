//! The same table under real threads: each drives its own peer, and in the end every client must be exact.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use rutter_net::{PerFamily, Prefix};
use rutter_rib::{Batch, PeerId, Retain};

use crate::model::Model;
use crate::world::{Actions, Attrs, Client, World, announcement, asn, withdrawal};
use crate::{ACTIONS, PEERS, PREFIXES, add_path, prefix};

pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % end
    }
}

fn attrs(random: &mut Random, peer: u16) -> Attrs {
    let tail = (0..random.below(3)).map(|n| n as u32 + 1);
    let denied = (random.below(4) == 0).then(|| asn(random.below(6) as u16));
    let by_rtt = (random.below(4) == 0).then(|| (64 + random.below(4) as u32) << 16 | 20);
    Attrs {
        path: std::iter::once(asn(peer)).chain(tail).collect(),
        origin: random.below(2) as u8,
        med: (random.below(3) == 0).then(|| random.below(3) as u32),
        communities: denied.into_iter().chain(by_rtt).collect(),
    }
}

/// One thread: a peer that announces, withdraws, flaps and reads at random.
fn live(
    world: &World,
    peer: u16,
    seed: u64,
    (quiet, at_work): (&Barrier, &AtomicUsize),
) -> (Vec<(Prefix, Attrs)>, Client) {
    let rib = &world.rib;
    let mut random = Random(seed ^ u64::from(peer) << 32);
    let mut batch = Batch::new();
    let mut held: Vec<Option<Attrs>> = vec![None; usize::from(PREFIXES)];
    let mut client = Some(Client::up(rib, peer, add_path(peer)));
    for now_ms in 0..2_000 {
        let index = random.below(u64::from(PREFIXES)) as u8;
        match random.below(20) {
            0 => {
                drop(client.take());
                rib.session_down(PeerId(peer), PerFamily::both(Retain::Nothing));
                held.fill(None);
                client = Some(Client::up(rib, peer, add_path(peer)));
            }
            1..=4 => {
                batch.push(rib, PeerId(peer), &withdrawal(&[prefix(index)]), 0);
                held[usize::from(index)] = None;
            }
            5..=12 => {
                let attrs = attrs(&mut random, peer);
                let body = announcement(peer, &[prefix(index)], &attrs);
                batch.push(rib, PeerId(peer), &body, 0);
                held[usize::from(index)] = Some(attrs);
            }
            _ => {
                let octets = 1 + random.below(2_000) as usize;
                if let Some(client) = &mut client {
                    client.read(rib, octets, now_ms);
                    client.check_lag(rib, now_ms * 1_000);
                }
            }
        }
        rib.commit(&mut batch);
        rib.flush();
    }
    at_work.fetch_sub(1, Ordering::Release);
    quiet.wait();
    let mut client = client.expect("it is up");
    client.drain(rib, 0);
    let index = |(at, attrs): (usize, Option<Attrs>)| Some((prefix(at as u8), attrs?));
    (
        held.into_iter().enumerate().filter_map(index).collect(),
        client,
    )
}

/// Another thread: changes the exchange's action communities while any peer runs.
fn change_policy(world: &World, seed: u64, at_work: &AtomicUsize) -> Actions {
    let mut random = Random(!seed);
    let mut known = Actions::Sent;
    while at_work.load(Ordering::Acquire) > 0 {
        known = ACTIONS[random.below(ACTIONS.len() as u64) as usize];
        world.set_actions(known);
    }
    known
}

/// Another thread: changes the neighbors' import policies and round-trip times. Leaves the last of each in the model.
fn change_neighbors(world: &World, seed: u64, at_work: &AtomicUsize) -> Model {
    let mut random = Random(seed ^ 0xabcd_ef01);
    let mut model = Model::default();
    while at_work.load(Ordering::Acquire) > 0 {
        let longest = 1 + random.below(4) as u16;
        let peers: Vec<u16> = (0..PEERS).filter(|_| random.below(2) == 0).collect();
        world.limit_paths(&peers, longest);
        let limits = peers.iter().map(|peer| (*peer, longest));
        model.longest_paths.extend(limits);
        let rtt = |peer: &u16| (*peer, [5, 15, 25][random.below(3) as usize]);
        let rtts: Vec<(u16, u32)> = peers.iter().map(rtt).collect();
        world.set_rtts(&rtts);
        model.rtts.extend(rtts);
    }
    model
}

#[test]
fn threads_leave_every_client_exact() {
    for seed in 0..6 {
        let world = World::new(PEERS, 4, 4_000);
        let quiet = Barrier::new(usize::from(PEERS) + 1);
        let at_work = AtomicUsize::new(usize::from(PEERS));
        let mut model = Model::default();
        let ends: Vec<_> = std::thread::scope(|scope| {
            let start = |peer| {
                let (world, quiet, at_work) = (&world, &quiet, &at_work);
                scope.spawn(move || live(world, peer, seed, (quiet, at_work)))
            };
            let threads: Vec<_> = (0..PEERS).map(start).collect();
            let changing = scope.spawn(|| change_neighbors(&world, seed, &at_work));
            let actions = change_policy(&world, seed, &at_work);
            model = changing.join().expect("no panic");
            model.actions = actions;
            quiet.wait();
            threads
                .into_iter()
                .map(|t| t.join().expect("no panic"))
                .collect()
        });
        for (peer, (routes, _)) in ends.iter().enumerate() {
            for (prefix, attrs) in routes {
                model.announce(peer as u16, *prefix, attrs);
            }
        }
        for (peer, (_, client)) in ends.iter().enumerate() {
            client.must_hold(&model.expected(peer as u16, add_path(peer as u16)));
        }
    }
}
