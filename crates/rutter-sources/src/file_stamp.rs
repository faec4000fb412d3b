//! Recognizes a file that has not changed since it was read.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The state of a file when it was read: every write and every replacement changes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FileStamp {
    path: PathBuf,
    device: u64,
    inode: u64,
    size: u64,
    /// Time of the last change of content or metadata, Unix seconds and nanoseconds. Unlike the time of modification,
    /// nobody can set it.
    changed_at: (i64, i64),
}

impl FileStamp {
    /// Returns the state of a file, or `None` if it changed in the last seconds: a second change could leave the same time, because
    /// file systems round it.
    pub(crate) fn new(path: &Path, metadata: &Metadata, now: u64) -> Option<Self> {
        let seconds = metadata.ctime();
        let is_settled = seconds.checked_add(SETTLED)? < i64::try_from(now).ok()?;
        is_settled.then(|| FileStamp {
            path: path.to_owned(),
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            changed_at: (seconds, metadata.ctime_nsec()),
        })
    }
}

/// Seconds after which the time of a change is certain to differ from that of the next.
const SETTLED: i64 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_gives_another_stamp_and_a_fresh_file_none() {
        let name = format!("rutter-file-stamp-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("list");
        let stamp = |now| FileStamp::new(&path, &std::fs::metadata(&path).unwrap(), now);
        std::fs::write(&path, "192.0.2.0/24\n").unwrap();
        let now = crate::unix_seconds();
        assert_eq!(stamp(now), None);
        let later = now + 60;
        let before = stamp(later).unwrap();
        assert_eq!(stamp(later), Some(before.clone()));
        // Of the same size, and in its place.
        let new = folder.join("new");
        std::fs::write(&new, "192.0.3.0/24\n").unwrap();
        std::fs::rename(&new, &path).unwrap();
        assert_ne!(stamp(later), Some(before));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
