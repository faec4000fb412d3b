//! The memory of the table, and the neighbors that are charged for it.

mod lab;

use lab::*;
use rutter_net::PerFamily;
use rutter_rib::*;
use rutter_wire::attr::code;

const CLIENT: PeerKind = PeerKind::RouteServerClient;

/// The bytes that an IPv4 route counts.
const ROUTE_BYTES: u64 = 50;

/// The bytes that an attribute set counts for its place in the index.
const INDEX_ENTRY_BYTES: u64 = 21;

/// The bytes that attribute sets count: those of `memory`, and their places in the index.
fn set_bytes(lab: &Lab) -> u64 {
    let rows = lab.rib.memory();
    let row = rows.iter().find(|row| row.what == "attribute sets");
    row.map_or(0, |row| row.bytes + row.count * INDEX_ENTRY_BYTES)
}

/// The bytes of the index.
fn index_bytes(lab: &Lab) -> u64 {
    let rows = lab.rib.memory();
    let row = rows.iter().find(|row| row.what == "attribute set index");
    row.map_or(0, |row| row.bytes)
}

fn charged(lab: &Lab) -> [u64; 3] {
    [0, 1, 2].map(|peer| lab.rib.peer_memory(PeerId(peer)))
}

fn end(lab: &mut Lab, peer: u16) {
    lab.streams[usize::from(peer)] = None;
    let nothing = PerFamily::both(Retain::Nothing);
    lab.rib.session_down(PeerId(peer), nothing);
}

#[test]
fn the_sum_of_all_charges_is_the_memory() {
    let mut lab = Lab::new(&[(CLIENT, 1), (CLIENT, 2), (CLIENT, 3)]);
    for number in 0..200_u32 {
        let peer = (number % 3) as u16;
        let prefix = format!("10.0.{number}.0/24");
        lab.announce(peer, &Block::new(&[7, 1 + number % 50]).0, &prefix);
    }
    let all: u64 = charged(&lab).iter().sum();
    assert_eq!(all, set_bytes(&lab) + 200 * ROUTE_BYTES);
    for number in 0..20_000_u32 {
        let prefix = format!("11.{}.{}.0/24", number / 256, number % 256);
        lab.announce(0, &Block::new(&[7, 1_000 + number]).0, &prefix);
        if number % 1_000 == 999 {
            let sets = u64::from(50 + number + 1);
            assert!(index_bytes(&lab) <= sets * INDEX_ENTRY_BYTES + 64 * 256);
        }
    }
    (0..3).for_each(|peer| end(&mut lab, peer));
    assert_eq!((charged(&lab), set_bytes(&lab)), ([0; 3], 0));
}

#[test]
fn nobody_is_charged_for_what_others_announced_later() {
    let mut lab = Lab::new(&[(CLIENT, 1), (CLIENT, 2), (CLIENT, 3)]);
    let block = Block::new(&[7; 60]).0;
    lab.announce(0, &block, "10.0.0.0/24");
    let [of_first, ..] = charged(&lab);
    // A set that all announce is charged to the last.
    lab.announce(1, &block, "10.0.0.0/24");
    let [first, second, _] = charged(&lab);
    assert_eq!((first, second), (ROUTE_BYTES, of_first));
    lab.announce(0, &block, "10.0.1.0/24");
    assert_eq!(charged(&lab), [of_first + ROUTE_BYTES, ROUTE_BYTES, 0]);
    // The neighbor is gone, and its id with it. The set stays, because another uses it.
    end(&mut lab, 0);
    lab.rib.remove_neighbor(PeerId(0));
    let other = lab.rib.add_neighbor(neighbor(1, CLIENT, 1)).unwrap();
    assert_eq!((other, charged(&lab)), (PeerId(0), [0, ROUTE_BYTES, 0]));
    assert!(set_bytes(&lab) > 0);
    end(&mut lab, 1);
    assert_eq!((charged(&lab), set_bytes(&lab)), ([0; 3], 0));
}

/// The bound without a walk must be near the exact figure.
#[test]
fn the_memory_in_use_is_about_what_the_rows_say() {
    let mut lab = Lab::new(&[(CLIENT, 1), (CLIENT, 2), (CLIENT, 3)]);
    for number in 0..9_000_u32 {
        let prefix = format!("10.{}.{}.0/24", number / 3 / 256, number / 3 % 256);
        let block = Block::new(&[7, 1 + number % 5_000]).0;
        lab.announce((number % 3) as u16, &block, &prefix);
    }
    let in_use = lab.rib.memory_in_use();
    let rows = lab.rib.memory();
    let of_routes = rows.iter().filter(|row| row.what != "outbound logs");
    let exact: u64 = of_routes.map(|row| row.bytes).sum();
    let ratio = in_use as f64 / exact as f64;
    assert!((0.95..1.2).contains(&ratio), "{in_use} of {exact}");
}

