//! The fuzz target's check over its seeds, over mutations of them and over drawn bytes, on the stable toolchain.

#[path = "../../../../fuzz/rtr_checks.rs"]
mod checks;

use std::path::Path;

use proptest::prelude::*;

#[test]
fn seeds_and_mutations_keep_the_promises() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/rtr");
    let entries = std::fs::read_dir(&folder).expect("the seeds");
    let mut seeds: Vec<_> = entries.map(|entry| entry.expect("a seed").path()).collect();
    seeds.sort();
    assert!(!seeds.is_empty());
    for seed in seeds
        .iter()
        .map(|file| std::fs::read(file).expect("a readable seed"))
    {
        checks::rtr(&seed);
        for at in 0..seed.len() {
            checks::rtr(&seed[..at]);
            for octet in [0, 1, 0x7f, 0xff, seed[at] ^ 0x10, seed[at].wrapping_add(1)] {
                let mut mutant = seed.clone();
                mutant[at] = octet;
                checks::rtr(&mutant);
            }
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_keep_the_promises(data in proptest::collection::vec(any::<u8>(), 0..600)) {
        checks::rtr(&data);
    }
}
