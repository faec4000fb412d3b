//! The daemon's own configuration file, which a start reads: replaced as a whole, or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The next content of the daemon's own file, written beside it. Without [`StagedFile::put_in_place`] the file keeps its
/// content.
pub(crate) struct StagedFile {
    staged: PathBuf,
    own: PathBuf,
}

impl StagedFile {
    /// Writes the next content to the disk, under another name.
    pub(crate) fn write(own: &Path, text: &str) -> io::Result<Self> {
        // The file may be a link to its place in another folder.
        let own = fs::canonicalize(own)?;
        let mut name = std::ffi::OsString::from(".");
        name.push(own.file_name().unwrap_or_default());
        name.push(".new");
        let staged = own.with_file_name(name);
        match fs::remove_file(&staged) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o640)
            .open(&staged)?;
        let staged = StagedFile { staged, own };
        file.set_permissions(fs::metadata(&staged.own)?.permissions())?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        Ok(staged)
    }

    /// The daemon's own file.
    pub(crate) fn own(&self) -> &Path {
        &self.own
    }

    /// Gives the next content the name of the daemon's own file. A crash leaves the old content or the new one.
    pub(crate) fn put_in_place(self) -> io::Result<()> {
        fs::rename(&self.staged, &self.own)?;
        let folder = self.own.parent().unwrap_or(Path::new("."));
        File::open(folder)?.sync_all()
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        // After `put_in_place` there is no such file.
        let _ = fs::remove_file(&self.staged);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_changes_only_when_it_is_put_in_place() {
        let folder = std::env::temp_dir().join(format!("rutter-own-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let own = folder.join("rutter.toml");
        fs::write(&own, "old").expect("write");
        drop(StagedFile::write(&own, "dropped").expect("stage"));
        assert_eq!(fs::read_to_string(&own).expect("read"), "old");
        let staged = StagedFile::write(&own, "new").expect("stage");
        assert_eq!(fs::read_to_string(&own).expect("read"), "old");
        staged.put_in_place().expect("rename");
        assert_eq!(fs::read_to_string(&own).expect("read"), "new");
        assert_eq!(fs::read_dir(&folder).expect("list").count(), 1);
        fs::remove_dir_all(&folder).expect("remove");
    }
}
