//! Large zeroed arrays and blocks, which the system provides page by page as they are used.
//!
//! Invariant of the `unsafe` here: an array consists of memory that was allocated for exactly its type and
//! length. It is all zeros, which is a valid value of an atomic integer. The advice to the system changes no
//! value.
#![allow(
    unsafe_code,
    reason = "the standard library has no safe way to allocate zeros as atomics without writing each"
)]

use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

/// A type for which zeros are a valid value.
///
/// # Safety
/// All bytes zero must be a value of the type.
pub(crate) unsafe trait Zero {}

// SAFETY: they have the representation of the integers.
unsafe impl Zero for AtomicU32 {}
// SAFETY: as above.
unsafe impl Zero for AtomicU64 {}
// SAFETY: zeros are the null pointer.
unsafe impl<T> Zero for AtomicPtr<T> {}
// SAFETY: an array has no bytes but those of its elements.
unsafe impl<T: Zero, const N: usize> Zero for [T; N] {}

/// An array of `len` zeros, on huge pages if the system has them: that saves a TLB miss per look-up.
pub(crate) fn zeroed<T: Zero>(len: usize) -> Box<[T]> {
    let layout = std::alloc::Layout::array::<T>(len);
    let layout = layout.unwrap_or_else(|error| unreachable!("{len} words: {error}"));
    assert_ne!(len, 0, "an array has a size");
    // SAFETY: the layout has a size.
    let start = unsafe { std::alloc::alloc_zeroed(layout) };
    if start.is_null() {
        std::alloc::handle_alloc_error(layout);
    }
    let slice = std::ptr::slice_from_raw_parts_mut(start.cast(), len);
    // SAFETY: the global allocator returned this memory for the layout of this slice, with which the box will
    // free it. All bytes are zero, which is a value.
    let array: Box<[T]> = unsafe { Box::from_raw(slice) };
    advise(array.as_ptr().cast_mut().cast(), layout.size());
    array
}

/// A zeroed value.
pub(crate) fn zeroed_box<T: Zero>() -> Box<T> {
    let layout = std::alloc::Layout::new::<T>();
    assert_ne!(layout.size(), 0, "a value has a size");
    // SAFETY: the layout has a size.
    let start = unsafe { std::alloc::alloc_zeroed(layout) };
    if start.is_null() {
        std::alloc::handle_alloc_error(layout);
    }
    // SAFETY: the global allocator returned this memory for the layout of this type, with which the box will
    // free it. All bytes are zero, which is a value.
    unsafe { Box::from_raw(start.cast()) }
}

/// Asks for huge pages. Without them, nothing changes. Smaller arrays are left alone. Next to others they would
/// still land on a huge page, and take all of it even if little is used.
fn advise(start: *mut u8, len: usize) {
    const PAGE: usize = 4096;
    if len < HUGE_PAGE {
        return;
    }
    let first = start.addr().next_multiple_of(PAGE);
    let last = (start.addr() + len) / PAGE * PAGE;
    if first < last {
        madvise(start.with_addr(first), last - first, HUGE);
    }
}

/// Makes a huge page of small pages that are all in use, at once if the system can: it copies them in some
/// hundred microseconds. Otherwise the system does it later or not at all.
pub(crate) fn make_huge(start: *mut u8, len: usize) {
    debug_assert!(start.addr().is_multiple_of(HUGE_PAGE) && len.is_multiple_of(HUGE_PAGE));
    madvise(start, len, HUGE);
    madvise(start, len, COLLAPSE);
}

const HUGE_PAGE: usize = 2 << 20;
const HUGE: std::ffi::c_int = 14;
/// Since Linux 6.1; other systems reject it.
const COLLAPSE: std::ffi::c_int = 25;

/// Advises the system about whole pages that the caller has allocated.
#[cfg(all(target_os = "linux", not(miri)))]
fn madvise(start: *mut u8, len: usize, advice: std::ffi::c_int) {
    unsafe extern "C" {
        fn madvise(
            start: *mut std::ffi::c_void,
            len: usize,
            advice: std::ffi::c_int,
        ) -> std::ffi::c_int;
    }
    // SAFETY: the two kinds of advice here change nothing that a program can see.
    unsafe { madvise(start.cast(), len, advice) };
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn madvise(_: *mut u8, _: usize, _: std::ffi::c_int) {}
