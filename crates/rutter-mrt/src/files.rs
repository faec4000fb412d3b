//! What is to be read: files, folders and standard input.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// One thing to read.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Input {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
}

impl Input {
    /// Its octets on disk, 0 where that cannot be known.
    pub fn len(&self) -> u64 {
        match self {
            Input::File(path) => fs::metadata(path).map_or(0, |meta| meta.len()),
            Input::Stdin => 0,
        }
    }

    /// Whether it is known to hold nothing.
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

/// The files that paths name: `-` is standard input, and of a folder all files in the order of their names, also of
/// folders inside, but none whose name begins with a dot, and nothing that is no file, which might never end. Names of
/// collectors hold the time, so that is the order of time.
pub fn find_files(paths: &[PathBuf]) -> io::Result<Vec<Input>> {
    let mut inputs = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            inputs.push(Input::Stdin);
        } else {
            let meta = fs::metadata(path).map_err(|error| naming(path, &error))?;
            match meta.is_dir() {
                true => walk(path, &mut Vec::new(), &mut inputs)?,
                false => inputs.push(Input::File(path.clone())),
            }
        }
    }
    Ok(inputs)
}

/// `above`: the folders that this one is in, so that a link to one of them is not followed for ever.
fn walk(folder: &Path, above: &mut Vec<PathBuf>, inputs: &mut Vec<Input>) -> io::Result<()> {
    let failed = |error: io::Error| naming(folder, &error);
    let place = fs::canonicalize(folder).map_err(failed)?;
    if above.contains(&place) {
        return Ok(());
    }
    above.push(place);
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
            Ok(meta) if meta.is_dir() => walk(&path, above, inputs)?,
            Ok(meta) if !meta.is_file() => {}
            // What is wrong with it is said when it is read.
            _ => inputs.push(Input::File(path)),
        }
    }
    above.pop();
    Ok(())
}

fn naming(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn folders_within_themselves_and_what_is_no_file_are_passed_over() {
        let folder = std::env::temp_dir().join(format!("rutter-mrt-{}", std::process::id()));
        fs::create_dir_all(folder.join("a")).unwrap();
        fs::write(folder.join("a/1.mrt"), "").unwrap();
        symlink("..", folder.join("a/loop")).unwrap();
        symlink("a", folder.join("b")).unwrap();
        // As a pipe, it would be waited for.
        let _socket = UnixListener::bind(folder.join("socket")).unwrap();
        let found = find_files(std::slice::from_ref(&folder)).unwrap();
        let names = ["a/1.mrt", "b/1.mrt"];
        assert_eq!(found, names.map(|name| Input::File(folder.join(name))));
        fs::remove_dir_all(folder).unwrap();
    }
}
