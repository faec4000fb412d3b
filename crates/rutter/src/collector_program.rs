//! `rutter collect` and its like: run by the program `rutter-collect` that lies beside this one, so that
//! building the route server never pays for what only collectors need.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use crate::failure::Failure;

/// The commands that the other program knows.
const COMMANDS: [&str; 4] = ["collect", "mrt", "replay", "sql"];

/// The program's name.
const PROGRAM: &str = "rutter-collect";

/// The collector's command of this name.
pub(crate) fn command(word: &OsStr) -> Option<&'static str> {
    COMMANDS.into_iter().find(|known| word == *known)
}

/// Becomes the other program. Returns only if there is none.
pub(crate) fn run(
    word: &str,
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<(), Failure> {
    let program = beside()?;
    let error = Command::new(&program).arg(word).args(arguments).exec();
    let path = program.display();
    Err(Failure::text(match error.kind() {
        io::ErrorKind::NotFound => format!(
            "`rutter {word}` needs {path}, which is not there\n\
             build it with `cargo build --release -p rutter-collector`, or install the package of the collector"
        ),
        _ => format!("cannot run {path}: {error}"),
    }))
}

/// What the other program has to say against files; `None` where they are good.
pub(crate) fn asked(
    word: &str,
    files: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> io::Result<Option<String>> {
    let program = beside()?;
    let asked = Command::new(&program).arg(word).args(files).output();
    let output = asked.map_err(|error| {
        let path = program.display();
        io::Error::new(error.kind(), format!("it takes {path}: {error}"))
    })?;
    let said = String::from_utf8_lossy(&output.stderr);
    let why = said.trim().trim_start_matches("error: ");
    Ok((!output.status.success()).then(|| why.to_owned()))
}

fn beside() -> io::Result<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name(PROGRAM))
}
