//! `rutter collect` and similar commands: run by the program `rutter-collect` in the same folder, so that
//! a build of the route server does not include the collector.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use crate::failure::Failure;

/// The commands of the other program.
const COMMANDS: [&str; 4] = ["collect", "mrt", "replay", "sql"];

/// The program's name.
const PROGRAM: &str = "rutter-collect";

/// Returns the collector's command with this name.
pub(crate) fn command(word: &OsStr) -> Option<&'static str> {
    COMMANDS.into_iter().find(|known| word == *known)
}

/// Replaces this process by the other program. Returns only on an error.
pub(crate) fn run(
    word: &str,
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<(), Failure> {
    let program = program_path()?;
    let error = Command::new(&program).arg(word).args(arguments).exec();
    let path = program.display();
    Err(Failure::text(match error.kind() {
        io::ErrorKind::NotFound => format!(
            "`rutter {word}` needs {path}, which does not exist\n\
             build it with `cargo build --release -p rutter-collector`, or install the package of the collector"
        ),
        _ => format!("cannot run {path}: {error}"),
    }))
}

/// Runs a check of the other program. Returns its error message, or `None` for valid files.
pub(crate) fn check_files(
    word: &str,
    files: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> io::Result<Option<String>> {
    let program = program_path()?;
    let result = Command::new(&program).arg(word).args(files).output();
    let output = result.map_err(|error| {
        let path = program.display();
        io::Error::new(error.kind(), format!("{path} is needed: {error}"))
    })?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    let why = stderr.trim().trim_start_matches("error: ");
    Ok((!output.status.success()).then(|| why.to_owned()))
}

fn program_path() -> io::Result<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name(PROGRAM))
}
