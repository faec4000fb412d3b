//! The last good copy of a source's data on disk.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use flate2::Crc;

/// A file with the last good copy of a source's data.
///
/// The first line has the kind of the data, the version of the format, the time and length of the data, and a checksum
/// (CRC-32). [`save`](Self::save) replaces the file as a whole, so a crash leaves the old copy or the new one.
#[derive(Clone, Debug)]
pub struct LastGood {
    path: PathBuf,
    kind: &'static str,
    version: u32,
    max_len: u64,
}

/// The content of a [`LastGood`] file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LastGoodCopy {
    /// The data, as [`LastGood::save`] wrote them.
    pub data: Vec<u8>,
    /// The time of the data, Unix seconds.
    pub time: u64,
}

impl LastGoodCopy {
    /// The age of the data. Zero if their time is in the future, because the clock was set back.
    pub fn age(&self, now: SystemTime) -> Duration {
        let time = UNIX_EPOCH + Duration::from_secs(self.time);
        now.duration_since(time).unwrap_or_default()
    }
}

impl LastGood {
    /// A copy in the file `path`. `kind` is one word that names the source, such as `irr`. A file with another kind or
    /// version is not read, and one with more than `max_len` bytes of data is neither written nor read.
    pub fn new(path: PathBuf, kind: &'static str, version: u32, max_len: u64) -> Self {
        LastGood {
            path,
            kind,
            version,
            max_len,
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the copy by the data that `write` writes. `time` is the time of the data in Unix seconds. The new file
    /// is on the disk before it takes the old one's name. The owner may write it, and the group may read it (0640).
    ///
    /// # Errors
    /// If the folder or file cannot be written, or the data are too long. The old copy then stays.
    pub fn save(
        &self,
        time: u64,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), LastGoodError> {
        let temporary = self.temporary();
        let saved = self.write_file(&temporary, time, write);
        let saved = saved.and_then(|()| fs::rename(&temporary, &self.path));
        let saved = saved.and_then(|()| self.sync_folder());
        saved.map_err(|why| {
            // The rename may have succeeded. Then there is no such file.
            let _ = fs::remove_file(&temporary);
            self.error(format!("cannot write the last good copy: {why}"))
        })
    }

    /// Reads the copy. `None` if there is no file.
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, or has another kind or version. The caller reports this, and goes on as
    /// without a copy.
    pub fn load(&self) -> Result<Option<LastGoodCopy>, LastGoodError> {
        match File::open(&self.path) {
            Ok(file) => self.read_file(file).map(Some),
            Err(why) if why.kind() == ErrorKind::NotFound => Ok(None),
            Err(why) => Err(self.unreadable(&why)),
        }
    }

    fn temporary(&self) -> PathBuf {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(".new");
        self.path.with_file_name(name)
    }

    fn write_file(
        &self,
        temporary: &Path,
        time: u64,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        match fs::remove_file(temporary) {
            Err(why) if why.kind() != ErrorKind::NotFound => return Err(why),
            _ => {}
        }
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o640)
            .open(temporary)?;
        let mut header = Header {
            time,
            len: 0,
            checksum: 0,
        };
        file.write_all(self.header_line(header).as_bytes())?;
        let mut data = CheckedWriter {
            file: &file,
            checksum: checksum_of(time),
            len: 0,
            max_len: self.max_len,
        };
        let mut buffered = BufWriter::with_capacity(BUFFER, &mut data);
        write(&mut buffered)?;
        buffered.flush()?;
        drop(buffered);
        header.len = data.len;
        header.checksum = data.checksum.sum();
        file.seek(SeekFrom::Start(0))?;
        // Both lines have the same length, because every number is padded.
        file.write_all(self.header_line(header).as_bytes())?;
        file.sync_all()
    }

    fn sync_folder(&self) -> io::Result<()> {
        let folder = self.path.parent();
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    }

    fn read_file(&self, file: File) -> Result<LastGoodCopy, LastGoodError> {
        let header_len = self.header_line(Header::default()).len();
        let limit = self.max_len.saturating_add(header_len as u64 + 1);
        let mut data = Vec::new();
        let read = file.take(limit).read_to_end(&mut data);
        read.map_err(|why| self.unreadable(&why))?;
        let header = data.get(..header_len).and_then(|line| self.parse(line));
        let Some(header) = header else {
            let why = format!(
                "the first line is not that of a copy of `{}` in version {}",
                self.kind, self.version
            );
            return Err(self.damaged(&why));
        };
        data.drain(..header_len);
        if data.len() as u64 != header.len {
            let why = format!(
                "it has {} bytes of data instead of {}",
                data.len(),
                header.len
            );
            return Err(self.damaged(&why));
        }
        let mut checksum = checksum_of(header.time);
        checksum.update(&data);
        if checksum.sum() != header.checksum {
            return Err(self.damaged("the checksum is wrong"));
        }
        Ok(LastGoodCopy {
            data,
            time: header.time,
        })
    }

    fn header_line(&self, header: Header) -> String {
        format!(
            "rutter {} {} {:020} {:020} {:08x}\n",
            self.kind, self.version, header.time, header.len, header.checksum
        )
    }

    /// Parses a header line. Writing it again must give the same bytes, so that every wrong byte is found.
    fn parse(&self, line: &[u8]) -> Option<Header> {
        let text = std::str::from_utf8(line).ok()?;
        let mut words = text.split_whitespace().skip(3);
        let header = Header {
            time: words.next()?.parse().ok()?,
            len: words.next()?.parse().ok()?,
            checksum: u32::from_str_radix(words.next()?, 16).ok()?,
        };
        (self.header_line(header) == text).then_some(header)
    }

    fn damaged(&self, why: &str) -> LastGoodError {
        let path = self.path.display();
        self.error(format!(
            "the last good copy is damaged and not used: {why}; remove {path} if it does not go away"
        ))
    }

    fn unreadable(&self, why: &io::Error) -> LastGoodError {
        self.error(format!("cannot read the last good copy: {why}"))
    }

    fn error(&self, why: String) -> LastGoodError {
        LastGoodError {
            path: self.path.clone(),
            why,
        }
    }
}

/// A checksum of the time, to which the data are added.
fn checksum_of(time: u64) -> Crc {
    let mut checksum = Crc::new();
    checksum.update(&time.to_be_bytes());
    checksum
}

/// The numbers of a file's first line.
#[derive(Clone, Copy, Default)]
struct Header {
    time: u64,
    len: u64,
    checksum: u32,
}

/// Counts and checks the bytes on their way to the file.
struct CheckedWriter<'a> {
    file: &'a File,
    checksum: Crc,
    len: u64,
    max_len: u64,
}

