//! Copies of long segments in files that only live in memory, from which the kernel sends without copying.
//!
//! What hundreds of clients hear is copied into hundreds of sockets by `writev`, and waits there as often. The pages of a
//! file are handed to a socket by reference (`sendfile`): once written they are shared by all sockets until the last
//! client has acknowledged them. So a range is never written twice; a file that is full is left, and goes with the
//! last segment that lies in it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Makes an empty file without a name, in memory.
pub type NewFile = fn() -> io::Result<File>;

/// Where a segment's octets are, besides in memory of our own.
#[derive(Clone, Debug)]
pub(crate) struct FilePlace {
    pub file: Arc<File>,
    pub offset: u64,
}

/// The file that is filled now.
#[derive(Debug, Default)]
pub(crate) struct SegmentFile {
    file: Option<Arc<File>>,
    end: u64,
}

/// A file is left when it has grown to this: a slow client keeps whole files.
const FILE_LEN: u64 = 2 * 1024 * 1024;

impl SegmentFile {
    /// Appends octets to the present file, or to a new one. Without a file there is no place: clients can do without.
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
