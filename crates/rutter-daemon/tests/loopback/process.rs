//! A daemon in another process, which a test can stop and continue.

use std::net::SocketAddr;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rutter_wire::frame::KEEPALIVE;

use crate::support::{Folder, Received, Speaker, member, start};

const FOLDER: &str = "RUTTER_TEST_FOLDER";

/// The daemon of [`messages_are_read_before_hold_timers_after_a_pause`], run in a process of its own.
#[test]
#[ignore = "other tests run it"]
fn daemon_in_a_process() {
    let Some(path) = std::env::var_os(FOLDER) else {
        return;
    };
    let folder = Folder(path.into());
    let (_daemon, address) = start(&folder, 1, &member(1, 64501, ""));
    std::fs::write(folder.0.join("address.new"), address.to_string()).expect("write");
    std::fs::rename(folder.0.join("address.new"), folder.0.join("address")).expect("rename");
    std::thread::sleep(Duration::from_secs(600));
}

struct Process(Child);

impl Process {
    fn start(folder: &Folder) -> (Self, SocketAddr) {
        let program = std::env::current_exe().expect("this program");
        let mut command = Command::new(program);
        command.args(["--exact", "--ignored", "process::daemon_in_a_process"]);
        let child = command.env(FOLDER, &folder.0).spawn().expect("a process");
        let process = Process(child);
        let until = Instant::now() + Duration::from_secs(120);
        while Instant::now() < until {
            if let Ok(text) = std::fs::read_to_string(folder.0.join("address")) {
                return (process, text.parse().expect("an address"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("the daemon does not start");
    }

    fn signal(&self, name: &str) {
        let id = self.0.id().to_string();
        let status = Command::new("kill").args([name, &id]).status();
        assert!(status.expect("kill").success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn messages_are_read_before_hold_timers_after_a_pause() {
    let folder = Folder::new("pause");
    let (daemon, address) = Process::start(&folder);
    let mut one = Speaker::connect(1, 64501, address);
    one.open_with(1, 3, &[]);
    daemon.signal("-STOP");
    for _ in 0..5 {
        std::thread::sleep(Duration::from_secs(1));
        one.send(&KEEPALIVE);
    }
    daemon.signal("-CONT");
    // The daemon sends a KEEPALIVE each second, and a NOTIFICATION if its hold timer has expired.
    for _ in 0..3 {
        assert!(matches!(
            one.receive(),
            Received::Keepalive | Received::Update
        ));
        one.send(&KEEPALIVE);
    }
}
