//! The cost of a daemon: processor time and memory of a process with all its descendants, from /proc. Also our own
//! limits.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use rustix::process::{Pid, Resource, getrlimit, setrlimit};
use std::collections::HashMap;

/// Processor time and memory of a process tree at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// User and system time.
    pub cpu: Duration,
    /// Resident memory and files in memory, in bytes.
    pub rss: u64,
    /// The largest resident memory so far, in bytes, added up over the processes. Files in memory count with their
    /// present size.
    pub peak_rss: u64,
    /// How many processes.
    pub processes: usize,
}

/// Adds up a process and all its descendants; processes that end during the call are left out.
pub fn usage_of_tree(pid: u32) -> Usage {
    let mut usage = Usage::default();
    for pid in tree(pid) {
        let Some(cpu) = cpu_time(pid) else {
            continue;
        };
        usage.cpu += cpu;
        let (rss, peak) = resident_kib(pid);
        usage.rss += rss * 1024;
        usage.peak_rss += peak * 1024;
        let files = files_in_memory(pid);
        usage.rss += files;
        usage.peak_rss += files;
        usage.processes += 1;
    }
    usage
}

/// The time that the living threads of a process were ready to run and waited for a processor.
pub fn waited_for_processor(pid: u32) -> Duration {
    Duration::from_nanos(sum_of_threads(pid, 1))
}

/// Adds up a field of `schedstat` over the threads of a process: 0 is the processor time, 1 the wait for a processor,
/// nanoseconds.
fn sum_of_threads(pid: u32, field: usize) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    tasks
        .filter_map(|task| fs::read_to_string(task.path().join("schedstat")).ok())
        .filter_map(|text| text.split_whitespace().nth(field)?.parse::<u64>().ok())
        .sum()
}

/// Resets the peak to the present size, if the kernel permits it.
pub fn reset_peak(pid: u32) {
    for pid in tree(pid) {
        // It is not permitted for processes of other users; then the peak includes the start.
        let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
    }
}

/// Returns whether a process exists and has not ended. It need not be a child of ours.
pub fn is_running(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid()));
    let state = |stat: &str| Some(stat.rsplit_once(')')?.1.trim_start().to_owned());
    let state = stat.ok().as_deref().and_then(state);
    state.is_some_and(|state| !state.starts_with(['Z', 'X']))
}

/// Our own processor time.
pub fn own_cpu() -> Duration {
    cpu_time(std::process::id()).unwrap_or_default()
}

/// The number of cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Raises the limit of open files to at least `files`, if the hard limit permits it.
pub fn want_files(files: usize) -> io::Result<()> {
    let files = files as u64;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= files) {
        return Ok(());
    }
    if limit.maximum.is_some_and(|maximum| maximum < files) {
        return Err(io::Error::other(format!(
            "{files} open files are needed, but the hard limit is {}: raise it (ulimit -Hn, LimitNOFILE=)",
            limit.maximum.unwrap_or(0)
        )));
    }
    limit.current = Some(files);
    setrlimit(Resource::Nofile, limit).map_err(io::Error::from)
}

/// The finer of two clocks: ticks of the whole process with its ended threads, or nanoseconds of its living threads.
fn cpu_time(pid: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    let by_ticks =
        Duration::from_nanos(ticks * 1_000_000_000 / rustix::param::clock_ticks_per_second());
    let by_threads = sum_of_threads(pid, 0);
    Some(by_ticks.max(Duration::from_nanos(by_threads)))
}

/// Resident memory now and at its peak, in KiB. Kernels that count pages per core may report nothing for a small
/// process, or a peak below the present size. Then `smaps_rollup` gives the exact size.
fn resident_kib(pid: u32) -> (u64, u64) {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let rss = match field_kib(&status, "VmRSS:") {
        Some(rss) if rss > 0 => rss,
        _ => fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))
            .ok()
            .and_then(|rollup| field_kib(&rollup, "Rss:"))
            .unwrap_or(0),
    };
    let peak = field_kib(&status, "VmHWM:").unwrap_or(0);
    (rss, peak.max(rss))
}

/// Bytes of unnamed files in memory (`memfd_create`), which no process counts as resident memory.
fn files_in_memory(pid: u32) -> u64 {
    let mut seen = Vec::new();
    let mut octets = 0;
    let files = fs::read_dir(format!("/proc/{pid}/fd"));
    for file in files
        .into_iter()
        .flatten()
        .flatten()
        .map(|file| file.path())
    {
        let is_memory =
            fs::read_link(&file).is_ok_and(|to| to.as_os_str().as_bytes().starts_with(b"/memfd:"));
        if let Some(meta) = is_memory.then(|| fs::metadata(&file).ok()).flatten()
            && !seen.contains(&meta.ino())
        {
            seen.push(meta.ino());
            octets += meta.blocks() * 512;
        }
    }
    octets
}

fn field_kib(text: &str, field: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with(field))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn tree(root: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        let parent = fs::read_to_string(format!("/proc/{pid}/stat"))
            .ok()
            .and_then(|stat| {
                stat.rsplit_once(')')?
                    .1
                    .split_whitespace()
                    .nth(1)?
                    .parse()
                    .ok()
            });
        if let Some(parent) = parent {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = vec![root];
    let mut at = 0;
    while let Some(&pid) = found.get(at) {
        found.extend(children.get(&pid).into_iter().flatten());
        at += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_process_has_a_size() {
        let usage = usage_of_tree(std::process::id());
        assert!(usage.rss > 0 && usage.peak_rss >= usage.rss && usage.processes >= 1);
        assert!(want_files(1).is_ok());
    }
}
