//! End-of-RIB for a station that reads nothing for a time.

use std::collections::HashSet;
use std::io::Read;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use rutter_net::AfiSafi;
use rutter_wire::update;

use super::{TIMEOUT, any_port, establish_again, expect_row, received, reload, station};
use crate::support::{Folder, Speaker, member, start};

/// A session goes down and comes back while the station is sent its routes.
#[test]
fn end_of_rib_follows_all_routes_of_a_session_that_came_back() {
    let folder = Folder::new("bmp-end-of-rib");
    let listener = TcpListener::bind(any_port()).expect("bind");
    let members = format!("{}{}", member(1, 64501, ""), member(2, 64502, ""));
    let (daemon, address) = start(&folder, 2, &members);
    let prefixes: Vec<String> = (0..ROUTES)
        .map(|i| format!("20.{}.{}.0/24", i / 250, i % 250))
        .collect();
    let announce = |speaker: &mut Speaker| {
        for (prefix, i) in prefixes.iter().zip(0..) {
            let path: Vec<u32> = (0..200).map(|at| 65_536 + i * 200 + at).collect();
            speaker.announce(&[prefix], &path);
        }
        let begun = Instant::now();
        while received(&daemon) != ROUTES {
            assert!(begun.elapsed() < TIMEOUT, "{} routes", received(&daemon));
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let mut one = Speaker::establish(1, 64501, address);
    announce(&mut one);
    let there = listener.local_addr().expect("an address");
    let settings = "report = [\"adj-rib-in-pre\"]";
    reload(&folder, &format!("{members}{}", station(there, settings)));
    let (mut station, _) = listener.accept().expect("the daemon connects");
    expect_row(&folder, "full", |row| row.unsent_bytes >= 256 * 1024);
    drop(one);
    let mut one = establish_again(1, 64501, address);
    announce(&mut one);
    station.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
    let (mut begun, mut routes) = (0, HashSet::new());
    loop {
        match read_message(&mut station) {
            (PEER_UP, _) => {
                begun += 1;
                routes.clear();
            }
            (ROUTE_MONITORING, update) if update.len() == END_OF_RIB && begun == 2 => break,
            // A route has an UPDATE of its own, which ends with its prefix.
            (ROUTE_MONITORING, update) if update[19..21] == [0, 0] && update.len() > END_OF_RIB => {
                routes.insert(update[update.len() - 4..].to_vec());
            }
            _ => {}
        }
    }
    assert_eq!(routes.len(), ROUTES as usize);
    daemon.stop("test over");
}

/// The station is there before the member, so the first End-of-RIB follows no routes.
#[test]
fn the_end_of_rib_of_a_member_follows_its_routes_and_its_rejected_routes_are_counted() {
    let folder = Folder::new("bmp-own-end-of-rib");
    let listener = TcpListener::bind(any_port()).expect("bind");
    let there = listener.local_addr().expect("an address");
    let settings = "report = [\"adj-rib-in-pre\"]\nstatistics-interval = \"1s\"";
    let strict = member(1, 64501, "black-list = [\"30.0.0.0/16\"]");
    let (daemon, address) = start(&folder, 2, &format!("{strict}{}", station(there, settings)));
    let (mut station, _) = listener.accept().expect("the daemon connects");
    station.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
    let mut one = Speaker::establish(1, 64501, address);
    let is_end = |kind, update: &[u8]| kind == ROUTE_MONITORING && update.len() == END_OF_RIB;
    while !matches!(read_message(&mut station), (kind, update) if is_end(kind, &update)) {}
    let prefixes: Vec<String> = (0..100).map(|i| format!("30.{}.{i}.0/24", i % 2)).collect();
    for some in prefixes.chunks(10) {
        let some: Vec<&str> = some.iter().map(String::as_str).collect();
        one.announce(&some, &[]);
    }
    let mut message = Vec::new();
    update::write_end_of_rib(&mut message, AfiSafi::IPV4_UNICAST);
    one.send(&message);
    let mut routes = HashSet::new();
    loop {
        let (kind, update) = read_message(&mut station);
        if is_end(kind, &update) {
            break;
        }
        if kind == ROUTE_MONITORING {
            // A /24 takes four octets.
            let nlri = update::split(&update[19..]).expect("an UPDATE").nlri;
            routes.extend(nlri.chunks(4).map(<[u8]>::to_vec));
        }
    }
    assert_eq!(routes.len(), prefixes.len());
    // The counter never decreases: a rejected route counts again when it comes again.
    let mut rejected = |expected: u32| loop {
        if let (STATISTICS, report) = read_message(&mut station) {
            // The number of the statistics, then type, length and value of the first.
            assert_eq!(report[4..8], [0, 0, 0, 4], "type 0 is a counter of 32 bits");
            let value = u32::from_be_bytes(report[8..12].try_into().expect("four octets"));
            assert!(value <= expected, "{value}");
            if value == expected {
                return;
            }
        }
    };
    rejected(50);
    one.withdraw(&["30.0.0.0/24"]);
    let begun = Instant::now();
    while received(&daemon) != 99 {
        assert!(begun.elapsed() < TIMEOUT, "{} routes", received(&daemon));
        std::thread::sleep(Duration::from_millis(20));
    }
    one.announce(&["30.0.0.0/24"], &[]);
    rejected(51);
    daemon.stop("test over");
}

/// Their messages exceed the buffers of a connection.
const ROUTES: u32 = 12_000;
const ROUTE_MONITORING: u8 = 0;
const STATISTICS: u8 = 1;
const PEER_UP: u8 = 3;
/// The length of an UPDATE without routes and attributes.
const END_OF_RIB: usize = 23;

/// The type of the next message, and the data behind the per-peer header.
fn read_message(station: &mut impl Read) -> (u8, Vec<u8>) {
    let mut header = [0; 6];
    station.read_exact(&mut header).expect("a message");
    let [_, a, b, c, d, kind] = header;
    let mut body = vec![0; u32::from_be_bytes([a, b, c, d]) as usize - header.len()];
    station.read_exact(&mut body).expect("the rest of it");
    (kind, body.split_off(body.len().min(42)))
}
