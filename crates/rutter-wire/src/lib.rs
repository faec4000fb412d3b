//! Codecs for BGP and BMP messages and MRT files as views over bytes.
//!
//! Parsing borrows: a view records the place of each field and decodes it on request. Parsing well-formed input does
//! not allocate. Malformed input is data ([`attr::Malformed`]); it never causes a panic.

pub mod attr;
pub mod bmp;
pub mod capability;
mod cursor;
pub mod frame;
pub mod handover;
pub mod mrt;
pub mod nlri;
pub mod notification;
pub mod open;
pub mod refresh;
pub mod update;
