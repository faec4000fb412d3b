//! The properties of an address family that the tables need.

use std::fmt::Debug;
use std::hash::Hash;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::{Shl, Shr};

use rutter_net::{Ipv4Prefix, Ipv6Prefix};

/// A prefix of one address family: [`Ipv4Prefix`] or [`Ipv6Prefix`].
///
/// Sealed: the tables know both families and rely on their exact bit arithmetic.
pub trait Net: Copy + Ord + Hash + Debug + Send + Sync + 'static + sealed::Sealed {
    /// The type of addresses.
    type Addr: Copy + Ord + Debug + Send + Sync + 'static;
    /// Address bits as an integer in host order.
    #[doc(hidden)]
    type Bits: Bits;
    /// The longest length.
    const MAX_LEN: u8;
    /// True if this is IPv6.
    #[doc(hidden)]
    const IS_IPV6: bool;
    /// The first address.
    #[doc(hidden)]
    const ZERO: Self::Bits;

    /// Makes a prefix from bits and a length of at most [`Self::MAX_LEN`]; bits below the length are cleared.
    fn from_bits(bits: Self::Bits, len: u8) -> Self;
    /// The network address as an integer.
    fn bits(self) -> Self::Bits;
    /// The length.
    fn prefix_len(self) -> u8;
    /// Returns whether `other` is this prefix or inside it.
    fn covers(self, other: Self) -> bool;
    /// An address as an integer.
    fn addr_bits(addr: Self::Addr) -> Self::Bits;
    /// An integer as an address.
    fn addr_from_bits(bits: Self::Bits) -> Self::Addr;

    /// This prefix cut to `len` bits; `len` is at most its own length.
    fn shortened(self, len: u8) -> Self {
        debug_assert!(len <= self.prefix_len());
        Self::from_bits(self.bits(), len)
    }

    /// The last address inside, as an integer.
    fn last_bits(self) -> Self::Bits {
        self.bits().fill_below(self.prefix_len())
    }
}

/// Address bits: `u32` or `u128`.
#[doc(hidden)]
pub trait Bits:
    Copy
    + Ord
    + Hash
    + Debug
    + Send
    + Sync
    + 'static
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// The first `width` bits, 1 to 32, as a number.
    fn head(self, width: u32) -> u32;
    /// The first 64 bits, padded with zeros.
    fn high(self) -> u64;
    /// Sets the `width` bits after the first `at` to `value`; those bits must be zero before.
    fn with(self, at: u32, width: u32, value: u32) -> Self;
    /// Sets all bits after the first `len`.
    fn fill_below(self, len: u8) -> Self;
    /// The next number, `None` after the last.
    fn next(self) -> Option<Self>;
}

macro_rules! bits_of {
    ($bits:ty) => {
        impl Bits for $bits {
            #[inline(always)]
            fn head(self, width: u32) -> u32 {
                (self >> (<$bits>::BITS - width)) as u32
            }

            #[inline(always)]
            fn high(self) -> u64 {
                (u128::from(self) << (128 - <$bits>::BITS) >> 64) as u64
            }

            #[inline]
            fn with(self, at: u32, width: u32, value: u32) -> Self {
                self | (value as $bits) << (<$bits>::BITS - at - width)
            }

            #[inline]
            fn fill_below(self, len: u8) -> Self {
                self | <$bits>::MAX.checked_shr(u32::from(len)).unwrap_or(0)
            }

            fn next(self) -> Option<Self> {
                self.checked_add(1)
            }
        }
    };
}

bits_of!(u32);
bits_of!(u128);

macro_rules! net_of {
    ($name:ident, $addr:ty, $bits:ty, $ipv6:literal) => {
        impl sealed::Sealed for $name {}

        impl Net for $name {
            type Addr = $addr;
            type Bits = $bits;
            const MAX_LEN: u8 = $name::MAX_LEN;
            const IS_IPV6: bool = $ipv6;
            const ZERO: $bits = 0;

            #[inline]
            fn from_bits(bits: $bits, len: u8) -> Self {
                $name::new(bits, len).unwrap_or_else(|| unreachable!("length {len}"))
            }

            #[inline]
            fn bits(self) -> $bits {
                $name::bits(self)
            }

            #[inline]
            fn prefix_len(self) -> u8 {
                $name::len(self)
            }

            #[inline]
            fn covers(self, other: Self) -> bool {
                $name::covers(self, other)
            }

            #[inline(always)]
            fn addr_bits(addr: $addr) -> $bits {
                addr.to_bits()
            }

            #[inline]
            fn addr_from_bits(bits: $bits) -> $addr {
                <$addr>::from_bits(bits)
            }
        }
    };
}

net_of!(Ipv4Prefix, Ipv4Addr, u32, false);
net_of!(Ipv6Prefix, Ipv6Addr, u128, true);

mod sealed {
    pub trait Sealed {}
}
