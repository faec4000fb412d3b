//! Answers `peers` and `peer`, and selects neighbors by name, address or AS number.

use std::net::IpAddr;

use rutter_net::Asn;

use super::{Failure, RowWriter};
use crate::convert::peer_rows;
use crate::{Backend, Line};

/// Sends all sessions.
pub(super) fn all(backend: &dyn Backend, rows: &mut RowWriter<'_>) -> Result<(), Failure> {
    for row in peer_rows(backend.sessions(), &backend.peers()) {
        rows.send(&Line::Peer(Box::new(row)))?;
    }
    Ok(())
}

/// Sends the sessions that `wanted` selects.
pub(super) fn one(
    backend: &dyn Backend,
    wanted: &str,
    rows: &mut RowWriter<'_>,
) -> Result<(), Failure> {
    let wanted = PeerSelector::new(wanted);
    for row in peer_rows(backend.sessions(), &backend.peers()) {
        let session = &row.session;
        if wanted.matches(&session.name, session.address, session.asn) {
            rows.send(&Line::Peer(Box::new(row)))?;
        }
    }
    match rows.count() {
        0 => Err(wanted.not_found()),
        _ => Ok(()),
    }
}

/// Selects neighbors by name, address or AS number.
pub struct PeerSelector<'a> {
    text: &'a str,
    address: Option<IpAddr>,
    asn: Option<Asn>,
}

impl<'a> PeerSelector<'a> {
    /// Parses the possible meanings of the string.
    pub fn new(text: &'a str) -> Self {
        PeerSelector {
            text,
            address: text.parse().ok(),
            asn: text.parse().ok(),
        }
    }

    /// Returns whether this neighbor is selected.
    pub fn matches(&self, name: &str, address: IpAddr, asn: u32) -> bool {
        name.eq_ignore_ascii_case(self.text)
            || self.address == Some(address)
            || self.asn == Some(Asn(asn))
    }

    /// Returns the error if no neighbor matches.
    pub(super) fn not_found(&self) -> Failure {
        Failure::NoNeighbor(self.text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbor_has_three_names() {
        let address = [192, 0, 2, 11].into();
        for text in ["Example", "192.0.2.11", "AS64511", "64511"] {
            assert!(
                PeerSelector::new(text).matches("example", address, 64511),
                "{text}"
            );
        }
        assert!(!PeerSelector::new("192.0.2.12").matches("example", address, 64511));
    }
}