/// Attributes with the action community `0:asn`.
fn not_to(asn: u16) -> Vec<u8> {
    let [high, low] = asn.to_be_bytes();
    let block = Block::new(&[7]);
    block.with(0xc0, code::COMMUNITIES, &[0, 0, high, low]).0
}

/// Attributes with the action communities `0:asn` of 800 ASes.
fn not_to_many(number: u16) -> Vec<u8> {
    let asns = (0..800).map(|asn| number + asn).map(u16::to_be_bytes);
    let value: Vec<u8> = asns.flat_map(|[high, low]| [0, 0, high, low]).collect();
    Block::new(&[7]).with(0xd0, code::COMMUNITIES, &value).0
}

/// The number of audiences, and their bytes.
fn audiences(lab: &Lab) -> (u64, u64) {
    let rows = lab.rib.memory();
    let row = rows.iter().find(|row| row.what.starts_with("audiences"));
    row.map_or((0, 0), |row| (row.count, row.bytes))
}

/// What long lists of action communities ask for is counted, and charged to the neighbor that sent them.
#[test]
fn the_lists_of_audiences_are_charged() {
    let mut lab = Lab::new(&[(CLIENT, 1), (CLIENT, 2), (CLIENT, 3)]);
    for number in 0..100 {
        lab.announce(0, &not_to_many(number), &format!("10.0.{number}.0/24"));
    }
    let lists = 100 * 800 * 4;
    let (count, bytes) = audiences(&lab);
    assert!(count == 101 && bytes > lists, "{count}, {bytes}");
    let of_sets = set_bytes(&lab) + 100 * ROUTE_BYTES;
    let [of_sender, ..] = charged(&lab);
    let of_audiences = of_sender - of_sets;
    assert!(
        of_audiences > lists && of_audiences <= bytes,
        "{of_audiences}"
    );
    // Another set with the same list charges the one that announces it.
    let other = Block(not_to_many(0)).with(0xc0, code::LARGE_COMMUNITIES, &[9; 12]);
    lab.announce(1, &other.0, "10.1.0.0/24");
    let [_, of_second, _] = charged(&lab);
    assert!(of_second > 800 * 4 * 2, "{of_second}");
    // The neighbor is gone, and another one has its id.
    end(&mut lab, 1);
    lab.rib.remove_neighbor(PeerId(1));
    assert_eq!(charged(&lab)[1], 0);
}

/// The audiences of sets that are gone go although no more routes come.
#[test]
fn unused_audiences_are_given_back_in_quiet_times() {
    let mut lab = Lab::new(&[(CLIENT, 1), (CLIENT, 2), (CLIENT, 3)]);
    for number in 0..500 {
        let prefix = format!("10.{}.{}.0/24", number / 256, number % 256);
        lab.announce(0, &not_to_many(number), &prefix);
    }
    lab.announce(1, &not_to_many(7), "11.0.0.0/24");
    end(&mut lab, 0);
    assert_eq!(audiences(&lab).0, 501);
    let mut turns = 0;
    while {
        lab.rib.tidy();
        lab.rib.has_leftovers()
    } {
        turns += 1;
    }
    assert!((500 / 16..200).contains(&turns), "{turns}");
    let (count, bytes) = audiences(&lab);
    assert!(count == 2 && bytes < 128 * 1024, "{count}, {bytes}");
    assert_eq!(charged(&lab)[0], 0);
}

/// A peer may ask for another audience with every route. Unused ones go, in steps.
#[test]
fn unused_audiences_are_used_again() {
    let mut lab = Lab::new(&[(CLIENT, 1), (CLIENT, 2), (CLIENT, 3)]);
    for number in 0..20_000_u32 {
        lab.announce(0, &not_to(number as u16), "10.0.0.0/24");
    }
    let (count, _) = audiences(&lab);
    assert!(count < 3_000, "{count}");
    // They still serve the clients: AS2 is left out.
    lab.received(PeerId(1));
    lab.received(PeerId(2));
    lab.announce(0, &not_to(2), "10.0.1.0/24");
    assert_eq!(lab.block(1), None);
    assert!(lab.block(2).is_some());
}
