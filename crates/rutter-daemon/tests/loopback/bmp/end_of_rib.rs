//! End-of-RIB for a station that reads nothing for a time.

use std::collections::HashSet;
use std::io::Read;
use std::net::TcpListener;
use std::time::{Duration, Instant};

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

/// Their messages exceed the buffers of a connection.
const ROUTES: u32 = 12_000;
const ROUTE_MONITORING: u8 = 0;
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
