//! Copies of long segments in memory files, from which the kernel sends without copying.
//!
//! `writev` copies the messages for hundreds of clients into hundreds of sockets, where they wait. `sendfile` hands
//! the pages of a file to a socket by reference: all sockets share them until the last client has acknowledged them.
//! A range is therefore never written twice. A full file is replaced, and freed with the last segment that lies in
//! it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Makes an empty file without a name, in memory.
pub type NewFile = fn() -> io::Result<File>;

/// The place of a segment's bytes in a file.
#[derive(Clone, Debug)]
pub(crate) struct FilePlace {
    pub file: Arc<File>,
    pub offset: u64,
}

/// The file that is filled at present.
#[derive(Debug, Default)]
pub(crate) struct SegmentFile {
    file: Option<Arc<File>>,
    end: u64,
}

/// A file of this size is replaced: a slow client keeps whole files.
const FILE_LEN: u64 = 2 * 1024 * 1024;

impl SegmentFile {
    /// Appends bytes to the present file, or to a new one. Returns no place where no file can be had; clients work
    /// without.
    pub fn append(&mut self, bytes: &[u8], new_file: NewFile) -> Option<FilePlace> {
        if self.end >= FILE_LEN {
            *self = SegmentFile::default();
        }
        let file = match &self.file {
            Some(file) => Arc::clone(file),
            None => Arc::clone(self.file.insert(Arc::new(new_file().ok()?))),
        };
        let offset = self.end;
        if file.write_all_at(bytes, offset).is_err() {
            *self = SegmentFile::default();
            return None;
        }
        self.end += bytes.len() as u64;
        Some(FilePlace { file, offset })
    }
}
