//! Messages of a command on standard error.

use std::fmt;
use std::io::{self, Write as _};

/// Prints a line to standard error. Unlike `eprintln!` it ignores errors: a reader that has closed the pipe is no reason
/// to panic.
pub fn eprint_line(line: impl fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
