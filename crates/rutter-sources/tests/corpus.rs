//! The fuzz target's checks over its seeds and over cheap mutations of them, on the stable toolchain.

#[path = "../../../fuzz/irr_checks.rs"]
mod irr_checks;

use std::path::Path;

#[test]
fn irrd_reply() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/irrd_reply");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("the seeds") {
        let seed = std::fs::read(entry.expect("a seed").path()).expect("a seed");
        count += 1;
        irr_checks::irrd_reply(&seed);
        for at in 0..seed.len() {
            irr_checks::irrd_reply(&seed[..at]);
            for octet in *b"\0\n\rACDF09\x80\xff" {
                let mut mutant = seed.clone();
                mutant[at] = octet;
                irr_checks::irrd_reply(&mutant);
                mutant.insert(at, octet);
                irr_checks::irrd_reply(&mutant);
            }
        }
    }
    assert!(count > 0, "there are no seeds");
}
