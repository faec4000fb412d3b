//! The program that a hand-over starts.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// The program that takes over: the same command, in the file that has this program's name now. A package that was
/// upgraded has replaced the file.
#[derive(Clone, Debug)]
pub struct Program {
    /// The file.
    pub path: PathBuf,
    /// The arguments. With them the program calls [`Daemon::take_over`](crate::Daemon::take_over).
    pub arguments: Vec<OsString>,
}

/// The option by which the program learns that it is to take over.
const TAKE_OVER: &str = "--take-over";

impl Program {
    /// This program with its own arguments and the option `--take-over`. Call it at the start: afterwards the file may
    /// be replaced.
    pub fn this() -> io::Result<Self> {
        let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
        if !arguments.iter().any(|argument| argument == TAKE_OVER) {
            arguments.push(TAKE_OVER.into());
        }
        Ok(Program {
            path: std::env::current_exe()?,
            arguments,
        })
    }
}
