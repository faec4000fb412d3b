//! The inputs of a reader: files, folders and standard input.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// One file, or standard input.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Input {
    /// A regular file.
    File(PathBuf),
    /// Standard input.
    Stdin,
}

impl Input {
    /// The size on disk in bytes; 0 if it is unknown.
    pub fn len(&self) -> u64 {
        match self {
            Input::File(path) => fs::metadata(path).map_or(0, |meta| meta.len()),
            Input::Stdin => 0,
        }
    }

    /// Returns whether the input is known to be empty.
    pub fn is_empty(&self) -> bool {
        matches!(self, Input::File(path) if fs::metadata(path).is_ok_and(|meta| meta.len() == 0))
    }

    pub(crate) fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Input::File(path) => Box::new(File::open(path)?),
            Input::Stdin => Box::new(io::stdin()),
        })
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Input::File(path) => path.display().fmt(f),
            Input::Stdin => f.write_str("standard input"),
        }
    }
}

/// Returns the files at `paths`. `-` means standard input.
///
/// A folder yields all regular files below it, sorted by name. Files and folders whose name starts with a dot are
/// skipped, and so are pipes and sockets, which may never end. Collectors put the time into file names, so the order
/// is that of time.
pub fn find_files(paths: &[PathBuf]) -> io::Result<Vec<Input>> {
    let mut inputs = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            inputs.push(Input::Stdin);
        } else {
            let meta = fs::metadata(path).map_err(|error| with_path(path, &error))?;
            match meta.is_dir() {
                true => walk(path, &mut Vec::new(), &mut inputs)?,
                false => inputs.push(Input::File(path.clone())),
            }
        }
    }
    Ok(inputs)
}

/// `parents` holds the folders that contain this one. A link to one of them is not followed, to avoid a loop.
fn walk(folder: &Path, parents: &mut Vec<PathBuf>, inputs: &mut Vec<Input>) -> io::Result<()> {
    let failed = |error: io::Error| with_path(folder, &error);
    let place = fs::canonicalize(folder).map_err(failed)?;
    if parents.contains(&place) {
        return Ok(());
    }
    parents.push(place);
    let entries = fs::read_dir(folder).map_err(failed)?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<_>>>()
        .map_err(failed)?;
    paths.sort();
    for path in paths {
        let hidden = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if hidden {
            continue;
        }
        match fs::metadata(&path) {
            Ok(meta) if meta.is_dir() => walk(&path, parents, inputs)?,
            Ok(meta) if !meta.is_file() => {}
            // An error is reported when the file is read.
            _ => inputs.push(Input::File(path)),
        }
    }
    parents.pop();
    Ok(())
}

fn with_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn loops_of_folders_and_special_files_are_skipped() {
        let folder = std::env::temp_dir().join(format!("rutter-mrt-{}", std::process::id()));
        fs::create_dir_all(folder.join("a")).unwrap();
        fs::write(folder.join("a/1.mrt"), "").unwrap();
        symlink("..", folder.join("a/loop")).unwrap();
        symlink("a", folder.join("b")).unwrap();
        // Opening a socket fails; opening a pipe would block.
        let _socket = UnixListener::bind(folder.join("socket")).unwrap();
        let found = find_files(std::slice::from_ref(&folder)).unwrap();
        let names = ["a/1.mrt", "b/1.mrt"];
        assert_eq!(found, names.map(|name| Input::File(folder.join(name))));
        fs::remove_dir_all(folder).unwrap();
    }
}
