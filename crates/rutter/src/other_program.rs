//! Commands that another program in the same folder carries out, so that a build of the route server includes neither the
//! collector nor a terminal library nor HTTP/2.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use crate::failure::Failure;

/// A program beside this one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OtherProgram {
    name: &'static str,
    /// The crate that builds it.
    package: &'static str,
    /// The Debian package that has it.
    debian_package: &'static str,
}

/// The collector. It parses the arguments of its commands.
pub(crate) const COLLECTOR: OtherProgram = OtherProgram {
    name: "rutter-collect",
    package: "rutter-collector",
    debian_package: "rutter-collector",
};

/// The terminal dashboard.
pub(crate) const TOP: OtherProgram = OtherProgram {
    name: "rutter-top",
    package: "rutter-top",
    debian_package: "rutter",
};

/// The gRPC server. It parses its arguments.
const GRPC: OtherProgram = OtherProgram {
    name: "rutter-grpc",
    package: "rutter-grpc",
    debian_package: "rutter-grpc",
};

/// The commands whose arguments another program parses.
const COMMANDS: [&str; 5] = ["collect", "grpc", "mrt", "replay", "sql"];

/// Returns the command with this name if another program parses its arguments.
pub(crate) fn command(word: &OsStr) -> Option<&'static str> {
    COMMANDS.into_iter().find(|known| word == *known)
}

/// Runs a command whose arguments another program parses.
pub(crate) fn run(
    word: &str,
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<(), Failure> {
    match word {
        "grpc" => GRPC.run(word, arguments),
        // The collector has several commands.
        _ => COLLECTOR.run(word, std::iter::once(word.into()).chain(arguments)),
    }
}

impl OtherProgram {
    /// Replaces this process by the program, for the command `word`. Returns only on an error.
    pub(crate) fn run(
        self,
        word: &str,
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<(), Failure> {
        let program = self.path()?;
        let error = Command::new(&program).args(arguments).exec();
        let path = program.display();
        Err(Failure::text(match error.kind() {
            io::ErrorKind::NotFound => format!(
                "`rutter {word}` needs {path}, which does not exist\n\
                 build it with `cargo build --release -p {}`, or install the package {}",
                self.package, self.debian_package
            ),
            _ => format!("cannot run {path}: {error}"),
        }))
    }

    fn path(self) -> io::Result<PathBuf> {
        Ok(std::env::current_exe()?.with_file_name(self.name))
    }
}

/// Runs a check of the collector. Returns its error message, or `None` for valid files.
pub(crate) fn check_files(
    word: &str,
    files: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> io::Result<Option<String>> {
    let program = COLLECTOR.path()?;
    let result = Command::new(&program).arg(word).args(files).output();
    let output = result.map_err(|error| {
        let path = program.display();
        io::Error::new(error.kind(), format!("{path} is needed: {error}"))
    })?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    let why = stderr.trim().trim_start_matches("error: ");
    Ok((!output.status.success()).then(|| why.to_owned()))
}
