//! StayRTR, an RTR cache that serves a validator's JSON file.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::lab::{Lab, write_file};
use crate::process::{Process, program};

/// A running StayRTR. It looks at its file each second.
pub struct StayRtr {
    address: SocketAddr,
    folder: PathBuf,
    process: Process,
}

impl StayRtr {
    /// Starts the cache with a JSON document, in a folder and on a host of the lab.
    pub fn start(lab: &Lab, host: u8, document: &str) -> StayRtr {
        let folder = lab.folder(&format!("stayrtr{host}"));
        let address = SocketAddr::new(lab.address(host), lab.port());
        write_file(&folder.join("vrps.json"), document);
        let process = spawn(&folder, address);
        StayRtr {
            address,
            folder,
            process,
        }
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Replaces its document, which it serves after a second at most.
    pub fn replace(&self, document: &str) {
        let new = self.folder.join("new.json");
        write_file(&new, document);
        fs::rename(&new, self.folder.join("vrps.json"))
            .unwrap_or_else(|error| panic!("{}: {error}", new.display()));
    }

    /// Its output so far.
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// Kills it.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts it again after [`StayRtr::kill`]. It has another session, and its serial numbers begin at zero.
    pub fn restart(&mut self) {
        self.process = spawn(&self.folder, self.address);
    }
}

fn spawn(folder: &Path, address: SocketAddr) -> Process {
    let metrics = SocketAddr::new(address.ip(), address.port() + 1);
    let mut command = Command::new(program("stayrtr"));
    command
        .args(["-bind", &address.to_string()])
        .args(["-metrics.addr", &metrics.to_string()])
        .args(["-cache", "vrps.json", "-refresh", "1", "-checktime=false"])
        .args(["-loglevel", "debug"])
        .current_dir(folder);
    Process::start("StayRTR", folder, &mut command)
}
