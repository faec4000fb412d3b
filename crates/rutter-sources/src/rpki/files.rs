//! JSON files of VRPs and ASPAs, read again when they change.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rutter_rpki::{AspasBuilder, VrpsBuilder};

use super::candidate::{Candidate, Content};
use super::document_file::read_rpki_data;
use super::live_data::LiveRpkiData;
use super::origin::Origin;
use crate::file_stamp::FileStamp;
use crate::unix_seconds;

/// Reads the data of files alone.
///
/// # Errors
/// If a file cannot be read.
pub(super) fn data_of_files(paths: &[PathBuf], aspa: bool) -> Result<LiveRpkiData, String> {
    let mut files = Files::default();
    files.set_paths(paths);
    match files.read(true, Instant::now()).into_iter().next() {
        Some(error) => Err(error),
        None => {
            let contents = files.files.iter().filter_map(|file| file.content.as_ref());
            Ok(merge(contents, aspa))
        }
    }
}

/// The configured files with their last good contents.
#[derive(Debug, Default)]
pub(super) struct Files {
    files: Vec<DataFile>,
    merged: Option<(LiveRpkiData, bool)>,
}

/// A file and its last good content.
#[derive(Debug)]
pub(super) struct DataFile {
    /// The path.
    pub path: PathBuf,
    stamp: Option<FileStamp>,
    content: Option<LiveRpkiData>,
    /// The time of the last modification of the content, Unix seconds.
    modified: u64,
    confirmed_at: Option<Instant>,
    /// The error of the last attempt.
    pub error: Option<String>,
}

impl Files {
    /// Changes the list of files. Contents of files that stay in the list are kept.
    pub fn set_paths(&mut self, paths: &[PathBuf]) {
        let mut old = std::mem::take(&mut self.files);
        for path in paths {
            let known = old.iter().position(|file| file.path == *path);
            let file = known.map(|at| old.swap_remove(at));
            self.files
                .push(file.unwrap_or_else(|| DataFile::new(path.clone())));
        }
        self.merged = None;
    }

    /// The files.
    pub fn list(&self) -> &[DataFile] {
        &self.files
    }

    /// Reads the files that have changed, or with `force` all of them. Returns the errors that are new.
    pub fn read(&mut self, force: bool, now: Instant) -> Vec<String> {
        let mut errors = Vec::new();
        for file in &mut self.files {
            let before = file.error.clone();
            if file.read(force, now) {
                self.merged = None;
            }
            errors.extend(
                file.error
                    .clone()
                    .filter(|error| Some(error) != before.as_ref()),
            );
        }
        errors
    }

    /// The merged contents, or `None` if no file has been read. Files that cannot be read any more count until `expire`.
    pub fn candidate(&mut self, aspa: bool, expire: Duration, now: Instant) -> Option<Candidate> {
        let before = self
            .files
            .iter()
            .filter(|file| file.content.is_some())
            .count();
        for file in &mut self.files {
            file.drop_expired(expire, now);
        }
        let usable: Vec<&DataFile> = self
            .files
            .iter()
            .filter(|file| file.content.is_some())
            .collect();
        if usable.len() != before {
            self.merged = None;
        }
        let confirmed_at = usable.iter().filter_map(|file| file.confirmed_at).min()?;
        let time = usable.iter().filter_map(|file| file.time()).min();
        let merged = match self.merged.take().filter(|(_, with)| *with == aspa) {
            Some((merged, _)) => merged,
            None => merge(usable.iter().filter_map(|file| file.content.as_ref()), aspa),
        };
        self.merged = Some((merged.clone(), aspa));
        Some(Candidate {
            origin: Origin::Files,
            content: Content::Set(merged),
            confirmed_at,
            time: time.unwrap_or(0),
            expire,
            is_copy: false,
        })
    }
}

impl DataFile {
    fn new(path: PathBuf) -> Self {
        DataFile {
            path,
            stamp: None,
            content: None,
            modified: 0,
            confirmed_at: None,
            error: None,
        }
    }

    /// The number of VRPs and ASPAs in the file.
    pub fn entries(&self) -> u64 {
        self.content
            .as_ref()
            .map_or(0, |content| content.sizes().total())
    }

    /// The time of the last change of the content in use, Unix seconds.
    pub fn time(&self) -> Option<u64> {
        self.content.as_ref().map(|_| self.modified)
    }

