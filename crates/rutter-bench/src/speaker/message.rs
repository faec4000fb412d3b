//! The few messages that a speaker writes itself.

use std::net::Ipv4Addr;

use rutter_net::Asn;

use crate::workload::{Attributes, Family, NextHops, Origin, write_nlri, write_update};

/// KEEPALIVE.
pub const KEEPALIVE: [u8; 19] = {
    let mut bytes = [0xff; 19];
    bytes[16] = 0;
    bytes[17] = 19;
    bytes[18] = 4;
    bytes
};

/// Type codes of messages (RFC 4271 §4.1).
pub mod kind {
    /// OPEN.
    pub const OPEN: u8 = 1;
    /// UPDATE.
    pub const UPDATE: u8 = 2;
    /// NOTIFICATION.
    pub const NOTIFICATION: u8 = 3;
    /// KEEPALIVE.
    pub const KEEPALIVE: u8 = 4;
}

/// The capabilities that a speaker offers in its OPEN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Hold Time in seconds.
    pub hold_time_s: u16,
    /// Four-octet AS numbers (RFC 6793). Without it AS_PATHs are encoded differently, so attributes cannot be verified.
    pub four_octet_as: bool,
    /// Messages of up to 65,535 octets (RFC 8654).
    pub extended_message: bool,
}

impl Default for Offer {
    fn default() -> Self {
        Offer {
            hold_time_s: 180,
            four_octet_as: true,
            extended_message: false,
        }
    }
}

/// An OPEN with both unicast families and route refresh.
pub fn open(asn: Asn, router_id: Ipv4Addr, offer: &Offer) -> Vec<u8> {
    let mut capabilities = vec![1, 4, 0, 1, 0, 1, 1, 4, 0, 2, 0, 1, 2, 0];
    if offer.extended_message {
        capabilities.extend_from_slice(&[6, 0]);
    }
    if offer.four_octet_as {
        capabilities.extend_from_slice(&[65, 4]);
        capabilities.extend_from_slice(&asn.0.to_be_bytes());
    }
    let field = if asn.is_two_octet() { asn } else { Asn::TRANS };
    let mut out = vec![0xff; 16];
    out.extend_from_slice(&(29 + 2 + capabilities.len() as u16).to_be_bytes());
    out.extend_from_slice(&[kind::OPEN, 4]);
    out.extend_from_slice(&(field.0 as u16).to_be_bytes());
    out.extend_from_slice(&offer.hold_time_s.to_be_bytes());
    out.extend_from_slice(&router_id.octets());
    out.extend_from_slice(&[capabilities.len() as u8 + 2, 2, capabilities.len() as u8]);
    out.extend_from_slice(&capabilities);
    out
}

/// The announcement of one prefix with attributes that differ from round to round.
pub fn probe(asn: Asn, next_hops: &NextHops, prefix: rutter_net::Prefix, round: u32) -> Vec<u8> {
    let set = Attributes {
        origin: Origin::Igp,
        as_path: vec![asn, Asn(24_000)],
        med: Some(round),
        communities: vec![],
        large_communities: vec![],
    };
    let (mut nlri, mut out) = (Vec::new(), Vec::new());
    write_nlri(&mut nlri, prefix);
    let family = match prefix {
        rutter_net::Prefix::V4(_) => Family::V4,
        rutter_net::Prefix::V6(_) => Family::V6,
    };
    write_update(&mut out, &set, next_hops, family, &nlri);
    out
}

/// A description of a NOTIFICATION from its body.
pub fn notification_text(body: &[u8]) -> String {
    let (code, subcode) = (
        body.first().copied().unwrap_or(0),
        body.get(1).copied().unwrap_or(0),
    );
    let data: String = body
        .iter()
        .skip(2)
        .take(32)
        .map(|octet| format!("{octet:02x}"))
        .collect();
    format!("NOTIFICATION {code}/{subcode} {data}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_on_the_wire() {
        let open = open(Asn(200_000), Ipv4Addr::new(10, 99, 0, 2), &Offer::default());
        let hex: String = open[16..].iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(
            hex,
            "003301045ba000b40a6300021602140104000100010104000200010200410400030d40"
        );
    }
}
