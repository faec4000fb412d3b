//! `rutter export`: the table as a file for other programs.

use std::fs::{self, File, Metadata};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{MetadataExt as _, fchown};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rutter_table::{Table, export};

use crate::cli::{CommonOptions, Export, MmdbArgs};
use crate::failure::Failure;
use crate::lookup::table;
use crate::units::{grouped, plural};

/// Exports.
pub(crate) fn export(options: &CommonOptions, what: Export) -> Result<(), Failure> {
    match what {
        Export::Mmdb(args) => mmdb(options, &args),
    }
}

fn mmdb(options: &CommonOptions, args: &MmdbArgs) -> Result<(), Failure> {
    let table = table(options, &args.table)?;
    let place = Place::of(&args.file);
    if table.routes().is_empty() {
        return Err(Failure::text(format!(
            "the table is empty: {} is left as it was",
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
    let written = place.write(|out| export::mmdb(&table, &metadata, out));
    let octets = written.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::OutputClosed,
        _ => Failure::text(format!("{}: {error}", args.file.display())),
    })?;
    if !options.json {
        let said = remark(&args.file, &table, octets);
        match place {
            Place::File(_) => writeln!(io::stdout(), "{said}")?,
            // Standard output may be where the octets went.
            Place::Stdout | Place::AsItIs(_) => rutter_daemon::eprint_line(said),
        }
    }
    Ok(())
}

fn remark(file: &Path, table: &Table, octets: u64) -> String {
    let routes = plural(table.routes().len() as u64, "route");
    format!("{}: {routes}, {} octets", file.display(), grouped(octets))
}

/// Where octets go.
enum Place {
    Stdout,
    /// A pipe or a device.
    AsItIs(PathBuf),
    /// A file, which may be there already.
    File(PathBuf),
}

impl Place {
    fn of(path: &Path) -> Self {
        let is_stdout = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];
        if is_stdout.iter().any(|name| path.as_os_str() == *name) {
            return Place::Stdout;
        }
        match fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            true => Place::AsItIs(path.to_owned()),
            false => Place::File(led_to(path)),
        }
    }

    fn write(&self, make: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<u64> {
        if let Place::File(file) = self {
            return replace(file, make);
        }
        let mut octets = Vec::new();
        make(&mut octets)?;
        let mut out: Box<dyn Write> = match self {
            Place::AsItIs(path) => Box::new(File::options().write(true).open(path)?),
            _ => Box::new(io::stdout().lock()),
        };
        out.write_all(&octets)?;
        out.flush()?;
        Ok(octets.len() as u64)
    }
}

/// Where a link leads, also when nothing is there yet.
fn led_to(path: &Path) -> PathBuf {
    let mut led_to = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&led_to) {
            Ok(next) => led_to = led_to.with_file_name(next),
            Err(_) => return led_to,
        }
    }
    path.to_owned()
}

/// Links that lead to links; more than that many the system does not follow either.
const MOST_LINKS: usize = 40;

/// Writes beside the file and moves it into its place, so that its readers never see half of it. Its mode
/// stays, and its owner where this process may set it.
fn replace(file: &Path, make: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<u64> {
    let (unfinished, made) = beside(file).map_err(|error| {
        let why = format!("no file can be made beside it: {error}");
        io::Error::new(error.kind(), why)
    })?;
    let written = (|| {
        if let Ok(old) = fs::metadata(file) {
            keep_owner(&made, &old);
            // After the owner, as another owner takes bits of the mode away.
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

/// Gives a file the owner and the group of the one before, as far as this process may: anybody can give a file to another
/// group of theirs, and only a privileged process to another user.
fn keep_owner(made: &File, old: &Metadata) {
    if fchown(made, Some(old.uid()), Some(old.gid())).is_err() {
        let _ = fchown(made, None, Some(old.gid()));
    }
}

/// A new file in the same folder, under a name that nobody can guess and that nothing has.
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
