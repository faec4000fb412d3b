//! The folder of an archive: its files, their names, and the removal of old ones.

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::time;

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// Events.
    Events,
    /// Snapshots of the whole table.
    Snapshots,
}

impl Part {
    /// The folder of the files.
    pub fn folder(self) -> &'static str {
        match self {
            Part::Events => "events",
            Part::Snapshots => "snapshots",
        }
    }
}

/// A file, as described by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveFile {
    /// The path.
    pub path: PathBuf,
    /// The collector that wrote the rows, in the form for file names.
    pub collector: String,
    /// The run of the collector.
    pub run: u64,
    /// The number of the first event. Of a snapshot: of the first event that it may lack.
    pub seq: u64,
    /// The time of a snapshot, in microseconds since 1970.
    pub time_us: Option<u64>,
    /// The hour of the file's folder, counted since 1970.
    pub hour: u64,
}

/// An archive.
#[derive(Clone, Debug)]
pub struct Archive(PathBuf);

impl Archive {
    /// The archive in a folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Archive(folder.into())
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Returns whether the folder looks like an archive.
    pub fn exists(&self) -> bool {
        [Part::Events, Part::Snapshots]
            .iter()
            .any(|part| self.0.join(part.folder()).is_dir())
    }

    /// The complete files of a part, by collector and then in the order of writing.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub fn files(&self, part: Part) -> io::Result<Vec<ArchiveFile>> {
        let mut files = Vec::new();
        self.each(part, &mut |path, hour| {
            files.extend(ArchiveFile::of(path, hour, part))
        })?;
        files.sort_by(|a, b| {
            (&a.collector, a.run, a.seq, a.time_us).cmp(&(&b.collector, b.run, b.seq, b.time_us))
        });
        Ok(files)
    }

    /// The Parquet files of a part whose names are not those of the archive, such as copies.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub fn foreign_files(&self, part: Part) -> io::Result<Vec<PathBuf>> {
        let (mut foreign_files, mut folders) = (Vec::new(), vec![self.0.join(part.folder())]);
        for _ in 0..LEVELS {
            let mut inner = Vec::new();
            for folder in folders {
                for path in entries(&folder)? {
                    let name = name(&path);
                    if path.is_dir() {
                        inner.push(path);
                    } else if name.ends_with(FINISHED) && !name.starts_with('.') {
                        foreign_files.push(path);
                    }
                }
            }
            folders = inner;
        }
        // Listed last, so that files completed during the search count as our own. Files removed by retention do not
        // exist any more.
        let own: HashSet<PathBuf> = self
            .files(part)?
            .into_iter()
            .map(|file| file.path)
            .collect();
        foreign_files.retain(|path| !own.contains(path) && path.exists());
        Ok(foreign_files)
    }

    /// The temporary and the final path of a file whose first row is of this hour.
    pub(crate) fn paths(&self, part: Part, hour: u64, name: &str) -> (PathBuf, PathBuf) {
        let folder = self.0.join(part.folder()).join(time::partition(hour));
        (
            folder.join(format!(".{name}{TEMPORARY}")),
            folder.join(format!("{name}{FINISHED}")),
        )
    }

    /// The unfinished files of a collector, left by a killed run.
    pub(crate) fn unfinished(&self, collector: &str, part: Part) -> io::Result<Vec<ArchiveFile>> {
        let mut found = Vec::new();
        self.each(part, &mut |path, hour| {
            found.extend(ArchiveFile::unfinished(path, hour, part))
        })?;
        found.retain(|file| file.collector == collector);
        Ok(found)
    }

    /// Removes complete files of a collector whose hours ended before this time, and empty folders. Returns the
    /// number of files. The last old snapshot and the events after it remain: they are needed for all later
    /// times.
    pub(crate) fn expire(&self, collector: &str, before_us: u64) -> io::Result<usize> {
        let own = |part| -> io::Result<Vec<ArchiveFile>> {
            let mut files = self.files(part)?;
            files.retain(|file| file.collector == collector);
            Ok(files)
        };
        let is_old = |file: &ArchiveFile| (file.hour + 1) * time::HOUR_US <= before_us;
        let (mut snapshots, mut events) = (own(Part::Snapshots)?, own(Part::Events)?);
        snapshots.retain(is_old);
        if let Some(kept) = snapshots.pop() {
            let from = (kept.run, kept.seq);
            let first = events.iter().rposition(|file| (file.run, file.seq) <= from);
            events.truncate(first.unwrap_or(0));
        }
        events.retain(is_old);
        let old = events.iter().chain(&snapshots);
        for file in old.clone() {
            fs::remove_file(&file.path)?;
            // This removes only empty folders: the hour, and the day after its last hour.
            let hour = file.path.parent();
            for folder in hour.into_iter().chain(hour.and_then(Path::parent)) {
                let _ = fs::remove_dir(folder);
            }
        }
        Ok(old.count())
    }

    fn each(&self, part: Part, visit: &mut dyn FnMut(&Path, u64)) -> io::Result<()> {
        for day in entries(&self.0.join(part.folder()))? {
            for hour in entries(&day)? {
                let Some(number) = time::of_partition(&name(&day), &name(&hour)) else {
                    continue;
                };
                entries(&hour)?.iter().for_each(|path| visit(path, number));
            }
        }
        Ok(())
    }
}

