//! The RTR client against scripts, arbitrary bytes and caches on loopback.

mod client;
mod corpus;
mod pdu;
mod script;
mod twin;
