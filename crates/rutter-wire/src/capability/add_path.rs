//! ADD-PATH (RFC 7911 §4).

use rutter_net::AfiSafi;

/// The directions in which a speaker uses path identifiers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum AddPathMode {
    /// It can receive several paths for a prefix.
    Receive = 1,
    /// It can send several paths for a prefix.
    Send = 2,
    /// Both.
    Both = 3,
}

impl AddPathMode {
    /// The mode for these abilities; `None` if both are false.
    pub fn new(receive: bool, send: bool) -> Option<Self> {
        Self::from_code(u8::from(receive) | u8::from(send) << 1)
    }

    /// Returns whether it includes receiving.
    pub fn receives(self) -> bool {
        self as u8 & 1 != 0
    }

    /// Returns whether it includes sending.
    pub fn sends(self) -> bool {
        self as u8 & 2 != 0
    }

    fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(AddPathMode::Receive),
            2 => Some(AddPathMode::Send),
            3 => Some(AddPathMode::Both),
            _ => None,
        }
    }
}

/// One family of the capability.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AddPathFamily {
    /// The family.
    pub afi_safi: AfiSafi,
    /// The speaker's mode for this family.
    pub mode: AddPathMode,
}

/// Families with an undefined mode are left out (RFC 7911 §4).
pub(super) fn parse(value: &[u8]) -> Option<Vec<AddPathFamily>> {
    let family = |[high, low, safi, mode]: [u8; 4]| {
        let afi = u16::from_be_bytes([high, low]);
        let afi_safi = AfiSafi { afi, safi };
        AddPathMode::from_code(mode).map(|mode| AddPathFamily { afi_safi, mode })
    };
    Some(super::chunks(value)?.filter_map(family).collect())
}

pub(super) fn write(out: &mut Vec<u8>, families: &[AddPathFamily]) {
    for family in families {
        out.extend_from_slice(&family.afi_safi.afi.to_be_bytes());
        out.extend_from_slice(&[family.afi_safi.safi, family.mode as u8]);
    }
}