impl ArchiveFile {
    fn of(path: &Path, hour: u64, part: Part) -> Option<Self> {
        let name = name(path);
        Self::named(path, name.strip_suffix(FINISHED)?, hour, part)
    }

    fn unfinished(path: &Path, hour: u64, part: Part) -> Option<Self> {
        let name = name(path);
        Self::named(
            path,
            name.strip_prefix('.')?.strip_suffix(TEMPORARY)?,
            hour,
            part,
        )
    }

    fn named(path: &Path, name: &str, hour: u64, part: Part) -> Option<Self> {
        let (name, time_us) = match part {
            Part::Events => (name, None),
            Part::Snapshots => {
                let (name, time) = name.rsplit_once('-')?;
                (name, Some(number(time)?))
            }
        };
        let (name, seq) = name.rsplit_once('-')?;
        let (collector, run) = name.rsplit_once('-')?;
        Some(Self {
            path: path.to_owned(),
            collector: collector.to_owned(),
            run: number(run)?,
            seq: number(seq)?,
            time_us,
            hour,
        })
    }
}

impl fmt::Display for ArchiveFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(f)
    }
}

/// A run, event number or time in a file name. The next one must fit the signed columns of the files, too.
fn number(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number < i64::MAX as u64).then_some(number)
}

fn name(path: &Path) -> String {
    path.file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// The entries of a folder in the order of their names. A missing folder has no entries.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let listed = match fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    let mut paths = listed
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<_>>>()?;
    paths.sort_unstable();
    Ok(paths)
}

/// Makes the names in a folder survive a loss of power.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// The depth of the search for files: part, day, hour, and one more level.
const LEVELS: usize = 4;
const FINISHED: &str = ".parquet";
const TEMPORARY: &str = ".tmp";

#[cfg(test)]
mod tests {
    use super::*;

    /// Others write to the folder, too.
    #[test]
    fn a_collector_removes_only_its_own_old_files() {
        let folder = std::env::temp_dir().join(format!("rutter-expire-{}", std::process::id()));
        let files = [
            ("events/day=2026-11-01/hour=02/one-1-0.parquet", false),
            ("events/day=2026-11-01/hour=03/one-1-5.parquet", true),
            ("events/day=2026-11-01/hour=04/one-1-8.parquet", true),
            ("events/day=2026-11-01/hour=03/other-1-0.parquet", true),
            ("events/day=2026-11-01/hour=03/my-own.parquet", true),
            ("snapshots/day=2026-11-01/hour=03/one-1-0-5.parquet", false),
            ("snapshots/day=2026-11-01/hour=04/one-1-7-9.parquet", true),
            ("snapshots/day=2026-11-01/hour=03/other-1-0-5.parquet", true),
        ];
        for (file, _) in files {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let archive = Archive::new(&folder);
        assert_eq!(archive.expire("one", u64::MAX).unwrap(), 2);
        for (file, stays) in files {
            assert_eq!(folder.join(file).exists(), stays, "{file}");
        }
        let copied = folder.join("events/day=2026-11-01/hour=03/my-own.parquet");
        let elsewhere = folder.join("events/day=2026-11-01/hour=99/one-1-9.parquet");
        fs::create_dir_all(elsewhere.parent().unwrap()).unwrap();
        fs::write(&elsewhere, "").unwrap();
        assert_eq!(
            archive.foreign_files(Part::Events).unwrap(),
            [copied, elsewhere]
        );
        assert_eq!(
            archive.foreign_files(Part::Snapshots).unwrap(),
            [] as [PathBuf; 0]
        );
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn runs_that_do_not_fit_the_columns_are_foreign() {
        let file = |run: u64| {
            let name = format!("one-{run}-0");
            ArchiveFile::named(Path::new(&name), &name, 0, Part::Events)
        };
        let largest = i64::MAX as u64 - 1;
        assert_eq!(file(largest).map(|file| file.run), Some(largest));
        assert_eq!(file(largest + 1), None);
    }
}
