//! The hot functions, each in a `step_…` function of its own, on inputs that are the same everywhere. They are for
//! counting instructions (`tools/ratchet`), not for measuring time. A `black_box` with a step's name keeps the linker
//! from merging two functions with the same code.
//!
//! Prints each step with the number of units that it processed.

mod exchange;

use std::hint::black_box;

use exchange::{Random, checked_neighbor, drain, neighbor, outside_data, rib, session, updates};
use rutter_lpm::{PrefixMap, Profile};
use rutter_net::{Ipv4Prefix, PerFamily};
use rutter_rib::*;
use rutter_wire::attr::{self, AttrContext};
use rutter_wire::{frame, nlri, update};

const PREFIXES: u32 = 20_000;
const CLIENTS: u32 = 8;

fn main() {
    let bodies: Vec<Vec<Vec<u8>>> = (0..2).map(|peer| updates(peer, PREFIXES, 0)).collect();
    codec(&bodies[0]);
    decisions(&bodies[0][0]);
    table(&bodies);
    checked(&bodies);
    lookups();
}

/// Prints the number of units that a step processed.
fn report(step: &str, units: usize, unit: &str) {
    println!("{step} {units} {unit}");
}

fn codec(bodies: &[Vec<u8>]) {
    let mut stream = Vec::new();
    for body in bodies {
        stream.extend_from_slice(&[0xff; 16]);
        stream.extend_from_slice(&(19 + body.len() as u16).to_be_bytes());
        stream.push(2);
        stream.extend_from_slice(body);
    }
    report("step_frame", step_frame(&stream), "message");
    report("step_attributes", step_attributes(bodies), "message");
    let long: Vec<u8> = bodies
        .iter()
        .filter_map(|body| Some(update::split(body).ok()?.nlri.to_vec()))
        .flatten()
        .collect();
    report("step_nlri_long", step_nlri_long(&long), "prefix");
    report("step_nlri_short", step_nlri_short(bodies), "message");
}

#[inline(never)]
fn step_frame(stream: &[u8]) -> usize {
    let mut rest = stream;
    let mut count = 0;
    while let Ok(Some(frame)) = frame::next_frame(rest, frame::MAX_LEN) {
        rest = &rest[frame.wire.len()..];
        black_box(frame);
        count += 1;
    }
    count
}

#[inline(never)]
fn step_attributes(bodies: &[Vec<u8>]) -> usize {
    let context = AttrContext {
        as4: true,
        external: true,
        accept_as_set: false,
        has_ipv4_nlri: true,
    };
    let mut faults = Vec::new();
    for body in bodies {
        if let Ok(sections) = update::split(body) {
            black_box(attr::parse(sections.attributes, &context, &mut faults));
        }
    }
    assert!(faults.is_empty());
    bodies.len()
}

#[inline(never)]
fn step_nlri_long(bytes: &[u8]) -> usize {
    let mut out = Vec::new();
    for chunk in bytes.chunks(4_000) {
        out.clear();
        assert!(nlri::parse_ipv4(chunk, false, black_box(&mut out)).is_ok());
    }
    bytes.len() / 4
}

#[inline(never)]
fn step_nlri_short(bodies: &[Vec<u8>]) -> usize {
    let mut out = Vec::new();
    for body in bodies {
        out.clear();
        let sections = update::split(body).unwrap_or_default();
        assert!(nlri::parse_ipv4(sections.nlri, false, black_box(&mut out)).is_ok());
    }
    bodies.len()
}

/// Two members announce the same prefixes; they and six others receive the best.
fn table(bodies: &[Vec<Vec<u8>>]) {
    let rib = rib(1);
    let mut streams: Vec<ClientStream> = (0..CLIENTS)
        .map(|peer| {
            let id = rib.add_neighbor(neighbor(peer)).expect("few neighbors");
            rib.session_up(id, session(peer)).expect("a client")
        })
        .collect();
    step_take(&rib, &mut streams);
    let mut batch = Batch::new();
    let routes = PREFIXES as usize;
    step_push_new(&rib, &mut batch, 0, &bodies[0]);
    step_commit_first(&rib, &mut batch);
    report("step_commit_first", routes, "route");
    step_flush_first(&rib);
    report("step_flush_first", routes, "route");
    let octets = step_take(&rib, &mut streams);
    step_push_new(&rib, &mut batch, 1, &bodies[1]);
    report("step_push_new", 2 * routes, "route");
    step_commit_second(&rib, &mut batch);
    report("step_commit_second", routes, "route");
    step_flush_second(&rib);
    report("step_flush_second", routes, "route");
    let octets = octets + step_take(&rib, &mut streams);
    report("step_take", octets / 1_024, "KiB sent");
    // The same again: nothing changes.
    step_push_known(&rib, &mut batch, 0, &bodies[0]);
    report("step_push_known", routes, "route");
    step_commit_same(&rib, &mut batch);
    report("step_commit_same", routes, "route");
    let snapshot = rib.snapshot();
    step_peer_down(&rib);
    report("step_peer_down", routes, "route");
    drop(snapshot);
}

