//! Writes a MaxMind DB file with the AS numbers of prefixes.
//!
//! Reads lines like `192.0.2.0/24 64501` from standard input: `cargo run --example asn asn.mmdb < table.txt`.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufWriter, Write as _};

use rutter_mmdb::{Data, Database, Metadata, Value};
use rutter_net::Asn;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: asn FILE")?;
    let mut database = Database::new(Data::new());
    let key = database.data().text("autonomous_system_number");
    let mut maps = HashMap::new();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let (prefix, asn) = line
            .split_once(' ')
            .ok_or("expected a prefix and an AS number")?;
        let asn: Asn = asn.trim().parse()?;
        // Prefixes of the same AS share a map.
        let map = *maps
            .entry(asn)
            .or_insert_with(|| database.data().map(&[(key, Value::U32(asn.0))]));
        database.insert(prefix.parse()?, map);
    }
    let mut out = BufWriter::new(File::create(path)?);
    database.write(&Metadata::default(), &mut out)?;
    Ok(out.flush()?)
}
