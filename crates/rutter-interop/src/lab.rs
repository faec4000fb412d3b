//! The resources of one test: a folder, a network inside 127.0.0.0/8 and a port that no other test uses.

use std::fs;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A folder, a /24 of loopback addresses and a port, exclusive during its lifetime.
///
/// The number in the folder's name selects the network. Creating the folder claims the number, so labs of other tests,
/// threads and processes get other numbers.
pub struct Lab {
    folder: PathBuf,
    number: u16,
}

impl Lab {
    /// Claims a free lab.
    pub fn new() -> Lab {
        let start = (std::process::id() % u32::from(LABS)) as u16;
        for step in 0..LABS {
            let number = (start + step) % LABS;
            // The name is short because the path of a Unix socket may have at most 107 bytes.
            let folder = std::env::temp_dir().join(format!("rt{number:04}"));
            match fs::create_dir(&folder) {
                Ok(()) => return Lab { folder, number },
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                Err(error) => panic!("cannot make {}: {error}", folder.display()),
            }
        }
        panic!("all {LABS} labs are taken: remove old rt* folders");
    }

    /// The address of a host in this lab's network.
    pub fn address(&self, host: u8) -> IpAddr {
        let [high, low] = self.number.to_be_bytes();
        IpAddr::V4(Ipv4Addr::new(127, 64 + high, low, host))
    }

    /// The BGP port of all daemons in this lab.
    pub fn port(&self) -> u16 {
        17_000 + self.number
    }

    /// Creates and returns a folder for one daemon.
    pub fn folder(&self, name: &str) -> PathBuf {
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder)
            .unwrap_or_else(|error| panic!("cannot make {}: {error}", folder.display()));
        folder
    }
}

impl Default for Lab {
    fn default() -> Self {
        Lab::new()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if std::env::var_os("RUTTER_INTEROP_KEEP").is_none() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// Waits until the condition holds, at most three minutes; panics with its last error.
#[track_caller]
pub fn eventually<T>(what: &str, condition: impl FnMut() -> Result<T, String>) -> T {
    eventually_within(Duration::from_secs(180), what, condition)
}

/// Waits until the condition holds; panics with its last error after the timeout.
#[track_caller]
pub fn eventually_within<T>(
    limit: Duration,
    what: &str,
    mut condition: impl FnMut() -> Result<T, String>,
) -> T {
    let end = Instant::now() + limit;
    loop {
        match condition() {
            Ok(value) => return value,
            Err(complaint) if Instant::now() >= end => {
                panic!(
                    "after {} s, still not: {what}\n{complaint}",
                    limit.as_secs()
                )
            }
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// Writes a daemon's file.
pub(crate) fn write_file(path: &Path, text: &str) {
    fs::write(path, text)
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
}

const LABS: u16 = 4_000;
