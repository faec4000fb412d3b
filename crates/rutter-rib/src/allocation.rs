//! The memory that an allocation takes from the system.

/// Returns the bytes that an allocation takes from the system's allocator.
///
/// glibc keeps a word before each and rounds
/// up to 16; beyond its threshold it maps whole pages.
pub(crate) fn allocated(octets: usize) -> usize {
    const MAPPED: usize = 128 * 1024;
    match octets {
        0 => 0,
        1..MAPPED => (octets + 8).next_multiple_of(16).max(32),
        _ => (octets + 16).next_multiple_of(4096),
    }
}
