//! pmacct's BMP station, `pmbmpd`. Its log of announcements and withdrawals is reduced to the resulting table.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::lab::{Lab, eventually, write_file};
use crate::process::{Process, program};

/// A station that writes each message as a line of JSON.
pub struct Pmbmpd {
    log: PathBuf,
    process: Process,
}

/// The router's port, the address of its peer, pre- or post-policy, prefix, path identifier.
type Key = (u64, String, u64, String, u64);

impl Pmbmpd {
    /// Starts a station at an address of the lab.
    pub fn start(lab: &Lab, listen: SocketAddr) -> Pmbmpd {
        // Remove the files of an earlier station.
        let _ = fs::remove_dir_all(lab.folder("pmbmpd"));
        let folder = lab.folder("pmbmpd");
        let (log, conf) = (folder.join("bmp.json"), folder.join("conf"));
        let text = format!(
            "bmp_daemon_ip: {}\nbmp_daemon_port: {}\nbmp_daemon_max_peers: 100\nbmp_daemon_msglog_file: {}\n",
            listen.ip(),
            listen.port(),
            log.display()
        );
        write_file(&conf, &text);
        let mut command = Command::new(program("pmbmpd"));
        command.arg("-f").arg(conf);
        let mut process = Process::start("pmbmpd", &folder, &mut command);
        eventually("pmbmpd listens", || {
            process.check_alive()?;
            match process.log().contains("waiting for BMP data") {
                true => Ok(()),
                false => Err(process.log()),
            }
        });
        Pmbmpd { log, process }
    }

    /// The last event of each route in the log, without the routes of routers and peers that are down.
    pub fn routes(&self) -> Result<Vec<Value>, String> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        // The last line may be incomplete.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut routes: BTreeMap<Key, Value> = BTreeMap::new();
        for line in whole.lines() {
            let event: Value = serde_json::from_str(line).map_err(|e| format!("{e}: {line}"))?;
            take(&mut routes, event);
        }
        Ok(routes.into_values().collect())
    }
}

impl Drop for Pmbmpd {
    fn drop(&mut self) {
        // After a milder signal it takes long to end.
        self.process.kill();
    }
}

fn take(routes: &mut BTreeMap<Key, Value>, event: Value) {
    let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
    let number = |name: &str| event[name].as_u64().unwrap_or_default();
    let (router, peer) = (number("bmp_router_port"), text("peer_ip"));
    let (prefix, path_id) = (text("ip_prefix"), number("as_path_id"));
    let key = (router, peer.clone(), number("is_post"), prefix, path_id);
    match (
        &*text("event_type"),
        &*text("bmp_msg_type"),
        &*text("log_type"),
    ) {
        ("log_close", ..) => routes.retain(|(of, ..), _| *of != router),
        (_, "peer_down", _) => routes.retain(|(of, at, ..), _| *of != router || *at != peer),
        (_, "route_monitor", "update") => drop(routes.insert(key, event)),
        (_, "route_monitor", "withdraw") => drop(routes.remove(&key)),
        _ => {}
    }
}
