//! Large arrays and blocks of zeros, taken from the system as they are used.
//!
//! Invariant of the `unsafe` here: an array is made of memory that was allocated for exactly its type and length, and is
//! all zeros, which is a valid value of an atomic integer. The advice to the system changes no value.
#![allow(
    unsafe_code,
    reason = "the standard library has no safe way to allocate zeros as atomics without writing each"
)]

use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

/// A type of which zeros are a value.
///
/// # Safety
/// All octets zero are a value of the type.
pub(crate) unsafe trait Zero {}

// SAFETY: they have the representation of the integers.
unsafe impl Zero for AtomicU32 {}
// SAFETY: as above.
unsafe impl Zero for AtomicU64 {}
// SAFETY: zeros are the null pointer.
unsafe impl<T> Zero for AtomicPtr<T> {}
// SAFETY: an array has no octets but those of its elements.
unsafe impl<T: Zero, const N: usize> Zero for [T; N] {}

/// An array of `len` zeros, on huge pages where the system has them to give: one miss of the address cache less a look-up.
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
    // SAFETY: the global allocator gave this memory for the layout of this slice, with which the box will free it; all
    // octets are zero, which is a value.
    let array: Box<[T]> = unsafe { Box::from_raw(slice) };
    advise(array.as_ptr().cast_mut().cast(), layout.size());
    array
}

/// A value of zeros.
pub(crate) fn zeroed_box<T: Zero>() -> Box<T> {
    let layout = std::alloc::Layout::new::<T>();
    assert_ne!(layout.size(), 0, "a value has a size");
    // SAFETY: the layout has a size.
    let start = unsafe { std::alloc::alloc_zeroed(layout) };
    if start.is_null() {
        std::alloc::handle_alloc_error(layout);
    }
    // SAFETY: the global allocator gave this memory for the layout of this type, with which the box will free it; all
    // octets are zero, which is a value.
    unsafe { Box::from_raw(start.cast()) }
}

/// Asks for huge pages. Where there are none, nothing changes. What is smaller than one is left alone: next to others of its
/// kind it would come to lie on one all the same, and take all of it, though little of it were used.
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

/// Makes a huge page of small ones that are all in use, at once where the system can: it copies them, in some hundred
/// microseconds. Otherwise the system does when it comes to it, or not at all.
pub(crate) fn make_huge(start: *mut u8, len: usize) {
    debug_assert!(start.addr() % HUGE_PAGE == 0 && len % HUGE_PAGE == 0);
    madvise(start, len, HUGE);
    madvise(start, len, COLLAPSE);
}

const HUGE_PAGE: usize = 2 << 20;
const HUGE: std::ffi::c_int = 14;
/// Since Linux 6.1; others refuse it.
const COLLAPSE: std::ffi::c_int = 25;

/// Advises the system on whole pages that the caller has allocated.
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
