//! rutter-rib: everything from the body of an UPDATE to the bytes for a client.

use std::hint::black_box;
use std::rc::Rc;

use harness::{Contestant, contestant, prepared};
use rutter_net::Ipv4Prefix;
use rutter_rib::*;
use rutter_wire::attr::{self, OPTIONAL, TRANSITIVE, code};
use rutter_wire::{nlri, update};

#[path = "../../../crates/rutter-rib/benches/exchange/mod.rs"]
#[allow(dead_code)]
mod exchange;

use exchange::{drain, neighbor, session};

const NAME: &str = "rutter";

/// The UPDATEs with which a peer announces prefixes, 500 in each, as [`update::Writer`] builds them.
fn announcements(count: u32, peer: u32) -> Vec<Vec<u8>> {
    let prefixes: Vec<Ipv4Prefix> = (0..count)
        .filter_map(|index| Ipv4Prefix::new(0x0100_0000 + (index << 8), 24))
        .collect();
    let body = |prefixes: &[Ipv4Prefix]| {
        let mut message = Vec::new();
        let mut writer = update::Writer::new(&mut message);
        let out = writer.attributes();
        attr::write_attr(out, TRANSITIVE, code::ORIGIN, &[0]);
        let path = [1_000 + peer, 65_100, 65_200];
        attr::write_as_path(out, [&path[..]].into_iter());
        let next_hop = (0xc000_0200 + peer).to_be_bytes();
        attr::write_attr(out, TRANSITIVE, code::NEXT_HOP, &next_hop);
        attr::write_attr(out, OPTIONAL, code::MULTI_EXIT_DISC, &[0, 0, 0, 50]);
        nlri::write_ipv4_all(writer.nlri(), prefixes);
        writer.finish();
        message.split_off(19)
    };
    prefixes.chunks(500).map(body).collect()
}

fn withdrawals(count: u32) -> Vec<Vec<u8>> {
    let prefixes: Vec<Ipv4Prefix> = (0..count)
        .filter_map(|index| Ipv4Prefix::new(0x0100_0000 + (index << 8), 24))
        .collect();
    let body = |prefixes: &[Ipv4Prefix]| {
        let mut message = Vec::new();
        let mut writer = update::Writer::new(&mut message);
        nlri::write_ipv4_all(writer.out(), prefixes);
        writer.attributes();
        writer.nlri();
        writer.finish();
        message.split_off(19)
    };
    prefixes.chunks(500).map(body).collect()
}

/// A table with members 1 to `peers`, and `clients` more that only receive.
struct Exchange {
    rib: Rib,
    batch: Batch,
    streams: Vec<ClientStream>,
    ids: Vec<PeerId>,
}

impl Exchange {
    /// Peers that announce and receive nothing (like a collector's), then one client that receives.
    fn new(peers: u32, clients: u32) -> Self {
        let rib = exchange::rib(1);
        let (mut streams, mut ids) = (Vec::new(), Vec::new());
        for peer in 1..=peers + clients {
            let mut neighbor = neighbor(peer);
            neighbor.export_allowed = peer > peers;
            if clients == 0 {
                neighbor.kind = PeerKind::Collector;
            }
            let id = rib.add_neighbor(neighbor).expect("few neighbors");
            streams.extend(rib.session_up(id, session(peer)));
            ids.push(id);
        }
        let mut exchange = Exchange {
            rib,
            batch: Batch::new(),
            streams,
            ids,
        };
        exchange.send();
        exchange
    }

    /// Receives the UPDATEs of member `peer`, with one commit for each read of a socket.
    fn receive(&mut self, peer: u32, bodies: &[Vec<u8>]) {
        for some in bodies.chunks(16) {
            for body in some {
                let pushed = self
                    .batch
                    .push(&self.rib, self.ids[peer as usize - 1], body, 0);
                assert!(pushed.faults.is_empty() && pushed.reset.is_none());
            }
            self.rib.commit(&mut self.batch);
        }
    }

    fn send(&mut self) -> usize {
        self.rib.flush();
        let streams = self.streams.iter_mut();
        streams.map(|stream| drain(stream, &self.rib)).sum()
    }
}

/// A thousand comparisons. Kind 0: equal except for the peers, which must differ here; 1: LOCAL_PREF differs; 2: of different
/// peers.
pub fn comparison(kind: u32) -> Contestant {
    let block = |peer: u32, local_pref: u32| {
        let mut out = Vec::new();
        attr::write_attr(&mut out, TRANSITIVE, code::ORIGIN, &[0]);
        let path = [1_000 + peer, 65_100, 65_200];
        attr::write_as_path(&mut out, [&path[..]].into_iter());
        let next_hop = (0xc000_0200 + peer).to_be_bytes();
        attr::write_attr(&mut out, TRANSITIVE, code::NEXT_HOP, &next_hop);
        attr::write_attr(&mut out, OPTIONAL, code::MULTI_EXIT_DISC, &[0, 0, 0, 50]);
        let local_pref = local_pref.to_be_bytes();
        attr::write_attr(&mut out, TRANSITIVE, code::LOCAL_PREF, &local_pref);
        out
    };
    let second = match kind {
        0 => block(1, 100),
        1 => block(2, 200),
        _ => block(2, 100),
    };
    let contest = RoutePair::new([&block(1, 100), &second]);
    contestant(NAME, move || {
        for _ in 0..1_000 {
            black_box(black_box(&contest).decide());
        }
    })
}

/// Routes of one peer into an empty table.
pub fn insert(count: u32) -> Contestant {
    let bodies = announcements(count, 1);
    prepared(
        NAME,
        || Exchange::new(1, 0),
        move |mut exchange| {
            exchange.receive(1, &bodies);
            exchange
        },
    )
}

/// A thousand prefixes with one candidate less; then each receives one more and is decided.
pub fn candidate(number: u32) -> Contestant {
    let last = announcements(1_000, number);
    let others: Rc<Vec<_>> = Rc::new((1..number).map(|peer| announcements(1_000, peer)).collect());
    prepared(
        NAME,
        move || {
            let mut exchange = Exchange::new(number, 0);
            for (peer, bodies) in (1..).zip(others.iter()) {
                exchange.receive(peer, bodies);
            }
            exchange
        },
        move |mut exchange| {
            exchange.receive(number, &last);
            exchange
        },
    )
}

/// Two peers, the choice, and the bytes for one client.
pub fn pipeline(count: u32) -> Contestant {
    let (first, second) = (announcements(count, 1), announcements(count, 2));
    prepared(
        NAME,
        || Exchange::new(2, 1),
        move |mut exchange| {
            exchange.receive(1, &first);
            exchange.receive(2, &second);
            let sent = exchange.send();
            assert!(sent > 0);
            exchange
        },
    )
}

/// Some of the 10,000 prefixes of one peer get a second candidate, which then is withdrawn.
pub fn churn(count: u32) -> Contestant {
    let base = announcements(10_000, 1);
    let (come, go) = (announcements(count, 2), withdrawals(count));
    prepared(
        NAME,
        move || {
            let mut exchange = Exchange::new(2, 1);
            exchange.receive(1, &base);
            exchange.send();
            exchange
        },
        move |mut exchange| {
            exchange.receive(2, &come);
            exchange.send();
            exchange.receive(2, &go);
            exchange.send();
            exchange
        },
    )
}

/// Two peers' routes, with the choice between them.
pub fn both_peers(count: u32) -> impl Sized + use<> {
    let mut exchange = Exchange::new(2, 0);
    for peer in 1..=2 {
        for body in announcements(count, peer) {
            exchange.receive(peer, &[body]);
        }
    }
    exchange
}
