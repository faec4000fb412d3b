//! The system's allocator: what it holds, and giving back what nobody needs.
//!
//! Invariant of the `unsafe` here: both calls take and return plain numbers, and glibc may be asked by any thread at
//! any time. Other C libraries have no such calls; there nothing is known and nothing given back.
#![allow(
    unsafe_code,
    reason = "glibc's mallinfo2 and malloc_trim have no safe wrapper"
)]

/// Octets that are allocated now, in all arenas.
#[cfg(target_env = "gnu")]
pub(crate) fn in_use() -> Option<u64> {
    // SAFETY: see the head of this file.
    let info = unsafe { libc::mallinfo2() };
    Some((info.uordblks + info.hblkhd) as u64)
}

/// Gives whole pages that are free back to the kernel.
#[cfg(target_env = "gnu")]
pub fn trim() {
    // SAFETY: see the head of this file.
    unsafe { libc::malloc_trim(0) };
}

/// Octets that are allocated now: not known here.
#[cfg(not(target_env = "gnu"))]
pub(crate) fn in_use() -> Option<u64> {
    None
}

/// Nothing to be done here.
#[cfg(not(target_env = "gnu"))]
pub fn trim() {}
