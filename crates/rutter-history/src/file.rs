//! One file: written under a temporary name, and under its own when it is complete and on the disk.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;

use crate::archive::{Archive, Part, sync_folder};
use crate::schema::{properties, schema};

/// Level of ZSTD, 1 to 22; 0: not packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression(pub i32);

/// A file that could not be written.
#[derive(Debug)]
pub struct WriteError {
    path: PathBuf,
    why: String,
}

impl WriteError {
    pub(crate) fn new(path: &Path, why: impl fmt::Display) -> Self {
        WriteError {
            path: path.to_owned(),
            why: why.to_string(),
        }
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write {}: {}", self.path.display(), self.why)
    }
}

impl std::error::Error for WriteError {}

/// A file that is being written; dropped before it is finished, nothing remains of it.
pub(crate) struct Writing {
    temporary: PathBuf,
    path: PathBuf,
    writer: Option<ArrowWriter<File>>,
}

impl Writing {
    /// Begins a file, and its folders where they are missing.
    pub fn create(
        archive: &Archive,
        part: Part,
        hour: u64,
        name: &str,
        compression: Compression,
    ) -> Result<Self, WriteError> {
        let (temporary, path) = archive.place(part, hour, name);
        let failed = |why: &dyn fmt::Display| WriteError::new(&temporary, why);
        if let Some(folder) = temporary.parent() {
            fs::create_dir_all(folder).map_err(|why| failed(&why))?;
        }
        let file = File::create(&temporary).map_err(|why| failed(&why))?;
        let writer = ArrowWriter::try_new(file, schema(), Some(properties(compression)));
        let writer = writer.map_err(|why| failed(&why))?;
        Ok(Self {
            writer: Some(writer),
            temporary,
            path,
        })
    }

    /// Adds rows.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        let written = self
            .writer
            .as_mut()
            .map_or(Ok(()), |writer| writer.write(batch));
        written.map_err(|why| WriteError::new(&self.temporary, why))
    }

    /// Completes the file. Its size.
    pub fn finish(mut self) -> Result<u64, WriteError> {
        let Some(writer) = self.writer.take() else {
            return Ok(0);
        };
        let file = writer
            .into_inner()
            .map_err(|why| WriteError::new(&self.temporary, why));
        let done = file.and_then(|file| {
            let place = || -> io::Result<u64> {
                file.sync_all()?;
                let octets = file.metadata()?.len();
                fs::rename(&self.temporary, &self.path)?;
                Ok(octets)
            };
            place().map_err(|why| WriteError::new(&self.path, why))
        });
        if done.is_err() {
            let _ = fs::remove_file(&self.temporary);
        } else if let Some(Err(why)) = self.path.parent().map(sync_folder) {
            // The file is there and complete; only a loss of power could still take its name away.
            let path = self.path.display();
            tracing::warn!("history: the name of {path} may not be on the disk yet: {why}");
        }
        done
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if self.writer.take().is_some() {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}
