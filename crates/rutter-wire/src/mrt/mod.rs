//! MRT files (RFC 6396, RFC 8050): table dumps and message logs, written and read.
//!
//! A file is a sequence of records. [`Records`] iterates over a file in memory, [`next_record`] reads from a stream;
//! [`Record::decode`] decodes a record. The writers append whole records to a buffer. Compression is left to the
//! caller.

mod bgp4mp;
mod bgp4mp_read;
mod bgp_read;
mod record;
mod table_dump;
mod table_dump_read;
mod table_dump_v1;

pub use bgp_read::OldUpdate;
pub use bgp4mp::{BgpSession, Timestamp, write_message, write_state_change};
pub use bgp4mp_read::{Message, StateChange};
pub use record::{Content, MrtError, MrtFault, Record, Records, next_record};
pub use table_dump::{PeerEntry, Route, write_peer_index_table, write_rib};
pub use table_dump_read::{PeerIndexTable, Rib, RibEntries, RibEntry};
pub use table_dump_v1::TableDump;

/// Record types (RFC 6396 §4, and appendix B for the oldest one).
mod kind {
    pub(super) const BGP: u16 = 5;
    pub(super) const TABLE_DUMP: u16 = 12;
    pub(super) const TABLE_DUMP_V2: u16 = 13;
    pub(super) const BGP4MP: u16 = 16;
    pub(super) const BGP4MP_ET: u16 = 17;
}

/// Subtypes of TABLE_DUMP_V2 (RFC 6396 §4.3, RFC 8050 §4).
mod table_subtype {
    pub(super) const PEER_INDEX_TABLE: u16 = 1;
    pub(super) const RIB_IPV4_UNICAST: u16 = 2;
    pub(super) const RIB_IPV6_UNICAST: u16 = 4;
    pub(super) const RIB_IPV4_UNICAST_ADDPATH: u16 = 8;
    pub(super) const RIB_IPV6_UNICAST_ADDPATH: u16 = 10;
}

/// Subtypes of BGP4MP (RFC 6396 §4.4, RFC 8050 §3).
mod message_subtype {
    pub(super) const STATE_CHANGE: u16 = 0;
    pub(super) const MESSAGE: u16 = 1;
    pub(super) const MESSAGE_AS4: u16 = 4;
    pub(super) const STATE_CHANGE_AS4: u16 = 5;
    pub(super) const MESSAGE_LOCAL: u16 = 6;
    pub(super) const MESSAGE_AS4_LOCAL: u16 = 7;
    pub(super) const MESSAGE_ADDPATH: u16 = 8;
    pub(super) const MESSAGE_AS4_ADDPATH: u16 = 9;
    pub(super) const MESSAGE_LOCAL_ADDPATH: u16 = 10;
    pub(super) const MESSAGE_AS4_LOCAL_ADDPATH: u16 = 11;
}

/// Appends a record; `write_body` appends the body.
fn write_record(
    out: &mut Vec<u8>,
    unix_s: u32,
    kind: u16,
    subtype: u16,
    write_body: impl FnOnce(&mut Vec<u8>),
) {
    out.extend_from_slice(&unix_s.to_be_bytes());
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&subtype.to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    let body = out.len();
    write_body(out);
    let len = u32::try_from(out.len() - body).unwrap_or(u32::MAX);
    out[body - 4..body].copy_from_slice(&len.to_be_bytes());
}

fn write_address(out: &mut Vec<u8>, address: std::net::IpAddr) {
    match address {
        std::net::IpAddr::V4(v4) => out.extend_from_slice(&v4.octets()),
        std::net::IpAddr::V6(v6) => out.extend_from_slice(&v6.octets()),
    }
}
