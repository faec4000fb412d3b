//! `rutter export`: writes the table as a file for other programs.

use std::fs::{self, File, Metadata};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{MetadataExt as _, fchown};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rutter_table::{Dump, Table, export};

use crate::cli::{CommonOptions, Export, MmdbArgs};
use crate::failure::Failure;
use crate::lookup::dump;
use crate::units::{grouped, plural};

/// Runs the command.
pub(crate) fn export(options: &CommonOptions, what: Export) -> Result<(), Failure> {
    match what {
        Export::Mmdb(args) => mmdb(options, &args),
    }
}

fn mmdb(options: &CommonOptions, args: &MmdbArgs) -> Result<(), Failure> {
    let Dump {
        table,
        verdict,
        is_cut_off,
    } = dump(options, &args.table)?;
    let destination = Destination::of(&args.file);
    if is_cut_off {
        return Err(Failure::text(format!(
            "the table dump could not be read up to its end: {} was not changed",
            args.file.display()
        )));
    }
    if table.routes().is_empty() {
        return Err(Failure::text(format!(
            "the table is empty: {} was not changed",
            args.file.display()
        )));
    }
    let metadata = export::Metadata {
        database_type: args.database_type.clone(),
        description: "Routing table written by rutter".into(),
        build_epoch: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |now| now.as_secs()),
    };
    let written = destination.write(|out| export::mmdb(&table, &metadata, out));
    let octets = written.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::OutputClosed,
        _ => Failure::text(format!("{}: {error}", args.file.display())),
    })?;
    if !options.json {
        let summary = summary(&args.file, &table, octets);
        match destination {
            Destination::File(_) => writeln!(io::stdout(), "{summary}")?,
            // Standard output may have received the file itself.
            Destination::Stdout | Destination::Special(_) => rutter_daemon::eprint_line(summary),
        }
    }
    verdict.map_err(Failure::Text)
}

fn summary(file: &Path, table: &Table, octets: u64) -> String {
    let routes = plural(table.routes().len() as u64, "route");
    format!("{}: {routes}, {} bytes", file.display(), grouped(octets))
}

/// The destination of the output.
enum Destination {
    Stdout,
    /// A pipe or a device.
    Special(PathBuf),
    /// A file, which may exist already.
    File(PathBuf),
}

impl Destination {
    fn of(path: &Path) -> Self {
        let is_stdout = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];
        if is_stdout.iter().any(|name| path.as_os_str() == *name) {
            return Destination::Stdout;
        }
        match fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            true => Destination::Special(path.to_owned()),
            false => Destination::File(link_target(path)),
        }
    }

    fn write(&self, make: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<u64> {
        if let Destination::File(file) = self {
            return redestination(file, make);
        }
        let mut octets = Vec::new();
        make(&mut octets)?;
        let mut out: Box<dyn Write> = match self {
            Destination::Special(path) => Box::new(File::options().write(true).open(path)?),
            _ => Box::new(io::stdout().lock()),
        };
        out.write_all(&octets)?;
        out.flush()?;
        Ok(octets.len() as u64)
    }
}

/// Follows symbolic links, also to a file that does not exist yet.
fn link_target(path: &Path) -> PathBuf {
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            Ok(next) => target = target.with_file_name(next),
            Err(_) => return target,
        }
    }
    path.to_owned()
}

/// The maximum number of links to follow, as in the kernel.
const MAX_LINKS: usize = 40;

/// Writes a temporary file in the same folder and renames it, so that readers never see a partial file. Keeps the mode
/// of an existing file, and its owner if this process may set it.
fn redestination(
    file: &Path,
    make: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<u64> {
    let (unfinished, made) = beside(file).map_err(|error| {
        let why = format!("cannot create a file in its folder: {error}");
        io::Error::new(error.kind(), why)
    })?;
    let written = (|| {
        if let Ok(old) = fs::metadata(file) {
            keep_owner(&made, &old);
            // Set the mode after the owner, because a change of the owner clears mode bits.
            made.set_permissions(old.permissions())?;
        }
        let mut out = BufWriter::with_capacity(1 << 20, made);
        make(&mut out)?;
        out.flush()?;
        out.get_ref().sync_all()?;
        let octets = out.get_ref().metadata()?.len();
        fs::rename(&unfinished, file)?;
        Ok(octets)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written
}

/// Sets the owner and the group of the previous file, as far as permitted. A user can set one of their groups; only a
/// privileged process can set another owner.
fn keep_owner(made: &File, old: &Metadata) {
    if fchown(made, Some(old.uid()), Some(old.gid())).is_err() {
        let _ = fchown(made, None, Some(old.gid()));
    }
}

/// Creates a new file in the same folder, with an unpredictable name.
fn beside(file: &Path) -> io::Result<(PathBuf, File)> {
    loop {
        let number = RandomState::new().build_hasher().finish();
        let path = file.with_file_name(format!(".rutter-{number:016x}"));
        match File::create_new(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return Ok((path, made?)),
        }
    }
}
