//! Reads files that a configuration names: regular files of a limited size.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The maximum size of a configuration or member file, bytes. A syntax tree needs many times as much memory.
pub(crate) const CONFIGURATION: u64 = 16 << 20;

/// The maximum size of a file with a list, bytes.
pub(crate) const LIST: u64 = 64 << 20;

/// The maximum size of a file with a password, bytes.
pub(crate) const PASSWORD: u64 = 4096;

/// Reads a regular file of at most `limit` bytes. A pipe could block for ever, and a device could have no end.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    // The type is checked before opening, because opening a pipe waits for its writer.
    check_type(&std::fs::metadata(path)?)?;
    let file = File::open(path)?;
    check_type(&file.metadata()?)?;
    read_limited(file, limit)
}

fn read_limited(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(refused(format!("it is larger than {limit} bytes")));
    }
    Ok(bytes)
}

fn utf8(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| refused("it is not UTF-8".into()))
}

/// Reads a file of UTF-8 that the operator named on the command line: it may be a pipe, such as that of another program.
pub(crate) fn read_text_of_any(path: &Path, limit: u64) -> io::Result<String> {
    utf8(read_limited(File::open(path)?, limit)?)
}

/// The same as [`read`] for a file of UTF-8.
pub(crate) fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    utf8(read(path, limit)?)
}

fn check_type(metadata: &std::fs::Metadata) -> io::Result<()> {
    let kind = metadata.file_type();
    match kind.is_file() {
        true => Ok(()),
        false if kind.is_dir() => Err(refused("it is a folder".into())),
        false => Err(refused(
            "it is a pipe, socket or device, not a regular file".into(),
        )),
    }
}

fn refused(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// The maximum number of values in a configuration or member file.
const VALUES: usize = 1_000_000;

/// Refuses a file whose syntax tree would be much larger than the file: each value takes a hundred bytes or more. The
/// count includes characters in strings and comments.
pub(crate) fn check_values(text: &str) -> Result<(), String> {
    let values = text
        .bytes()
        .filter(|byte| matches!(byte, b'[' | b'{' | b',' | b'='))
        .count();
    match values > VALUES {
        true => Err(format!("the file has more than {VALUES} values")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_the_right_size_are_read() {
        let error = |path: &str, limit| read(Path::new(path), limit).unwrap_err().to_string();
        assert!(error("/dev/zero", 10).contains("device"));
        assert!(error("/", 10).contains("folder"));
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        assert!(error(own.to_str().unwrap(), 3).contains("larger than 3 bytes"));
        assert!(read_text(&own, LIST).unwrap().contains("rutter-config"));
    }

    #[test]
    fn a_tree_of_many_values_is_refused() {
        assert!(
            check_values(&"[],".repeat(400_000)).is_ok_and(|()| false)
                || check_values(&"[],".repeat(600_000)).is_err()
        );
        assert!(check_values("a = [1, 2]").is_ok());
    }
}
