//! The fuzz targets' checks over their seeds and over cheap mutations of them, on the stable toolchain.

#[path = "../../../fuzz/checks.rs"]
mod checks;

use std::path::Path;

/// The seeds of a target, in the order of their names.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("a folder entry").path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{target} has no seeds");
    let read = |file| std::fs::read(file).expect("a readable seed");
    files.iter().map(read).collect()
}

/// Runs the check on each seed, on each seed cut anywhere, and with each octet changed in a few ways.
fn run(target: &str, check: fn(&[u8])) {
    for seed in seeds(target) {
        check(&seed);
        for at in 0..seed.len() {
            check(&seed[..at]);
            let mut mutant = seed.clone();
            for octet in [
                0,
                1,
                0x7f,
                0x80,
                0xca,
                0xff,
                seed[at] ^ 0x10,
                seed[at].wrapping_add(1),
            ] {
                mutant[at] = octet;
                check(&mutant);
            }
        }
    }
}

#[test]
fn update() {
    run("update", checks::update);
}

#[test]
fn nlri() {
    run("nlri", checks::nlri);
}

#[test]
fn mrt() {
    run("mrt", checks::mrt);
}

#[test]
fn bmp() {
    run("bmp", checks::bmp);
}

#[test]
fn message() {
    run("message", checks::message);
}

#[test]
#[should_panic(expected = "the canary sings")]
fn the_canary_must_fail() {
    run("canary", checks::canary);
}
