//! What a command says beside its output.

use std::fmt;
use std::io::{self, Write as _};

/// A line on standard error. Whoever read it may have gone, which is no reason to end with a panic: there is nobody to tell.
pub fn eprint_line(line: impl fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
