//! Graceful Restart (RFC 4724 §3, RFC 8538 §2).

use rutter_net::AfiSafi;

/// The largest restart time that fits into twelve bits.
pub const MAX_RESTART_TIME_S: u16 = 0x0fff;

/// Body of the capability.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct GracefulRestart {
    /// R: the speaker has restarted. The neighbor must not wait for its End-of-RIB.
    pub restart_state: bool,
    /// N: routes also stay after a NOTIFICATION (RFC 8538).
    pub notification: bool,
    /// Seconds that the neighbor should wait for the session to come back.
    pub restart_time_s: u16,
    /// Families whose forwarding state the speaker can keep. If empty, the speaker only helps its neighbors.
    pub families: Vec<GracefulRestartFamily>,
}

/// One family of the capability.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GracefulRestartFamily {
    /// The family.
    pub afi_safi: AfiSafi,
    /// F: forwarding continued while the speaker restarted.
    pub forwarding: bool,
}

const RESTART_STATE: u8 = 0x80;
const NOTIFICATION: u8 = 0x40;
pub(super) const FORWARDING: u8 = 0x80;

pub(super) fn parse(value: &[u8]) -> Option<GracefulRestart> {
    let (&[high, low], families) = value.split_first_chunk::<2>()?;
    let family = |[high, low, safi, flags]: [u8; 4]| GracefulRestartFamily {
        afi_safi: AfiSafi {
            afi: u16::from_be_bytes([high, low]),
            safi,
        },
        forwarding: flags & FORWARDING != 0,
    };
    Some(GracefulRestart {
        restart_state: high & RESTART_STATE != 0,
        notification: high & NOTIFICATION != 0,
        restart_time_s: u16::from_be_bytes([high & 0x0f, low]),
        families: super::chunks(families)?.map(family).collect(),
    })
}

pub(super) fn write(out: &mut Vec<u8>, body: &GracefulRestart) {
    let [high, low] = body.restart_time_s.min(MAX_RESTART_TIME_S).to_be_bytes();
    let restart_state = if body.restart_state { RESTART_STATE } else { 0 };
    let notification = if body.notification { NOTIFICATION } else { 0 };
    out.extend_from_slice(&[high | restart_state | notification, low]);
    for family in &body.families {
        let flags = if family.forwarding { FORWARDING } else { 0 };
        out.extend_from_slice(&family.afi_safi.afi.to_be_bytes());
        out.extend_from_slice(&[family.afi_safi.safi, flags]);
    }
}
