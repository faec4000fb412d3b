//! Reads numbers and addresses from the body of a record or message.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rutter_net::Asn;

/// The rest of a body. Every method returns `None` where the body ends too early.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Cursor { rest: bytes }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[inline]
    pub(crate) fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(bytes)
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*array)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(|[octet]| octet)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn asn(&mut self, as4: bool) -> Option<Asn> {
        match as4 {
            true => self.u32().map(Asn),
            false => self.u16().map(|asn| Asn(u32::from(asn))),
        }
    }

    pub(crate) fn address(&mut self, ipv6: bool) -> Option<IpAddr> {
        match ipv6 {
            true => self.array().map(|a: [u8; 16]| Ipv6Addr::from(a).into()),
            false => self.array().map(|a: [u8; 4]| Ipv4Addr::from(a).into()),
        }
    }
}
