//! Answers which AS originates an address, and which prefixes cover it.
//!
//! ```sh
//! cargo run --example origins -- 192.0.2.200                   # a small built-in table
//! cargo run --example origins -- --table FILE 192.0.2.200      # a file with `PREFIX ASN` a line
//! ```

use std::error::Error;
use std::net::Ipv4Addr;

use rutter_lpm::{Profile, Table};
use rutter_net::Ipv4Prefix;

const SAMPLE: &str = "192.0.2.0/24 64500\n192.0.2.128/25 64501\n198.51.100.0/22 64502\n";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = match arguments.first().map(String::as_str) {
        Some("--table") => {
            let file = arguments.get(1).ok_or("--table needs a file")?;
            let text = std::fs::read_to_string(file)?;
            arguments.drain(..2);
            text
        }
        _ => SAMPLE.to_owned(),
    };
    let table = read(&text)?;
    println!("{} prefixes, {} bytes", table.len(), table.size().taken);
    if arguments.is_empty() {
        arguments.push("192.0.2.200".to_owned());
    }
    for argument in &arguments {
        answer(&table, argument.parse()?);
    }
    Ok(())
}

/// Reads a table with a prefix and an AS number a line.
fn read(text: &str) -> Result<Table<Ipv4Prefix>, Box<dyn Error>> {
    let mut table = Table::new(Profile::Fast);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (prefix, asn) = line.split_once(' ').ok_or("a line is not `PREFIX ASN`")?;
        table.insert(prefix.parse()?, asn.trim().parse()?);
    }
    Ok(table)
}

fn answer(table: &Table<Ipv4Prefix>, addr: Ipv4Addr) {
    let Some((prefix, asn)) = table.lookup_prefix(addr) else {
        return println!("{addr}: no prefix");
    };
    println!("{addr}: {prefix} of AS{asn}");
    for (outer, asn) in table.covering(prefix).filter(|(outer, _)| *outer != prefix) {
        println!("  inside {outer} of AS{asn}");
    }
}
