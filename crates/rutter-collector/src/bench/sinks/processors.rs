//! The CPU time of this process and of its descendants, such as the servers that it started. Other processes on the
//! machine hardly affect it.

use std::collections::HashMap;
use std::fs;

/// Returns the CPU seconds so far.
pub(super) fn seconds() -> f64 {
    let processes: HashMap<u32, Process> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            let text = fs::read_to_string(entry.path().join("stat")).ok()?;
            Some((id, Process::read(&text)?))
        })
        .collect();
    let ours = std::process::id();
    let is_own_process = |id: &u32| {
        let mut at = *id;
        while at != ours {
            match processes.get(&at) {
                Some(process) => at = process.parent,
                None => return false,
            }
        }
        true
    };
    let ticks = processes.iter().filter(|(id, _)| is_own_process(id));
    ticks.map(|(_, process)| process.ticks).sum::<u64>() as f64 / TICKS
}

struct Process {
    parent: u32,
    /// The ticks of the process and of its ended children.
    ticks: u64,
}

impl Process {
    /// Parses a line of proc_pid_stat(5) after the process name. The name may contain any character.
    fn read(text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let times = fields.get(11..15)?.iter();
        Some(Process {
            parent: fields.get(1)?.parse().ok()?,
            ticks: times.filter_map(|time| time.parse::<u64>().ok()).sum(),
        })
    }
}

/// USER_HZ of Linux.
const TICKS: f64 = 100.0;