    /// Reads the file if necessary. Returns whether the content is another one.
    fn read(&mut self, force: bool, now: Instant) -> bool {
        let metadata = match metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(why) => {
                self.error = Some(format!("{}: {why}", self.path.display()));
                return false;
            }
        };
        let stamp = FileStamp::new(&self.path, &metadata, unix_seconds());
        let is_known = stamp.is_some() && stamp == self.stamp;
        if is_known && self.error.is_none() && !force {
            self.confirmed_at = Some(now);
            return false;
        }
        match read_rpki_data(&self.path) {
            Ok(data) => {
                let content = Some(LiveRpkiData {
                    vrps: data.vrps.map(Arc::new),
                    aspas: data.aspas.map(Arc::new),
                });
                self.stamp = stamp;
                self.modified = u64::try_from(metadata.mtime()).unwrap_or(0);
                self.confirmed_at = Some(now);
                self.error = None;
                let is_other = content != self.content;
                if is_other {
                    self.content = content;
                }
                is_other
            }
            Err(why) => {
                self.error = Some(why);
                false
            }
        }
    }

    fn drop_expired(&mut self, expire: Duration, now: Instant) {
        let is_expired = |at: Instant| now.saturating_duration_since(at) >= expire;
        if self.confirmed_at.is_some_and(is_expired) {
            self.content = None;
            self.confirmed_at = None;
            self.stamp = None;
        }
    }
}

/// The metadata of a regular file. A pipe or device could block the reader.
fn metadata(path: &Path) -> Result<Metadata, String> {
    let metadata = fs::metadata(path).map_err(|why| why.to_string())?;
    if !metadata.is_file() {
        return Err("this is not a regular file".to_owned());
    }
    if metadata.len() > MAX_FILE {
        return Err(format!("the file has more than {MAX_FILE} bytes"));
    }
    Ok(metadata)
}

/// One content stays as it is. Equal VRPs of several count once.
fn merge<'a>(contents: impl Iterator<Item = &'a LiveRpkiData>, aspa: bool) -> LiveRpkiData {
    let all: Vec<&LiveRpkiData> = contents.collect();
    let vrps: Vec<_> = all.iter().filter_map(|one| one.vrps.clone()).collect();
    let aspas: Vec<_> = all
        .iter()
        .filter_map(|one| one.aspas.clone())
        .filter(|_| aspa)
        .collect();
    LiveRpkiData {
        vrps: match vrps.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            several => {
                let mut builder = VrpsBuilder::new();
                several.iter().for_each(|set| builder.add_all(set));
                Some(Arc::new(builder.build()))
            }
        },
        aspas: match aspas.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            several => {
                let mut builder = AspasBuilder::new();
                several.iter().for_each(|set| builder.add_all(set));
                Some(Arc::new(builder.build()))
            }
        },
    }
}

/// The largest file in bytes: ten times the VRPs of today.
const MAX_FILE: u64 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_merged_and_read_again_when_they_change() {
        let folder = std::env::temp_dir().join(format!("rutter-rpki-files-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (one, other) = (folder.join("one"), folder.join("other"));
        let write = |path: &Path, rows: &[&str]| {
            let rows = rows
                .iter()
                .map(|prefix| format!(r#"{{"asn": 1, "prefix": "{prefix}", "maxLength": 32}}"#));
            let rows: Vec<String> = rows.collect();
            fs::write(path, format!(r#"{{"roas": [{}]}}"#, rows.join(","))).unwrap();
        };
        write(&one, &["10.0.0.0/8", "11.0.0.0/8"]);
        write(&other, &["11.0.0.0/8", "12.0.0.0/8"]);
        let (expire, start) = (Duration::from_secs(600), Instant::now());
        let mut files = Files::default();
        assert!(files.candidate(true, expire, start).is_none());
        files.set_paths(&[
            one.clone(),
            other.clone(),
            folder.join("absent"),
            folder.clone(),
        ]);
        let errors = files.read(false, start);
        assert!(
            errors.len() == 2 && errors[1].contains("not a regular file"),
            "{errors:?}"
        );
        assert!(
            files.read(false, start).is_empty(),
            "errors are reported once"
        );
        let size = |files: &mut Files, now| {
            let candidate = files.candidate(true, expire, now);
            candidate.map(|candidate| candidate.content.sizes().total())
        };
        assert_eq!(size(&mut files, start), Some(3));
        // A damaged file keeps its last content until it expires.
        fs::write(&other, "{").unwrap();
        write(&one, &["10.0.0.0/8"]);
        assert_eq!(files.read(false, start + expire / 2).len(), 1);
        assert_eq!(size(&mut files, start + expire / 2), Some(3));
        assert_eq!(size(&mut files, start + expire), Some(1));
        assert_eq!(size(&mut files, start + expire * 2), None);
        write(&other, &["13.0.0.0/8"]);
        files.read(false, start + expire * 2);
        assert_eq!(size(&mut files, start + expire * 2), Some(2));
        // Of the same size and with the same time of modification, as `cp -p` leaves them.
        let modified = fs::metadata(&other).unwrap().modified().unwrap();
        write(&other, &["14.0.0.0/8"]);
        let file = fs::File::options().write(true).open(&other).unwrap();
        file.set_modified(modified).unwrap();
        let before = files.candidate(true, expire, start + expire * 2).unwrap();
        files.read(false, start + expire * 2);
        let after = files.candidate(true, expire, start + expire * 2).unwrap();
        assert!(before.content.build() != after.content.build());
        files.set_paths(std::slice::from_ref(&other));
        assert_eq!(size(&mut files, start + expire * 2), Some(1));
        fs::remove_dir_all(&folder).unwrap();
    }
}
