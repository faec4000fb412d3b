//! A lock: only one collector of a name writes to an archive at a time.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::Archive;

/// Keeps other collectors of the same name out of the archive.
pub(crate) struct ArchiveLock {
    collector: String,
    path: PathBuf,
    file: File,
    /// True if a failure to take the lock again was logged.
    loss_logged: bool,
}

impl ArchiveLock {
    /// Takes the lock for a collector, whose name is in the form for file names.
    pub fn take(archive: &Archive, collector: &str) -> io::Result<Self> {
        let path = lock_file(archive, collector);
        Ok(ArchiveLock {
            file: lock(&path, collector)?,
            collector: collector.to_owned(),
            path,
            loss_logged: false,
        })
    }

    /// Checks that the lock could be taken if nobody else had it.
    pub fn check(archive: &Archive, collector: &str) -> io::Result<()> {
        open(&lock_file(archive, collector)).map(drop)
    }

    /// Takes the lock again if somebody has removed its file or the folder.
    pub fn renew(&mut self) {
        if self.exists() {
            return;
        }
        match lock(&self.path, &self.collector) {
            Ok(file) => {
                self.file = file;
                self.loss_logged = false;
            }
            Err(why) if !std::mem::replace(&mut self.loss_logged, true) => {
                tracing::error!("history: {} was removed: {why}", self.path.display());
            }
            Err(_) => {}
        }
    }

    fn exists(&self) -> bool {
        let place = |of: fs::Metadata| (of.dev(), of.ino());
        let there = fs::metadata(&self.path).map(place);
        matches!((there, self.file.metadata().map(place)), (Ok(there), Ok(held)) if there == held)
    }
}

fn lock_file(archive: &Archive, collector: &str) -> PathBuf {
    archive.folder().join(format!(".{collector}.lock"))
}

fn open(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    File::create(path)
}

fn lock(path: &Path, collector: &str) -> io::Result<File> {
    let lock = open(path)?;
    lock.try_lock().map_err(|why| match why {
        TryLockError::WouldBlock => io::Error::other(format!(
            "another collector writes here as `{collector}`; `collector.name` must differ"
        )),
        TryLockError::Error(why) => why,
    })?;
    Ok(lock)
}
