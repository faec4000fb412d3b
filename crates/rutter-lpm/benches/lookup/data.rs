//! The table, and the addresses that are looked up.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use flate2::read::GzDecoder;
use rutter_lpm::Net;
use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

/// The number of addresses of a measurement.
pub const ADDRESSES: usize = 1 << 20;

/// A table from a file. Values are line numbers within the family.
pub struct Data {
    pub ipv4: Vec<Ipv4Prefix>,
    pub ipv6: Vec<Ipv6Prefix>,
}

impl Data {
    /// Reads a file with a prefix a line, compressed if its name ends in `.gz`.
    pub fn read(path: &Path) -> std::io::Result<Self> {
        let file = File::open(path)?;
        let source: Box<dyn Read> = match path.extension() {
            Some(end) if end == "gz" => Box::new(GzDecoder::new(file)),
            _ => Box::new(file),
        };
        let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
        for line in BufReader::new(source).lines() {
            match line?.parse().map_err(std::io::Error::other)? {
                Prefix::V4(prefix) => ipv4.push(prefix),
                Prefix::V6(prefix) => ipv6.push(prefix),
            }
        }
        Ok(Data { ipv4, ipv6 })
    }
}

/// The generator of the measurements (xorshift64*), the same as in `benches/bart`.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (((self.next() >> 32) * bound as u64) >> 32) as usize
    }
}

/// The differences between the families.
pub trait Family: Net {
    /// `4` or `6`.
    const DIGIT: char;
    /// Any address; for IPv6 any in 2000::/3.
    fn random(numbers: &mut Numbers) -> Self::Addr;
    /// Any address of a prefix.
    fn inside(self, numbers: &mut Numbers) -> Self::Addr;
}

impl Family for Ipv4Prefix {
    const DIGIT: char = '4';

    fn random(numbers: &mut Numbers) -> Self::Addr {
        ((numbers.next() >> 32) as u32).into()
    }

    fn inside(self, numbers: &mut Numbers) -> Self::Addr {
        let (low, _) = (numbers.next(), numbers.next());
        (self.bits() | (low >> 32) as u32 & !Self::mask(self.len())).into()
    }
}

impl Family for Ipv6Prefix {
    const DIGIT: char = '6';

    fn random(numbers: &mut Numbers) -> Self::Addr {
        let (high, low) = (numbers.next(), numbers.next());
        (u128::from(high & !(7 << 61) | 1 << 61) << 64 | u128::from(low)).into()
    }

    fn inside(self, numbers: &mut Numbers) -> Self::Addr {
        let (low, high) = (numbers.next(), numbers.next());
        let any = u128::from(high) << 64 | u128::from(low);
        (self.bits() | any & !Self::mask(self.len())).into()
    }
}

/// Addresses from the whole space.
pub fn random<N: Family>() -> Vec<N::Addr> {
    let mut numbers = Numbers(1);
    (0..ADDRESSES).map(|_| N::random(&mut numbers)).collect()
}

/// Addresses inside prefixes of the table, with each prefix equally likely.
pub fn inside<N: Family>(prefixes: &[N]) -> Vec<N::Addr> {
    let mut numbers = Numbers(2);
    let one = |_| prefixes[numbers.below(prefixes.len())].inside(&mut numbers);
    (0..ADDRESSES).map(one).collect()
}