impl Write for CheckedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.len + bytes.len() as u64 > self.max_len {
            let why = format!("the data have more than {} bytes", self.max_len);
            return Err(io::Error::new(ErrorKind::FileTooLarge, why));
        }
        let written = self.file.write(bytes)?;
        self.checksum.update(&bytes[..written]);
        self.len += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A copy that cannot be written or read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LastGoodError {
    path: PathBuf,
    why: String,
}

impl fmt::Display for LastGoodError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.why)
    }
}

impl std::error::Error for LastGoodError {}

const BUFFER: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A copy in a folder of its own, which is removed at the end.
    struct Sample(LastGood);

    impl Sample {
        fn new(name: &str) -> Self {
            let folder = format!("rutter-last-good-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(folder).join("deep").join("irr");
            Sample(LastGood::new(path, "irr", 3, 1000))
        }

        fn save(&self, time: u64, data: &[u8]) -> Result<(), LastGoodError> {
            self.0.save(time, |writer| writer.write_all(data))
        }
    }

    impl Drop for Sample {
        fn drop(&mut self) {
            let folder = self.0.path.ancestors().nth(2).unwrap();
            let _ = fs::remove_dir_all(folder);
        }
    }

    #[test]
    fn a_copy_returns_with_its_time() {
        let sample = Sample::new("returns");
        assert_eq!(sample.0.load(), Ok(None));
        for (time, data) in [(1_700_000_000, &b"one\ntwo"[..]), (5, b"")] {
            sample.save(time, data).unwrap();
            let copy = sample.0.load().unwrap().unwrap();
            assert_eq!((copy.data.as_slice(), copy.time), (data, time));
            let later = UNIX_EPOCH + Duration::from_secs(time + 60);
            assert_eq!(copy.age(later), Duration::from_secs(60));
            assert_eq!(copy.age(UNIX_EPOCH), Duration::ZERO);
        }
        let mode = fs::metadata(sample.0.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o137, 0, "{mode:o}");
        let files = fs::read_dir(sample.0.path().parent().unwrap()).unwrap();
        assert_eq!(files.count(), 1);
    }

    #[test]
    fn a_copy_of_an_older_version_is_read() {
        let sample = Sample::new("format");
        sample.save(1_700_000_000, b"192.0.2.0/24\n").unwrap();
        let text =
            "rutter irr 3 00000000001700000000 00000000000000000013 41f44693\n192.0.2.0/24\n";
        assert_eq!(fs::read_to_string(sample.0.path()).unwrap(), text);
    }

    #[test]
    fn every_damaged_byte_is_found() {
        let sample = Sample::new("damaged");
        sample.save(1_700_000_000, b"192.0.2.0/24\n").unwrap();
        let good = fs::read(sample.0.path()).unwrap();
        for at in 0..good.len() {
            let mut wrong = good.clone();
            wrong[at] ^= 1;
            fs::write(sample.0.path(), &wrong).unwrap();
            assert!(sample.0.load().is_err(), "byte {at}");
            fs::write(sample.0.path(), &good[..at]).unwrap();
            assert!(sample.0.load().is_err(), "cut at {at}");
        }
        let long = [good.as_slice(), &[0; 2000]].concat();
        fs::write(sample.0.path(), long).unwrap();
        let error = sample.0.load().unwrap_err().to_string();
        assert!(error.contains("damaged") && error.contains("deep/irr"));
    }

    #[test]
    fn other_versions_and_kinds_are_not_read() {
        let sample = Sample::new("version");
        sample.save(1, b"data").unwrap();
        for (kind, version) in [("irr", 4), ("irr", 33), ("rpki", 3)] {
            let other = LastGood::new(sample.0.path.clone(), kind, version, 1000);
            assert!(other.load().is_err(), "{kind} {version}");
        }
    }

    #[test]
    fn a_failed_write_keeps_the_old_copy() {
        let sample = Sample::new("failed");
        sample.save(7, b"old").unwrap();
        let error = sample.save(8, &[b'x'; 1001]).unwrap_err();
        assert!(error.to_string().contains("1000 bytes"), "{error}");
        let failed = |_: &mut dyn Write| Err(io::Error::other("broken"));
        assert!(sample.0.save(8, failed).is_err());
        assert_eq!(sample.0.load().unwrap().unwrap().data, b"old");
        let files = fs::read_dir(sample.0.path().parent().unwrap()).unwrap();
        assert_eq!(files.count(), 1);
        // A file that a crash left is replaced.
        fs::write(sample.0.temporary(), b"half").unwrap();
        sample.save(9, b"new").unwrap();
        assert_eq!(sample.0.load().unwrap().unwrap().time, 9);
    }
}
