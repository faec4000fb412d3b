//! The RFC 4271 state machine of one peer without I/O.
