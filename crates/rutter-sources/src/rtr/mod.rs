//! The RPKI to Router protocol, router side: versions 0 (RFC 6810), 1 (RFC 8210) and 2 (draft-ietf-sidrops-8210bis).
//!
//! [`RtrClient`] is the protocol without I/O: it receives bytes and times, and returns bytes and complete sets of
//! records.

mod cache_thread;
mod client;
mod client_settings;
mod connect;
mod error_code;
mod fault;
mod intervals;
mod pdu;
mod pdu_fault;
mod records;
mod records_update;
mod version_offer;

pub(crate) use cache_thread::{CacheReport, CacheThread};
pub use client::{RtrClient, RtrInput, RtrOutput};
pub use client_settings::{RtrClientSettings, RtrLimits};
pub use error_code::RtrErrorCode;
pub use fault::RtrFault;
pub use intervals::RtrIntervals;
pub use pdu::{Frame, Pdu};
pub use pdu_fault::PduFault;
pub use records::{AspaRecords, RtrData, RtrRecords, VrpRecord};
pub use records_update::{RecordConflict, RtrUpdate};

/// The highest version of the protocol that this client supports.
pub const HIGHEST_VERSION: u8 = 2;
