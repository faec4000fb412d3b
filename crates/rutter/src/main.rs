//! The rutter command.
fn main() {}
