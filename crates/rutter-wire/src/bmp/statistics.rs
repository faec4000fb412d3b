//! Statistics Report (RFC 7854 §4.8, RFC 8671 §6.2, RFC 9069 §5.5).

use rutter_net::AfiSafi;

use super::write::write_tlv;
use super::{PeerHeader, Tlvs};
use crate::cursor::Cursor;

/// Counters of a peer.
#[derive(Clone, Copy, Debug)]
pub struct StatisticsReport<'a> {
    /// The peer that the counters are about.
    pub peer: PeerHeader,
    count: u32,
    tlvs: Tlvs<'a>,
}

/// One counter or gauge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Statistic {
    /// Its type.
    pub kind: u16,
    /// The family that it counts, if any.
    pub afi_safi: Option<AfiSafi>,
    /// Its value.
    pub value: u64,
}

impl<'a> StatisticsReport<'a> {
    pub(super) fn decode(mut body: Cursor<'a>) -> Option<Self> {
        Some(StatisticsReport {
            peer: PeerHeader::decode(&mut body)?,
            count: body.u32()?,
            tlvs: Tlvs::new(body.rest()),
        })
    }

    /// The counters. Counters in an unknown format are left out.
    pub fn iter(&self) -> impl Iterator<Item = Statistic> + use<'a> {
        self.tlvs
            .into_iter()
            .take(self.count as usize)
            .filter_map(|tlv| {
                let mut value = Cursor::new(tlv.value);
                let afi_safi = match tlv.value.len() {
                    11 => Some(AfiSafi {
                        afi: value.u16()?,
                        safi: value.u8()?,
                    }),
                    _ => None,
                };
                let value = match value.rest() {
                    [a, b, c, d] => u64::from(u32::from_be_bytes([*a, *b, *c, *d])),
                    rest => u64::from_be_bytes(rest.try_into().ok()?),
                };
                Some(Statistic {
                    kind: tlv.kind,
                    afi_safi,
                    value,
                })
            })
    }
}

impl Statistic {
    /// Prefixes that the import policy rejected: a counter.
    pub const REJECTED_PREFIXES: u16 = 0;
    /// Routes in the Adj-RIB-In before policy: a gauge.
    pub const ADJ_RIB_IN: u16 = 7;
    /// Routes in the Loc-RIB: a gauge.
    pub const LOC_RIB: u16 = 8;
    /// Routes of a family in the Adj-RIB-In.
    pub const ADJ_RIB_IN_OF_FAMILY: u16 = 9;
    /// Routes of a family in the Loc-RIB.
    pub const LOC_RIB_OF_FAMILY: u16 = 10;
    /// UPDATEs that were treated as a withdrawal (RFC 7606): a counter.
    pub const TREATED_AS_WITHDRAW: u16 = 11;
    /// Routes in the Adj-RIB-Out after policy (RFC 8671): a gauge.
    pub const ADJ_RIB_OUT: u16 = 15;
    /// Routes of a family in the Adj-RIB-Out after policy.
    pub const ADJ_RIB_OUT_OF_FAMILY: u16 = 17;

    /// A number without a family.
    pub fn new(kind: u16, value: u64) -> Self {
        Statistic {
            kind,
            afi_safi: None,
            value,
        }
    }

    /// A gauge of a family.
    pub fn of_family(kind: u16, afi_safi: AfiSafi, value: u64) -> Self {
        Statistic {
            kind,
            afi_safi: Some(afi_safi),
            value,
        }
    }

    /// Returns whether the type is a 32-bit counter. All others are 64-bit gauges.
    fn is_counter(&self) -> bool {
        matches!(self.kind, 0..=6 | 11..=13)
    }

    /// Appends the TLV. A counter wraps around at 32 bits, as the RFC defines it.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let octets = self.value.to_be_bytes();
        match self.afi_safi {
            Some(family) => {
                let mut value = family.afi.to_be_bytes().to_vec();
                value.push(family.safi);
                value.extend_from_slice(&octets);
                write_tlv(out, self.kind, &value);
            }
            None if self.is_counter() => write_tlv(out, self.kind, &octets[4..]),
            None => write_tlv(out, self.kind, &octets),
        }
    }

    /// The name in the RFCs; `None` for a number that no RFC defines.
    pub fn name(&self) -> Option<&'static str> {
        NAMES.get(usize::from(self.kind)).copied()
    }
}

/// By number.
const NAMES: [&str; 18] = [
    "prefixes rejected by inbound policy",
    "duplicate prefix advertisements",
    "duplicate withdraws",
    "updates invalidated: CLUSTER_LIST loop",
    "updates invalidated: AS_PATH loop",
    "updates invalidated: ORIGINATOR_ID",
    "updates invalidated: AS_CONFED loop",
    "routes in Adj-RIB-In",
    "routes in Loc-RIB",
    "routes in Adj-RIB-In of a family",
    "routes in Loc-RIB of a family",
    "updates treated as withdraw",
    "prefixes treated as withdraw",
    "duplicate update messages",
    "routes in Adj-RIB-Out before policy",
    "routes in Adj-RIB-Out",
    "routes in Adj-RIB-Out before policy of a family",
    "routes in Adj-RIB-Out of a family",
];
