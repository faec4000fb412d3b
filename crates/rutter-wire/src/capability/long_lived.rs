//! Long-Lived Graceful Restart (RFC 9494 §3).

use rutter_net::AfiSafi;

use super::graceful_restart::FORWARDING;

/// The largest stale time that fits into 24 bits.
pub const MAX_STALE_TIME_S: u32 = 0x00ff_ffff;

/// One family of the capability.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LongLivedFamily {
    /// The family.
    pub afi_safi: AfiSafi,
    /// F: forwarding continued while the speaker restarted.
    pub forwarding: bool,
    /// Seconds that stale routes may stay.
    pub stale_time_s: u32,
}

pub(super) fn parse(value: &[u8]) -> Option<Vec<LongLivedFamily>> {
    let family = |f: [u8; 7]| LongLivedFamily {
        afi_safi: AfiSafi {
            afi: u16::from_be_bytes([f[0], f[1]]),
            safi: f[2],
        },
        forwarding: f[3] & FORWARDING != 0,
        stale_time_s: u32::from_be_bytes([0, f[4], f[5], f[6]]),
    };
    Some(super::chunks(value)?.map(family).collect())
}

pub(super) fn write(out: &mut Vec<u8>, families: &[LongLivedFamily]) {
    for family in families {
        let flags = if family.forwarding { FORWARDING } else { 0 };
        let time = family.stale_time_s.min(MAX_STALE_TIME_S).to_be_bytes();
        out.extend_from_slice(&family.afi_safi.afi.to_be_bytes());
        out.extend_from_slice(&[family.afi_safi.safi, flags]);
        out.extend_from_slice(&time[1..]);
    }
}
