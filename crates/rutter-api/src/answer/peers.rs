//! Sessions, and finding one by what people call it.

use std::net::IpAddr;

use rutter_net::Asn;

use super::{Failure, RowWriter};
use crate::convert::peer_rows;
use crate::{Backend, Line};

/// All sessions.
pub(super) fn all(backend: &dyn Backend, rows: &mut RowWriter<'_>) -> Result<(), Failure> {
    for row in peer_rows(backend.sessions(), &backend.peers()) {
        rows.send(&Line::Peer(Box::new(row)))?;
    }
    Ok(())
}

/// The sessions that `wanted` names.
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

/// A neighbor as people call it: name, address or AS number.
pub(super) struct PeerSelector<'a> {
    text: &'a str,
    address: Option<IpAddr>,
    asn: Option<Asn>,
}

impl<'a> PeerSelector<'a> {
    /// What the text may mean.
    pub(super) fn new(text: &'a str) -> Self {
        PeerSelector {
            text,
            address: text.parse().ok(),
            asn: text.parse().ok(),
        }
    }

    /// Whether this neighbor is meant.
    pub(super) fn matches(&self, name: &str, address: IpAddr, asn: u32) -> bool {
        name.eq_ignore_ascii_case(self.text)
            || self.address == Some(address)
            || self.asn == Some(Asn(asn))
    }

    /// The refusal where none matched.
    pub(super) fn not_found(&self) -> Failure {
        Failure::refused(format!(
            "no neighbor has the name, address or AS number `{}`: `rutter show peers` lists them",
            self.text
        ))
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
