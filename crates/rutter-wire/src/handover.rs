//! Values in the records by which a process gives its state to the process that succeeds it.
//!
//! Both processes run on one machine, and they agree on [`VERSION`] before the first record. A reader still trusts
//! nothing: a record that ends early or has an impossible value is [`BadRecord`].

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The version of all records. It also covers their meaning: raise it if the order of the decision process changes, or
/// what clients receive of the same table.
pub const VERSION: u32 = 3;

/// A record that cannot be read; it names the value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadRecord(pub &'static str);

impl fmt::Display for BadRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a record has no valid {}", self.0)
    }
}

impl std::error::Error for BadRecord {}

/// Appends values to a record.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    /// The record so far.
    pub bytes: Vec<u8>,
}

impl Writer {
    /// One octet.
    pub fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// A truth value.
    pub fn bool(&mut self, value: bool) {
        self.u8(value.into());
    }

    /// A number in as few octets as it needs, seven bits in each.
    pub fn number(&mut self, value: impl Into<u64>) {
        let mut rest = value.into();
        while rest >= 0x80 {
            self.u8(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.u8(rest as u8);
    }

    /// A length or another number of things in memory.
    pub fn count(&mut self, value: usize) {
        self.number(value as u64);
    }

    /// A number that may be absent.
    pub fn optional(&mut self, value: Option<u64>) {
        self.bool(value.is_some());
        value.into_iter().for_each(|value| self.number(value));
    }

    /// Octets with their number.
    pub fn octets(&mut self, value: &[u8]) {
        self.count(value.len());
        self.bytes.extend_from_slice(value);
    }

    /// Writes a string.
    pub fn string(&mut self, value: &str) {
        self.octets(value.as_bytes());
    }

    /// Writes an address.
    pub fn address(&mut self, address: IpAddr) {
        match address {
            IpAddr::V4(address) => self.octets(&address.octets()),
            IpAddr::V6(address) => self.octets(&address.octets()),
        }
    }
}

/// Reads the values of a record in the order in which they were written.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads a record from its start.
    pub fn new(record: &'a [u8]) -> Self {
        Reader { rest: record }
    }

    /// Returns whether all values were read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// A number of octets whose length both sides know.
    #[inline]
    pub fn raw(&mut self, len: usize, what: &'static str) -> Result<&'a [u8], BadRecord> {
        let (value, rest) = self.rest.split_at_checked(len).ok_or(BadRecord(what))?;
        self.rest = rest;
        Ok(value)
    }

    /// See [`Writer::u8`].
    #[inline]
    pub fn u8(&mut self, what: &'static str) -> Result<u8, BadRecord> {
        let (&value, rest) = self.rest.split_first().ok_or(BadRecord(what))?;
        self.rest = rest;
        Ok(value)
    }

    /// See [`Writer::bool`].
    pub fn bool(&mut self, what: &'static str) -> Result<bool, BadRecord> {
        match self.u8(what)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(BadRecord(what)),
        }
    }

    /// See [`Writer::number`]. A number that does not fit into `T` is an error.
    #[inline]
    pub fn number<T: TryFrom<u64>>(&mut self, what: &'static str) -> Result<T, BadRecord> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let octet = self.u8(what)?;
            let bits = u64::from(octet & 0x7f);
            value |= bits << shift;
            if octet & 0x80 == 0 {
                let fits = bits << shift >> shift == bits;
                let value = T::try_from(value).ok().filter(|_| fits);
                return value.ok_or(BadRecord(what));
            }
        }
        Err(BadRecord(what))
    }

    /// See [`Writer::optional`].
    pub fn optional<T: TryFrom<u64>>(
        &mut self,
        what: &'static str,
    ) -> Result<Option<T>, BadRecord> {
        match self.bool(what)? {
            true => self.number(what).map(Some),
            false => Ok(None),
        }
    }

    /// See [`Writer::octets`].
    pub fn octets(&mut self, what: &'static str) -> Result<&'a [u8], BadRecord> {
        let len = self.number(what)?;
        self.raw(len, what)
    }

    /// See [`Writer::string`].
    pub fn string(&mut self, what: &'static str) -> Result<&'a str, BadRecord> {
        std::str::from_utf8(self.octets(what)?).map_err(|_| BadRecord(what))
    }

    /// See [`Writer::address`].
    pub fn address(&mut self, what: &'static str) -> Result<IpAddr, BadRecord> {
        let octets = self.octets(what)?;
        let ipv4 = <[u8; 4]>::try_from(octets).map(|o| Ipv4Addr::from(o).into());
        let ipv6 = || <[u8; 16]>::try_from(octets).map(|o| Ipv6Addr::from(o).into());
        ipv4.or_else(|_| ipv6()).map_err(|_| BadRecord(what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_trip_and_too_large_ones_are_refused() {
        for shift in 0..64 {
            for value in [1_u64 << shift, (1 << shift) - 1, u64::MAX >> shift] {
                let mut writer = Writer::default();
                writer.number(value);
                writer.optional(Some(value));
                writer.optional(None);
                let mut reader = Reader::new(&writer.bytes);
                assert_eq!(reader.number("number"), Ok(value));
                assert_eq!(reader.optional("number"), Ok(Some(value)));
                assert_eq!(reader.optional::<u64>("number"), Ok(None));
                assert!(reader.is_empty());
                let narrow = Reader::new(&writer.bytes).number::<u16>("port");
                assert_eq!(narrow, u16::try_from(value).map_err(|_| BadRecord("port")));
            }
        }
        let endless = [0xff; 11];
        assert_eq!(
            Reader::new(&endless).number::<u64>("number"),
            Err(BadRecord("number"))
        );
    }

    #[test]
    fn every_shorter_record_is_refused() {
        let mut writer = Writer::default();
        writer.address([192, 0, 2, 1].into());
        writer.address(Ipv6Addr::LOCALHOST.into());
        writer.string("member");
        writer.bool(true);
        let read = |bytes: &[u8]| {
            let mut reader = Reader::new(bytes);
            let addresses = [reader.address("address")?, reader.address("address")?];
            let name = reader.string("name")?.to_owned();
            Ok::<_, BadRecord>((addresses, name, reader.bool("flag")?))
        };
        let whole = read(&writer.bytes).expect("a whole record");
        assert_eq!(
            whole.0,
            [
                IpAddr::from([192, 0, 2, 1]),
                IpAddr::from(Ipv6Addr::LOCALHOST)
            ]
        );
        assert_eq!((whole.1.as_str(), whole.2), ("member", true));
        for end in 0..writer.bytes.len() {
            assert!(read(&writer.bytes[..end]).is_err(), "{end}");
        }
    }
}
