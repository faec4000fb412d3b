//! Codecs for BGP and BMP messages and MRT files as views over bytes.
//!
//! Parsing borrows: a view remembers where things are and decodes them when asked. A parse that finds nothing wrong
//! allocates nothing. Malformed input is data ([`attr::Malformed`]), never a panic.

pub mod attr;
pub mod bmp;
pub mod capability;
mod cursor;
pub mod frame;
pub mod mrt;
pub mod nlri;
pub mod notification;
pub mod open;
pub mod refresh;
pub mod update;
