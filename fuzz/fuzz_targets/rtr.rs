#![no_main]

#[path = "../rtr_checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::rtr(data));
