//! The audit log: who changed what, with the outcome.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rutter_api::{AuditEntry, units};

use crate::shared::Shared;

/// Logs an entry, and appends it to the file of `daemon.audit-log`.
pub(crate) fn record(shared: &Shared, entry: AuditEntry<'_>) {
    let AuditEntry { who, action, .. } = entry;
    match entry.outcome {
        Ok(result) => tracing::info!("audit: {who}: {action}: {result}"),
        Err(error) => tracing::warn!("audit: {who}: {action}: failed: {error}"),
    }
    let Some(file) = shared.config.read().daemon.audit_log.clone() else {
        return;
    };
    if let Err(error) = append(&file, entry) {
        let file = file.display();
        tracing::error!(
            "audit-log: cannot write {file}: {error}; let the daemon's user write there"
        );
    }
}

/// Appends a line. The file is opened each time, so another program may rename it at any moment.
fn append(file: &Path, entry: AuditEntry<'_>) -> io::Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let unix_us = now.map_or(0, |since| since.as_micros() as u64);
    let (outcome, text) = match entry.outcome {
        Ok(text) => ("done", text),
        Err(text) => ("failed", text),
    };
    let line = serde_json::json!({
        "time": units::timestamp(unix_us),
        "who": entry.who,
        "action": entry.action,
        "outcome": outcome,
        "text": text,
    });
    let mut options = OpenOptions::new();
    let mut file = options.append(true).create(true).mode(0o640).open(file)?;
    // One write: lines of two threads do not mix.
    file.write_all(format!("{line}\n").as_bytes())
}

/// Names the process at the other end of a local connection: `alice (uid 1000, pid 4711)`.
pub(crate) fn peer_of(stream: &UnixStream) -> String {
    match rustix::net::sockopt::socket_peercred(stream) {
        Ok(peer) => {
            let uid = peer.uid.as_raw();
            let pid = peer.pid.as_raw_nonzero();
            let name = user_name(uid).unwrap_or_else(|| "unknown user".to_owned());
            format!("{name} (uid {uid}, pid {pid})")
        }
        Err(error) => format!("unknown user ({error})"),
    }
}

fn user_name(uid: u32) -> Option<String> {
    let text = fs::read_to_string("/etc/passwd").ok()?;
    let columns = |line: &str| -> Option<(String, u32)> {
        let mut columns = line.split(':');
        let name = columns.next()?.to_owned();
        Some((name, columns.nth(1)?.parse().ok()?))
    };
    let mut users = text.lines().filter_map(columns);
    users.find(|(_, id)| *id == uid).map(|(name, _)| name)
}
