//! Validates the origin of a route: `cargo run --example validate vrps.json 192.0.2.0/24 64500`.

use rutter_net::{Asn, Prefix};
use rutter_rpki::Vrps;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, prefix, origin] = arguments.as_slice() else {
        return Err("usage: validate FILE PREFIX ORIGIN".into());
    };
    let vrps = Vrps::parse(&std::fs::read(file)?)?;
    let (prefix, origin): (Prefix, Asn) = (prefix.parse()?, origin.parse()?);
    println!("{}", vrps.validate(prefix, Some(origin.0)));
    Ok(())
}
