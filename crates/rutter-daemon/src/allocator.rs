//! The system's allocator: the memory that it uses, and the return of free memory to the kernel.
//!
//! Invariant of the `unsafe` here: both calls take and return plain numbers, and any thread may call them at any time.
//! Other C libraries have no such calls: there the functions do nothing.
#![allow(
    unsafe_code,
    reason = "glibc's mallinfo2 and malloc_trim have no safe wrapper"
)]

/// The allocated bytes, in all arenas.
#[cfg(target_env = "gnu")]
pub(crate) fn in_use() -> Option<u64> {
    // SAFETY: see the head of this file.
    let info = unsafe { libc::mallinfo2() };
    Some((info.uordblks + info.hblkhd) as u64)
}

/// Returns free whole pages to the kernel.
#[cfg(target_env = "gnu")]
pub fn trim() {
    // SAFETY: see the head of this file.
    unsafe { libc::malloc_trim(0) };
}

/// The allocated bytes: unknown with this C library.
#[cfg(not(target_env = "gnu"))]
pub(crate) fn in_use() -> Option<u64> {
    None
}

/// Does nothing with this C library.
#[cfg(not(target_env = "gnu"))]
pub fn trim() {}
