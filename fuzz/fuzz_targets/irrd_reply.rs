#![no_main]

#[path = "../irr_checks.rs"]
mod irr_checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| irr_checks::irrd_reply(data));
