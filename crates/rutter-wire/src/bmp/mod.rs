//! Reads and writes BMP, the BGP Monitoring Protocol: RFC 7854, Adj-RIB-Out of RFC 8671, Loc-RIB of RFC 9069.
//!
//! [`next_packet`] cuts a stream into packets, and [`Packet::decode`] decodes one. Version 4 exists only in drafts; it
//! is read like version 3 with more TLVs.

mod header;
mod packet;
mod peer_down;
mod peer_up;
mod route_mirroring;
mod route_monitoring;
mod statistics;
mod tlv;
mod write;

pub use header::{PeerHeader, PeerType, RibView};
pub use packet::{BmpFault, HEADER_LEN, Message, Packet, next_packet};
pub use peer_down::PeerDown;
pub use peer_up::PeerUp;
pub use route_mirroring::{Mirrored, RouteMirroring};
pub use route_monitoring::RouteMonitoring;
pub use statistics::{Statistic, StatisticsReport};
pub use tlv::{Tlv, Tlvs, information, termination};
pub use write::{
    write_initiation, write_peer_down, write_peer_up, write_route_monitoring,
    write_statistics_report, write_termination,
};

/// Message types (RFC 7854 §4.1).
mod kind {
    pub(super) const ROUTE_MONITORING: u8 = 0;
    pub(super) const STATISTICS_REPORT: u8 = 1;
    pub(super) const PEER_DOWN: u8 = 2;
    pub(super) const PEER_UP: u8 = 3;
    pub(super) const INITIATION: u8 = 4;
    pub(super) const TERMINATION: u8 = 5;
    pub(super) const ROUTE_MIRRORING: u8 = 6;
}
