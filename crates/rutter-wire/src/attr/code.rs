//! Type codes of path attributes (IANA registry "BGP Path Attributes").

/// ORIGIN (RFC 4271).
pub const ORIGIN: u8 = 1;
/// AS_PATH (RFC 4271).
pub const AS_PATH: u8 = 2;
/// NEXT_HOP (RFC 4271).
pub const NEXT_HOP: u8 = 3;
/// MULTI_EXIT_DISC (RFC 4271).
pub const MULTI_EXIT_DISC: u8 = 4;
/// LOCAL_PREF (RFC 4271).
pub const LOCAL_PREF: u8 = 5;
/// ATOMIC_AGGREGATE (RFC 4271).
pub const ATOMIC_AGGREGATE: u8 = 6;
/// AGGREGATOR (RFC 4271).
pub const AGGREGATOR: u8 = 7;
/// COMMUNITIES (RFC 1997).
pub const COMMUNITIES: u8 = 8;
/// ORIGINATOR_ID (RFC 4456).
pub const ORIGINATOR_ID: u8 = 9;
/// CLUSTER_LIST (RFC 4456).
pub const CLUSTER_LIST: u8 = 10;
/// MP_REACH_NLRI (RFC 4760).
pub const MP_REACH_NLRI: u8 = 14;
/// MP_UNREACH_NLRI (RFC 4760).
pub const MP_UNREACH_NLRI: u8 = 15;
/// EXTENDED COMMUNITIES (RFC 4360).
pub const EXTENDED_COMMUNITIES: u8 = 16;
/// AS4_PATH (RFC 6793).
pub const AS4_PATH: u8 = 17;
/// AS4_AGGREGATOR (RFC 6793).
pub const AS4_AGGREGATOR: u8 = 18;
/// IPv6 Address Specific Extended Communities (RFC 5701).
pub const IPV6_EXTENDED_COMMUNITIES: u8 = 25;
/// AIGP (RFC 7311).
pub const AIGP: u8 = 26;
/// LARGE_COMMUNITY (RFC 8092).
pub const LARGE_COMMUNITIES: u8 = 32;
/// Only to Customer (RFC 9234).
pub const ONLY_TO_CUSTOMER: u8 = 35;
/// BGP Prefix-SID (RFC 8669).
pub const PREFIX_SID: u8 = 40;
