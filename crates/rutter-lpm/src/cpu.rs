//! Look-ups compiled twice: for any processor, and for processors that count bits in one instruction.
//!
//! Invariant of the `unsafe` here: each call of a `_popcnt` function follows a check, at run time, that this
//! processor has exactly the features for which that function is compiled. A prefetch uses the address of a
//! reference, which is always valid. Nothing else is unsafe here.
#![allow(
    unsafe_code,
    reason = "a function compiled for a processor feature may be called only where the feature is"
)]

use crate::net::Net;
use crate::shared_table::{Location, SharedTable};

macro_rules! for_this_cpu {
    ($(#[$doc:meta])* $name:ident, $popcnt:ident, ($($arg:ident: $ty:ty),*) $(-> $result:ty)?) => {
        $(#[$doc])*
        #[inline]
        pub(crate) fn $name<N: Net>(shared: &SharedTable<N>, $($arg: $ty),*) $(-> $result)? {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            if std::is_x86_feature_detected!("popcnt") {
                // SAFETY: the feature was found one line above.
                return unsafe { $popcnt(shared, $($arg),*) };
            }
            shared.$name($($arg),*)
        }

        #[cfg(all(target_arch = "x86_64", not(miri)))]
        #[target_feature(enable = "popcnt")]
        unsafe fn $popcnt<N: Net>(shared: &SharedTable<N>, $($arg: $ty),*) $(-> $result)? {
            shared.$name($($arg),*)
        }
    };
}

for_this_cpu!(
    /// The location of exactly this prefix, or where it would be.
    location, location_popcnt, (prefix: N, node: u32) -> Location
);
for_this_cpu!(
    /// The values of the longest matches of a few addresses.
    find_many, find_many_popcnt, (addrs: &[N::Addr], values: &mut [Option<u32>])
);

/// Work that counts bits.
pub(crate) trait BitWork {
    type Output;

    /// Does the work. It must always be inlined: only then is it compiled for the processor.
    fn run(self) -> Self::Output;
}

/// Does some work with the instructions of this processor.
#[inline]
pub(crate) fn count<W: BitWork>(work: W) -> W::Output {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if std::is_x86_feature_detected!("popcnt") {
        // SAFETY: the feature was found one line above.
        return unsafe { count_popcnt(work) };
    }
    work.run()
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "popcnt")]
unsafe fn count_popcnt<W: BitWork>(work: W) -> W::Output {
    work.run()
}

/// Prefetches the cache line of a value without waiting for it. A loop that prefetches what the next loop reads makes
/// the cache misses of many look-ups overlap.
#[inline(always)]
pub fn prefetch<T>(word: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: nothing is read, and the address is that of a reference.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(word).cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = word;
}
