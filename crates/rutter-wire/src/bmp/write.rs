//! Writing BMP version 3: whole messages, appended to a buffer.

use std::net::IpAddr;

use super::header::write_address;
use super::{PeerHeader, Statistic, Tlv, information, kind, termination};

/// Appends an Initiation message.
pub fn write_initiation(out: &mut Vec<u8>, sys_name: &str, sys_descr: &str) {
    write(out, kind::INITIATION, |out| {
        write_tlv(out, information::SYS_DESCR, sys_descr.as_bytes());
        write_tlv(out, information::SYS_NAME, sys_name.as_bytes());
    });
}

/// Appends a Termination message with its reason ([`termination`]).
pub fn write_termination(out: &mut Vec<u8>, reason: u16, text: &str) {
    write(out, kind::TERMINATION, |out| {
        if !text.is_empty() {
            write_tlv(out, termination::STRING, text.as_bytes());
        }
        write_tlv(out, termination::REASON, &reason.to_be_bytes());
    });
}

/// Appends a Peer Up message. Both OPENs are whole, with their headers. `ports` are the local and the remote port, 0 if
/// unknown. `more` are the Information TLVs behind the OPENs (RFC 9736).
pub fn write_peer_up(
    out: &mut Vec<u8>,
    peer: &PeerHeader,
    local_address: IpAddr,
    ports: (u16, u16),
    sent_open: &[u8],
    received_open: &[u8],
    more: &[Tlv<'_>],
) {
    write(out, kind::PEER_UP, |out| {
        peer.write(out);
        write_address(out, local_address);
        out.extend_from_slice(&ports.0.to_be_bytes());
        out.extend_from_slice(&ports.1.to_be_bytes());
        out.extend_from_slice(sent_open);
        out.extend_from_slice(received_open);
        for tlv in more {
            write_tlv(out, tlv.kind, tlv.value);
        }
    });
}

/// Appends a Statistics Report. Counters have four octets, gauges eight, those of a family eleven with the family
/// (RFC 7854 §4.8).
pub fn write_statistics_report(out: &mut Vec<u8>, peer: &PeerHeader, statistics: &[Statistic]) {
    write(out, kind::STATISTICS_REPORT, |out| {
        peer.write(out);
        let count = u32::try_from(statistics.len()).unwrap_or(u32::MAX);
        out.extend_from_slice(&count.to_be_bytes());
        statistics.iter().for_each(|one| one.write(out));
    });
}

/// Appends a Peer Down message; `data` depend on the reason ([`super::PeerDown`]).
pub fn write_peer_down(out: &mut Vec<u8>, peer: &PeerHeader, reason: u8, data: &[u8]) {
    write(out, kind::PEER_DOWN, |out| {
        peer.write(out);
        out.push(reason);
        out.extend_from_slice(data);
    });
}

/// Appends a Route Monitoring message around an UPDATE that is whole, with its header.
pub fn write_route_monitoring(out: &mut Vec<u8>, peer: &PeerHeader, message: &[u8]) {
    write(out, kind::ROUTE_MONITORING, |out| {
        peer.write(out);
        out.extend_from_slice(message);
    });
}

fn write(out: &mut Vec<u8>, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[3, 0, 0, 0, 0, kind]);
    body(out);
    let len = u32::try_from(out.len() - start).unwrap_or(u32::MAX);
    out[start + 1..start + 5].copy_from_slice(&len.to_be_bytes());
}

/// A string that exceeds a TLV is cut.
pub(super) fn write_tlv(out: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let value = value.get(..usize::from(u16::MAX)).unwrap_or(value);
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&(value.len() as u16).to_be_bytes());
    out.extend_from_slice(value);
}
