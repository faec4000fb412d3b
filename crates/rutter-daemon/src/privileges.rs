//! The privileges of the process: user, group, number of files, priority of threads.
//!
//! Invariant of the `unsafe` here: each call passes only integers or pointers to live values of the stated type.
#![allow(
    unsafe_code,
    reason = "setuid, setgid, setrlimit and sched_setattr have no safe wrapper in std"
)]

use std::fs;
use std::io;

/// Raises the soft limit of open files to the hard limit and returns it.
pub fn raise_open_files() -> io::Result<u64> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a live `rlimit`.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) })?;
    if limit.rlim_cur < limit.rlim_max {
        limit.rlim_cur = limit.rlim_max;
        // SAFETY: as above.
        check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) })?;
    }
    Ok(limit.rlim_cur)
}

/// Gives the calling thread a lower priority than the threads that route. It cannot be undone.
pub fn yield_to_routing() {
    // SAFETY: integers only. On Linux 0 is the calling thread; a higher nice value is always permitted.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
    set_slice(LONG_SLICE_NS);
}

/// Gives the calling thread short time slices: when it wakes up, it preempts threads with longer slices.
///
/// On busy processors a low-priority thread with long slices may run seconds after it wakes up. With short ones it runs
/// after some tens of milliseconds.
pub(crate) fn prefer_short_slices() {
    set_slice(SHORT_SLICE_NS);
}

const NICE: libc::c_int = 10;
/// A thread keeps its processor until its slice ends, or until the next tick after that, up to four milliseconds later.
/// Only a thread with a shorter slice preempts it at once (Linux 6.12 or later; others ignore slices). A turn of
/// routing should fit into a slice: after its end any waking thread, nice or not, may run for milliseconds. The slices of
/// low-priority threads are longer than the usual ones of 0.7 to 2.8 ms.
const SHORT_SLICE_NS: u64 = 1_000_000;
const LONG_SLICE_NS: u64 = 100_000_000;

/// Requests time slices of this length for the calling thread. Kernels without this feature ignore it.
fn set_slice(nanoseconds: u64) {
    // SAFETY: integers only.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: libc::SCHED_OTHER as u32,
        sched_flags: 0,
        sched_nice: nice,
        sched_priority: 0,
        sched_runtime: nanoseconds,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: `attributes` is a live `sched_attr` of the stated size; the kernel only reads it.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

/// Switches to the given user and group. Call it after the sockets are bound.
pub fn drop_to(user: Option<&str>, group: Option<&str>) -> io::Result<()> {
    let (uid, own_gid) = match user {
        Some(name) => {
            let (uid, gid) = look_up("/etc/passwd", name)?;
            (Some(uid), gid)
        }
        None => (None, None),
    };
    let gid = match group {
        Some(name) => Some(look_up("/etc/group", name)?.0),
        None => own_gid,
    };
    if let Some(gid) = gid {
        // SAFETY: a list of one live gid, then integers only.
        check(unsafe { libc::setgroups(1, &gid) })?;
        check(unsafe { libc::setgid(gid) })?;
    }
    if let Some(uid) = uid {
        // SAFETY: integers only.
        check(unsafe { libc::setuid(uid) })?;
    }
    Ok(())
}

/// Returns the third and fourth columns of a line of `passwd` or `group`. A name that is a number is returned as it is.
fn look_up(file: &str, name: &str) -> io::Result<(u32, Option<u32>)> {
    if let Ok(number) = name.parse() {
        return Ok((number, None));
    }
    let text = fs::read_to_string(file)?;
    let line = text.lines().find(|l| l.split(':').next() == Some(name));
    let mut columns = line.into_iter().flat_map(|l| l.split(':')).skip(2);
    match columns.next().map(str::parse) {
        Some(Ok(id)) => Ok((id, columns.next().and_then(|c| c.parse().ok()))),
        _ => Err(io::Error::other(format!("`{name}` is not in {file}"))),
    }
}

fn check(rc: libc::c_int) -> io::Result<()> {
    if rc == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_found() {
        assert_eq!(look_up("/etc/passwd", "root").expect("root"), (0, Some(0)));
        assert_eq!(look_up("/etc/group", "1234").expect("number"), (1234, None));
        assert!(look_up("/etc/passwd", "no-such-user").is_err());
    }

    #[test]
    fn the_limit_of_open_files_is_raised() {
        assert!(raise_open_files().expect("rlimit") > 64);
    }
}
