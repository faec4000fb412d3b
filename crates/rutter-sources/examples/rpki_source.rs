//! Prints each change of the RPKI data of caches and files: `cargo run --example rpki_source 127.0.0.1:3323 vrps.json`.

use std::time::{Duration, Instant};

use rutter_sources::Source;
use rutter_sources::rpki::{RpkiSettings, RpkiSource};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (files, caches): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .partition(|place| !place.contains(':'));
    let settings = RpkiSettings {
        vrps: files.into_iter().map(Into::into).collect(),
        rtr: caches,
        aspa: true,
        ..RpkiSettings::default()
    };
    let start = Instant::now();
    let state = std::env::temp_dir().join("rutter-example");
    let source = RpkiSource::start(settings, &state, move |data| {
        let vrps = data.vrps.map_or(0, |vrps| vrps.len());
        let aspas = data.aspas.map_or(0, |aspas| aspas.len());
        println!("{:?}: {vrps} VRPs, {aspas} ASPAs", start.elapsed());
    })?;
    loop {
        std::thread::sleep(Duration::from_secs(10));
        for row in source.status() {
            let error = row.last_error.unwrap_or_default();
            println!("{} is {}: {} {error}", row.name, row.state, row.detail);
        }
    }
}
