//! Information TLVs (RFC 7854 §4.4, §4.5).

use std::borrow::Cow;

use crate::cursor::Cursor;

/// Types in Initiation and Peer Up messages.
pub mod information {
    /// A description.
    pub const STRING: u16 = 0;
    /// sysDescr: hardware and software.
    pub const SYS_DESCR: u16 = 1;
    /// sysName: the router's name.
    pub const SYS_NAME: u16 = 2;
    /// VRF or table name (RFC 9069).
    pub const TABLE_NAME: u16 = 3;
    /// Admin label (RFC 8671).
    pub const ADMIN_LABEL: u16 = 4;
}

/// Types and reasons in Termination messages.
pub mod termination {
    /// A description.
    pub const STRING: u16 = 0;
    /// Two octets with the reason.
    pub const REASON: u16 = 1;

    /// A description of the reason.
    pub fn words(reason: u16) -> &'static str {
        match reason {
            0 => "administratively closed",
            1 => "unspecified reason",
            2 => "out of resources",
            3 => "redundant connection",
            4 => "permanently administratively closed",
            _ => "unknown reason",
        }
    }
}

/// One TLV.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tlv<'a> {
    /// Its type.
    pub kind: u16,
    /// Its value.
    pub value: &'a [u8],
}

impl<'a> Tlv<'a> {
    /// The value as a string.
    pub fn text(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.value)
    }
}

/// A sequence of TLVs. The iterator ends at a TLV that is cut off.
#[derive(Clone, Copy, Debug)]
pub struct Tlvs<'a>(Cursor<'a>);

impl<'a> Tlvs<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Tlvs(Cursor::new(bytes))
    }

    /// The first TLV of a type.
    pub fn find(self, kind: u16) -> Option<Tlv<'a>> {
        self.into_iter().find(|tlv| tlv.kind == kind)
    }
}

impl<'a> IntoIterator for Tlvs<'a> {
    type Item = Tlv<'a>;
    type IntoIter = TlvIter<'a>;

    fn into_iter(self) -> TlvIter<'a> {
        TlvIter(self.0)
    }
}

/// Walks [`Tlvs`].
#[derive(Clone, Debug)]
pub struct TlvIter<'a>(Cursor<'a>);

impl<'a> Iterator for TlvIter<'a> {
    type Item = Tlv<'a>;

    fn next(&mut self) -> Option<Tlv<'a>> {
        let kind = self.0.u16()?;
        let len = usize::from(self.0.u16()?);
        let value = self.0.bytes(len)?;
        Some(Tlv { kind, value })
    }
}
