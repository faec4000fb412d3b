//! Names of NOTIFICATION codes, as in the IANA registry.

use std::fmt;

use super::Notification;

/// Name of a code.
fn code_name(code: u8) -> Option<&'static str> {
    Some(match code {
        1 => "Message Header Error",
        2 => "OPEN Message Error",
        3 => "UPDATE Message Error",
        4 => "Hold Timer Expired",
        5 => "Finite State Machine Error",
        6 => "Cease",
        7 => "ROUTE-REFRESH Message Error",
        8 => "Send Hold Timer Expired",
        _ => return None,
    })
}

/// Name of a subcode.
fn subcode_name(code: u8, subcode: u8) -> Option<&'static str> {
    let names: &[&str] = match code {
        1 => &HEADER,
        2 => &OPEN,
        3 => &UPDATE,
        5 => &FSM,
        6 => &CEASE,
        7 => &["Invalid Message Length"],
        _ => &[],
    };
    let index = usize::from(subcode).checked_sub(1)?;
    names.get(index).copied().filter(|name| !name.is_empty())
}

impl fmt::Display for Notification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match code_name(self.code) {
            Some(name) => f.write_str(name)?,
            None => write!(f, "error code {}", self.code)?,
        }
        match (self.subcode, subcode_name(self.code, self.subcode)) {
            (_, Some(name)) => write!(f, ": {name}")?,
            (0, None) => {}
            (subcode, None) => write!(f, ": subcode {subcode}")?,
        }
        if let Some(inner) = self.inner() {
            return write!(f, " ({inner})");
        }
        match self.shutdown_text() {
            Some(text) => write!(f, ": \"{text}\""),
            None => Ok(()),
        }
    }
}

const HEADER: [&str; 3] = [
    "Connection Not Synchronized",
    "Bad Message Length",
    "Bad Message Type",
];

const OPEN: [&str; 11] = [
    "Unsupported Version Number",
    "Bad Peer AS",
    "Bad BGP Identifier",
    "Unsupported Optional Parameter",
    "Authentication Failure",
    "Unacceptable Hold Time",
    "Unsupported Capability",
    "",
    "",
    "",
    "Role Mismatch",
];

const UPDATE: [&str; 11] = [
    "Malformed Attribute List",
    "Unrecognized Well-known Attribute",
    "Missing Well-known Attribute",
    "Attribute Flags Error",
    "Attribute Length Error",
    "Invalid ORIGIN Attribute",
    "AS Routing Loop",
    "Invalid NEXT_HOP Attribute",
    "Optional Attribute Error",
    "Invalid Network Field",
    "Malformed AS_PATH",
];

const FSM: [&str; 3] = [
    "Unexpected Message in OpenSent",
    "Unexpected Message in OpenConfirm",
    "Unexpected Message in Established",
];

const CEASE: [&str; 10] = [
    "Maximum Number of Prefixes Reached",
    "Administrative Shutdown",
    "Peer De-configured",
    "Administrative Reset",
    "Connection Rejected",
    "Other Configuration Change",
    "Connection Collision Resolution",
    "Out of Resources",
    "Hard Reset",
    "BFD Down",
];