/// A member announces routes that are compared with IRR data and VRPs.
fn checked(bodies: &[Vec<Vec<u8>>]) {
    let rib = rib(1);
    rib.replace_outside_data(outside_data(bodies), || {});
    let id = rib.add_neighbor(checked_neighbor(0)).expect("a neighbor");
    let _stream = rib.session_up(id, session(0)).expect("a client");
    let mut batch = Batch::new();
    push(&rib, &mut batch, 0, &bodies[0]);
    step_commit_checked(&rib, &mut batch);
    report("step_commit_checked", PREFIXES as usize, "route");
}

/// Two routes that differ in nothing but their peers.
fn decisions(body: &[u8]) {
    let block = update::split(body).unwrap_or_default().attributes;
    let pair = RoutePair::new([block, block]);
    step_decide(&pair);
    report("step_decide", 1_000, "comparison");
}

#[inline(never)]
fn step_decide(pair: &RoutePair) {
    for _ in 0..1_000 {
        black_box(black_box(pair).decide());
    }
}

#[inline(never)]
fn step_push_new(rib: &Rib, batch: &mut Batch, peer: u16, bodies: &[Vec<u8>]) {
    push(rib, batch, peer, bodies);
    black_box("push_new");
}

#[inline(never)]
fn step_push_known(rib: &Rib, batch: &mut Batch, peer: u16, bodies: &[Vec<u8>]) {
    push(rib, batch, peer, bodies);
    black_box("push_known");
}

fn push(rib: &Rib, batch: &mut Batch, peer: u16, bodies: &[Vec<u8>]) {
    for body in bodies {
        let pushed = batch.push(rib, PeerId(peer), body, 0);
        assert!(pushed.faults.is_empty());
    }
}

#[inline(never)]
fn step_commit_first(rib: &Rib, batch: &mut Batch) {
    rib.commit(batch);
    black_box("commit_first");
}

#[inline(never)]
fn step_commit_checked(rib: &Rib, batch: &mut Batch) {
    rib.commit(batch);
    black_box("commit_checked");
}

#[inline(never)]
fn step_commit_second(rib: &Rib, batch: &mut Batch) {
    rib.commit(batch);
    black_box("commit_second");
}

#[inline(never)]
fn step_commit_same(rib: &Rib, batch: &mut Batch) {
    rib.commit(batch);
    black_box("commit_same");
}

#[inline(never)]
fn step_flush_first(rib: &Rib) {
    assert!(rib.flush());
    black_box("flush_first");
}

#[inline(never)]
fn step_flush_second(rib: &Rib) {
    assert!(rib.flush());
    black_box("flush_second");
}

#[inline(never)]
fn step_take(rib: &Rib, streams: &mut [ClientStream]) -> usize {
    streams.iter_mut().map(|stream| drain(stream, rib)).sum()
}

#[inline(never)]
fn step_peer_down(rib: &Rib) {
    rib.session_down(PeerId(0), PerFamily::both(Retain::Nothing));
}

fn lookups() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut map = PrefixMap::new(Profile::Fast);
    for value in 0..4 * PREFIXES {
        let len = [24, 24, 24, 23, 22, 20, 16, 19][random.next(8) as usize];
        if let Some(prefix) = Ipv4Prefix::new(random.next(u32::MAX), len) {
            map.insert(prefix, value);
        }
    }
    let addresses: Vec<std::net::Ipv4Addr> =
        (0..50_000).map(|_| random.next(u32::MAX).into()).collect();
    black_box(step_lookup(&map, &addresses));
    report("step_lookup", addresses.len(), "address");
}

#[inline(never)]
fn step_lookup(map: &PrefixMap<Ipv4Prefix, u32>, addresses: &[std::net::Ipv4Addr]) -> usize {
    let found = addresses.iter().filter_map(|address| map.lookup(*address));
    found.count()
}
