//! Writing BGP4MP (RFC 6396 §4.4, RFC 8050 §3).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rutter_net::Asn;

use super::{kind, message_subtype, write_address, write_record};

/// The session of a record: its two ends, and the size of its AS numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BgpSession {
    /// The peer's AS.
    pub peer_asn: Asn,
    /// The local AS.
    pub local_asn: Asn,
    /// Index of the interface, 0 if unknown.
    pub interface: u16,
    /// The peer's address; it decides the address family of the record.
    pub peer: IpAddr,
    /// The local address; unspecified if it is of the other family.
    pub local: IpAddr,
    /// AS numbers take four octets in the messages of the session.
    pub as4: bool,
}

/// The time of an event, and the resolution that the record stores.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Timestamp {
    /// Seconds since 1970: type BGP4MP.
    Seconds(u32),
    /// Microseconds since 1970: type BGP4MP_ET.
    Microseconds(u64),
}

/// Appends a record of a received message. `message` is whole, with its header; `add_path`: its NLRI have path
/// identifiers.
pub fn write_message(
    out: &mut Vec<u8>,
    time: Timestamp,
    session: &BgpSession,
    add_path: bool,
    message: &[u8],
) {
    let subtype = match (session.as4, add_path) {
        (true, false) => message_subtype::MESSAGE_AS4,
        (true, true) => message_subtype::MESSAGE_AS4_ADDPATH,
        (false, false) => message_subtype::MESSAGE,
        (false, true) => message_subtype::MESSAGE_ADDPATH,
    };
    write_bgp4mp(out, time, subtype, session, session.as4, message);
}

/// Appends a record of a state change. The states have the numbers of RFC 6396 §4.4.1: 1 Idle, 2 Connect, 3 Active, 4
/// OpenSent, 5 OpenConfirm, 6 Established.
pub fn write_state_change(
    out: &mut Vec<u8>,
    time: Timestamp,
    session: &BgpSession,
    old: u16,
    new: u16,
) {
    let ([a, b], [c, d]) = (old.to_be_bytes(), new.to_be_bytes());
    let subtype = message_subtype::STATE_CHANGE_AS4;
    write_bgp4mp(out, time, subtype, session, true, &[a, b, c, d]);
}

fn write_bgp4mp(
    out: &mut Vec<u8>,
    time: Timestamp,
    subtype: u16,
    session: &BgpSession,
    as4: bool,
    payload: &[u8],
) {
    let (unix_s, micros) = match time {
        Timestamp::Seconds(unix_s) => (unix_s, None),
        Timestamp::Microseconds(unix_us) => (
            u32::try_from(unix_us / 1_000_000).unwrap_or(u32::MAX),
            Some((unix_us % 1_000_000) as u32),
        ),
    };
    let kind = match micros {
        Some(_) => kind::BGP4MP_ET,
        None => kind::BGP4MP,
    };
    write_record(out, unix_s, kind, subtype, |out| {
        if let Some(micros) = micros {
            out.extend_from_slice(&micros.to_be_bytes());
        }
        write_session(out, session, as4);
        out.extend_from_slice(payload);
    });
}

fn write_session(out: &mut Vec<u8>, session: &BgpSession, as4: bool) {
    for asn in [session.peer_asn, session.local_asn] {
        match as4 {
            true => out.extend_from_slice(&asn.0.to_be_bytes()),
            false => {
                let asn = u16::try_from(asn.0).unwrap_or(Asn::TRANS.0 as u16);
                out.extend_from_slice(&asn.to_be_bytes());
            }
        }
    }
    out.extend_from_slice(&session.interface.to_be_bytes());
    let (afi, local) = match (session.peer, session.local) {
        (IpAddr::V4(_), local @ IpAddr::V4(_)) => (1u16, local),
        (IpAddr::V4(_), _) => (1, Ipv4Addr::UNSPECIFIED.into()),
        (IpAddr::V6(_), local @ IpAddr::V6(_)) => (2, local),
        (IpAddr::V6(_), _) => (2, Ipv6Addr::UNSPECIFIED.into()),
    };
    out.extend_from_slice(&afi.to_be_bytes());
    write_address(out, session.peer);
    write_address(out, local);
}
