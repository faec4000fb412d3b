//! Storage for segments: files in a folder, or memory that a test can damage.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Numbered files that grow only at their end.
pub trait Storage {
    /// The numbers of all segments, ascending.
    fn list(&self) -> io::Result<Vec<u64>>;
    /// Appends to a segment, and creates it if necessary.
    fn append(&mut self, segment: u64, bytes: &[u8]) -> io::Result<()>;
    /// Returns when all appended bytes of the segment survive a loss of power.
    fn sync(&mut self, segment: u64) -> io::Result<()>;
    /// Reads at most `most` bytes of a segment from an offset.
    fn read(&mut self, segment: u64, offset: u64, most: usize) -> io::Result<Vec<u8>>;
    /// Truncates a segment.
    fn truncate(&mut self, segment: u64, len: u64) -> io::Result<()>;
    /// Replaces the contents of a segment by a part of it. This needs no additional space.
    fn replace(&mut self, segment: u64, bytes: &[u8]) -> io::Result<()>;
    /// Removes a segment.
    fn remove(&mut self, segment: u64) -> io::Result<()>;
}

/// Segments as files of a folder.
pub struct Disk {
    folder: PathBuf,
    /// Held while we own the folder; `None` until the folder can be created.
    lock: Option<File>,
    writing: Option<(u64, File)>,
    reading: Option<(u64, File)>,
}

impl Disk {
    /// Creates the folder if it is missing, and keeps others out of it.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let mut disk = Self::later(folder);
        disk.lock = Some(lock(folder)?);
        Ok(disk)
    }

    /// Checks that the folder could be opened if nobody else had it, and written in.
    pub fn check(folder: &Path) -> io::Result<()> {
        open_lock(folder)?;
        let file = folder.join(format!("check-{}", std::process::id()));
        File::create(&file)?;
        fs::remove_file(&file)
    }

    /// Creates the folder with the first write: for a disk that is full now.
    pub fn later(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            lock: None,
            writing: None,
            reading: None,
        }
    }

    fn path(&self, segment: u64) -> PathBuf {
        self.folder.join(format!("{segment:016x}.{EXTENSION}"))
    }
}

fn open_lock(folder: &Path) -> io::Result<File> {
    fs::create_dir_all(folder)?;
    File::create(folder.join("lock"))
}

fn lock(folder: &Path) -> io::Result<File> {
    let lock = open_lock(folder)?;
    lock.try_lock().map_err(|why| match why {
        TryLockError::WouldBlock => io::Error::other(
            "another collector uses this spool; give each sink of each collector a `spool` of its own",
        ),
        TryLockError::Error(why) => why,
    })?;
    Ok(lock)
}

impl Storage for Disk {
    fn list(&self) -> io::Result<Vec<u64>> {
        let mut found = Vec::new();
        let entries = match fs::read_dir(&self.folder) {
            Err(_) if self.lock.is_none() => return Ok(found),
            entries => entries?,
        };
        for entry in entries {
            let path = entry?.path();
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            if path.extension().is_some_and(|ext| ext == EXTENSION)
                && let Some(number) = stem.and_then(|stem| u64::from_str_radix(stem, 16).ok())
            {
                found.push(number);
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    fn append(&mut self, segment: u64, bytes: &[u8]) -> io::Result<()> {
        if self.lock.is_none() {
            self.lock = Some(lock(&self.folder)?);
        }
        if self
            .writing
            .as_ref()
            .is_none_or(|(open, _)| *open != segment)
        {
            let path = self.path(segment);
            // Somebody may have removed it.
            fs::create_dir_all(&self.folder)?;
            let file = OpenOptions::new().create(true).append(true).open(path)?;
            self.writing = Some((segment, file));
        }
        match &mut self.writing {
            Some((_, file)) => file.write_all(bytes),
            None => Ok(()),
        }
    }

    fn sync(&mut self, segment: u64) -> io::Result<()> {
        match &self.writing {
            Some((open, file)) if *open == segment => file.sync_data(),
            _ => Ok(()),
        }
    }

    fn read(&mut self, segment: u64, offset: u64, most: usize) -> io::Result<Vec<u8>> {
        if self
            .reading
            .as_ref()
            .is_none_or(|(open, _)| *open != segment)
        {
            self.reading = Some((segment, File::open(self.path(segment))?));
        }
        let mut bytes = Vec::new();
        if let Some((_, file)) = &mut self.reading {
            file.seek(SeekFrom::Start(offset))?;
            file.take(most as u64).read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    }

    fn truncate(&mut self, segment: u64, len: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(self.path(segment))?;
        file.set_len(len)
    }

    fn replace(&mut self, segment: u64, bytes: &[u8]) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).open(self.path(segment))?;
        // Overwrite the old bytes: a file that is truncated first may not get its space back.
        file.write_all(bytes)?;
        file.set_len(bytes.len() as u64)?;
        file.sync_data()
    }

    fn remove(&mut self, segment: u64) -> io::Result<()> {
        self.reading.take_if(|(open, _)| *open == segment);
        self.writing.take_if(|(open, _)| *open == segment);
        match fs::remove_file(self.path(segment)) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }
}

const EXTENSION: &str = "spool";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_another_process_uses_can_be_checked() {
        let name = format!("rutter-spool-check-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let spool = folder.join("a");
        let disk = Disk::open(&spool).expect("a folder");
        Disk::open(&spool).map(drop).expect_err("it is in use");
        Disk::check(&spool).expect("it can be used");
        assert!(disk.list().expect("a folder").is_empty());
        drop(disk);
        fs::remove_dir_all(&spool).expect("remove");
        // Not even the superuser can write in a file.
        fs::write(&spool, "").expect("write");
        Disk::check(&spool).expect_err("it is no folder");
        fs::remove_dir_all(folder).expect("remove");
    }
}
