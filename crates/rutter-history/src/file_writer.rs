//! Writes one file under a temporary name, and renames it when it is complete and on the disk.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use parquet::errors::Result as Parquet;
use parquet::file::writer::SerializedFileWriter;

use crate::archive::{Archive, Part, sync_folder};
use crate::row_group::RowGroup;
use crate::row_page::RowPage;
use crate::schema::{descriptor, properties};

/// The level of ZSTD, 1 to 22; 0 for no compression.
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

/// A file in progress. Dropping it removes the file.
pub(crate) struct FileWriter {
    temporary: PathBuf,
    path: PathBuf,
    compression: Compression,
    writer: Option<SerializedFileWriter<File>>,
    group: Option<RowGroup>,
}

impl FileWriter {
    /// Creates a file and its missing folders.
    pub fn create(
        archive: &Archive,
        part: Part,
        hour: u64,
        name: &str,
        compression: Compression,
    ) -> Result<Self, WriteError> {
        let (temporary, path) = archive.paths(part, hour, name);
        let failed = |why: &dyn fmt::Display| WriteError::new(&temporary, why);
        if let Some(folder) = temporary.parent() {
            fs::create_dir_all(folder).map_err(|why| failed(&why))?;
        }
        let file = File::create(&temporary).map_err(|why| failed(&why))?;
        let writer = descriptor().and_then(|schema| {
            let (schema, properties) = (schema.root_schema_ptr(), properties());
            SerializedFileWriter::new(file, schema, properties.into())
        });
        let writer = writer.map_err(|why| {
            let _ = fs::remove_file(&temporary);
            failed(&why)
        })?;
        Ok(Self {
            writer: Some(writer),
            group: None,
            compression,
            temporary,
            path,
        })
    }

    /// Checks that a file of events of this hour could be created, with its missing folders.
    pub fn check(archive: &Archive, hour: u64) -> Result<(), WriteError> {
        // No name of the archive's files.
        let name = format!("check-{}", std::process::id());
        Self::create(archive, Part::Events, hour, &name, Compression(0)).map(drop)
    }

    /// Writes a page of rows and empties it.
    pub fn write(&mut self, page: &mut RowPage) -> Result<(), WriteError> {
        let added = self.add(page);
        page.clear();
        if self.group.is_none() {
            // The next row group has new dictionaries.
            page.forget_sets();
        }
        added.map_err(|why| WriteError::new(&self.temporary, why))
    }

    fn add(&mut self, page: &RowPage) -> Parquet<()> {
        let group = match &mut self.group {
            Some(group) => group,
            empty => empty.insert(RowGroup::new(&descriptor()?, self.compression)?),
        };
        group.add(page)?;
        if group.rows() >= ROWS || group.dictionaries() >= DICTIONARIES {
            self.end_group()?;
        }
        Ok(())
    }

    fn end_group(&mut self) -> Parquet<()> {
        let (Some(group), Some(writer)) = (self.group.take(), &mut self.writer) else {
            return Ok(());
        };
        let mut columns = writer.next_row_group()?;
        for (bytes, close) in group.finish()? {
            columns.append_column(&bytes, close)?;
        }
        columns.close()?;
        Ok(())
    }

    /// Completes the file. Returns its size.
    pub fn finish(mut self) -> Result<u64, WriteError> {
        let ended = self.end_group();
        let Some(writer) = self.writer.take() else {
            return Ok(0);
        };
        let file = ended
            .and_then(|()| writer.into_inner())
            .map_err(|why| WriteError::new(&self.temporary, why));
        let done = file.and_then(|file| {
            let place = || -> io::Result<u64> {
                file.sync_all()?;
                let bytes = file.metadata()?.len();
                fs::rename(&self.temporary, &self.path)?;
                Ok(bytes)
            };
            place().map_err(|why| WriteError::new(&self.path, why))
        });
        if done.is_err() {
            let _ = fs::remove_file(&self.temporary);
        } else if let Some(Err(why)) = self.path.parent().map(sync_folder) {
            // The file is complete. Only a loss of power could still remove its name.
            let path = self.path.display();
            tracing::warn!("history: the name of {path} may not be on the disk yet: {why}");
        }
        done
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        if self.writer.take().is_some() {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// The number of rows that share dictionaries. They stay in memory, compressed, until their group is complete.
const ROWS: usize = 1 << 20;
/// The size of a group's dictionaries in bytes, without that of the prefixes.
const DICTIONARIES: usize = 64 << 20;
