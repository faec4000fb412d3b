//! One file of the archive. It gets its final name when it is complete.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use rutter_net::Date;

use crate::logging::Timestamp;

/// A file that is being written.
pub(super) struct ArchiveFile {
    output: Output,
    partial: PathBuf,
    directory: PathBuf,
    kind: String,
    /// The time in the name, Unix seconds.
    unix_s: u64,
    pub(super) bytes: u64,
}

enum Output {
    Plain(BufWriter<File>),
    Gzip(Box<GzEncoder<BufWriter<File>>>),
}

impl ArchiveFile {
    /// Creates the file `KIND.YYYYMMDD.HHMMSS[.gz]` under a temporary name that starts with a dot.
    pub(super) fn create(
        directory: &Path,
        kind: &str,
        unix_s: u64,
        gzip: bool,
    ) -> io::Result<Self> {
        let name = name(kind, unix_s, gzip);
        let partial = directory.join(format!(".{name}.partial"));
        let file = BufWriter::with_capacity(256 * 1024, File::create(&partial)?);
        let output = if gzip {
            Output::Gzip(Box::new(GzEncoder::new(file, Compression::fast())))
        } else {
            Output::Plain(file)
        };
        Ok(ArchiveFile {
            output,
            partial,
            directory: directory.to_owned(),
            kind: kind.to_owned(),
            unix_s,
            bytes: 0,
        })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        match &mut self.output {
            Output::Plain(file) => file.write_all(bytes),
            Output::Gzip(file) => file.write_all(bytes),
        }
    }

    /// Completes the file and gives it its final name. If a file has this name, because the clock was set back, the name
    /// has the next second that is free.
    pub(super) fn finish(self) -> io::Result<PathBuf> {
        let gzip = matches!(self.output, Output::Gzip(_));
        let mut file = match self.output {
            Output::Plain(file) => file,
            Output::Gzip(file) => file.finish()?,
        };
        file.flush()?;
        file.get_ref().sync_all()?;
        let names = (self.unix_s..).map(|unix_s| name(&self.kind, unix_s, gzip));
        let mut paths = names.map(|name| self.directory.join(name));
        let complete = paths.find(|path| !path.exists()).unwrap_or_default();
        fs::rename(&self.partial, &complete)?;
        Ok(complete)
    }

    /// Deletes the incomplete file.
    pub(super) fn abandon(self) {
        let _ = fs::remove_file(&self.partial);
    }
}

fn name(kind: &str, unix_s: u64, gzip: bool) -> String {
    let Date { year, month, day } = Date::of_second(unix_s);
    let (h, m, s) = (unix_s / 3_600 % 24, unix_s / 60 % 60, unix_s % 60);
    let suffix = if gzip { ".gz" } else { "" };
    format!("{kind}.{year:04}{month:02}{day:02}.{h:02}{m:02}{s:02}{suffix}")
}

/// Wall time for logs.
pub(super) fn when(unix_s: u64) -> String {
    Timestamp(Duration::from_secs(unix_s)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_by_time() {
        assert_eq!(name("rib", 951_782_400, true), "rib.20000229.000000.gz");
        assert_eq!(
            name("updates", 951_786_061, false),
            "updates.20000229.010101"
        );
    }
}
