//! Two readers look addresses up while a writer adds and removes prefixes.
//!
//! ```sh
//! cargo run --release --example threads
//! ```

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rutter_lpm::{Profile, Reader, Table};
use rutter_net::Ipv4Prefix;

const CHANGES: u32 = 200_000;

fn main() {
    let mut table = Table::<Ipv4Prefix>::new(Profile::Fast);
    table.insert(prefix(0, 8), 8);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for number in 0..2 {
            let (reader, done) = (table.reader(), &done);
            scope.spawn(move || println!("reader {number}: {} look-ups", read(reader, done)));
        }
        for change in 0..CHANGES {
            let inside = prefix((change % 1_024) << 14, 18);
            match table.get(inside) {
                Some(_) => table.remove(inside),
                None => table.insert(inside, 18),
            };
        }
        done.store(true, Ordering::Relaxed);
    });
    println!("writer: {CHANGES} changes, {} prefixes left", table.len());
}

/// Looks up addresses of 10.0.0.0/8 until the writer is done. Every address has a match at every instant.
fn read(mut reader: Reader<Ipv4Prefix>, done: &AtomicBool) -> u64 {
    let mut lookups = 0;
    while !done.load(Ordering::Relaxed) {
        // A view serves a batch of look-ups. Dropping it lets the writer free removed nodes.
        let view = reader.enter();
        for step in 0..1_000 {
            let addr = Ipv4Addr::from_bits(0x0a00_0000 | (step << 14));
            let length = view.lookup(addr).expect("10.0.0.0/8 contains the address");
            assert!(length == 8 || length == 18);
            lookups += 1;
        }
    }
    lookups
}

/// A prefix inside 10.0.0.0/8.
fn prefix(bits: u32, len: u8) -> Ipv4Prefix {
    Ipv4Prefix::new(0x0a00_0000 | bits, len).expect("a length in range")
}
