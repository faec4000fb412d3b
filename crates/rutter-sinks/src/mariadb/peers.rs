//! Stores peers: all peers of a batch in a few statements, however many come up at once.

use std::net::Ipv4Addr;
use std::sync::Arc;

use super::rows::Rows;
use super::{Into, Session, store_error};
use crate::batch::PeerChange;
use crate::peer::StoredPeer;
use crate::store::StoreError;

/// Temporary tables of peers that may not be stored yet, and of changed states; both belong to the session.
pub(super) const STAGES: [&str; 2] = [
    "CREATE TEMPORARY TABLE rutter_new_peers (
    place         int NOT NULL,
    router        varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    peer_address  varchar(45) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    distinguisher bigint unsigned NOT NULL,
    view          varchar(16) CHARACTER SET ascii NOT NULL,
    peer_type     varchar(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    peer_name     text CHARACTER SET utf8mb4 NOT NULL,
    peer_asn      int unsigned NOT NULL,
    bgp_id        varchar(15) CHARACTER SET ascii,
    source        varchar(8) CHARACTER SET ascii NOT NULL) ENGINE = InnoDB",
    "CREATE TEMPORARY TABLE rutter_changed_peers (
    peer_id int NOT NULL PRIMARY KEY,
    state   varchar(16) CHARACTER SET ascii NOT NULL,
    since   datetime(6) NOT NULL,
    detail  mediumtext CHARACTER SET utf8mb4 NOT NULL) ENGINE = InnoDB",
];

const NEW_PEERS: Into = ("INTO TABLE rutter_new_peers", "");
const CHANGED_PEERS: Into = ("INTO TABLE rutter_changed_peers", "");

/// The condition that joins a given peer to the stored one.
macro_rules! same {
    () => {
        "p.collector_id = ? AND p.router = g.router AND p.peer_address = g.peer_address
     AND p.distinguisher = g.distinguisher AND p.view = g.view AND p.peer_type = g.peer_type"
    };
}

/// Adds missing peers. Nobody else writes as this collector. An upsert would use up an id for each peer that
/// exists. Names that were cut may be equal.
const INSERT: &str = concat!(
    "INSERT INTO rutter_peers
    (router, peer_address, distinguisher, view, peer_type, peer_name, peer_asn, bgp_id, source, state, detail, collector_id)
SELECT g.router, g.peer_address, g.distinguisher, g.view, g.peer_type, min(g.peer_name), min(g.peer_asn), min(g.bgp_id),
    min(g.source), 'down', '', ?
FROM rutter_new_peers g LEFT JOIN rutter_peers p ON ",
    same!(),
    " WHERE p.peer_id IS NULL GROUP BY g.router, g.peer_address, g.distinguisher, g.view, g.peer_type"
);

const UPDATE: &str = concat!(
    "UPDATE rutter_new_peers g JOIN rutter_peers p ON ",
    same!(),
    " SET p.peer_name = g.peer_name, p.peer_asn = g.peer_asn, p.bgp_id = g.bgp_id, p.source = g.source"
);

const NUMBERS: &str = concat!(
    "SELECT g.place, p.peer_id FROM rutter_new_peers g JOIN rutter_peers p ON ",
    same!()
);

const SET_STATE: &str = "UPDATE rutter_changed_peers t JOIN rutter_peers p ON p.peer_id = t.peer_id
SET p.state = t.state, p.since = t.since, p.detail = t.detail";

impl Session {
    /// Makes sure that peers have ids, and that their stored columns are up to date.
    pub(super) fn learn<'p>(
        &mut self,
        peers: impl IntoIterator<Item = &'p Arc<StoredPeer>>,
    ) -> Result<(), StoreError> {
        let new = self.ids.unknown(peers);
        if new.is_empty() {
            return Ok(());
        }
        self.load_data(NEW_PEERS, rows(&new))?;
        let (what, collector) = ("cannot store the peers", self.collector);
        let conn = &mut self.conn;
        conn.exec_drop(INSERT, (collector, collector))
            .map_err(store_error(what))?;
        conn.exec_drop(UPDATE, (collector,))
            .map_err(store_error(what))?;
        let numbers: Vec<(i32, i32)> = conn
            .exec(NUMBERS, (collector,))
            .map_err(store_error(what))?;
        self.run("DELETE FROM rutter_new_peers", what)?;
        self.ids.add(&new, numbers);
        Ok(())
    }

    /// Stores the last state of each peer that came up or went down.
    pub(super) fn change_peers(&mut self, changes: &[PeerChange]) -> Result<(), StoreError> {
        if changes.is_empty() {
            return Ok(());
        }
        let mut out = Rows::default();
        for (number, change) in self.ids.last_changes(changes)? {
            out.number(number);
            out.plain(change.state());
            out.time(change.time_us);
            out.text(&change.detail);
            out.end_row();
        }
        self.load_data(CHANGED_PEERS, out)?;
        let what = "cannot store the state of the peers";
        self.run(SET_STATE, what)?;
        self.run("DELETE FROM rutter_changed_peers", what)
    }
}

fn rows(peers: &[&Arc<StoredPeer>]) -> Rows {
    let mut out = Rows::default();
    for (place, peer) in (0_i32..).zip(peers) {
        out.number(place);
        out.text(fitting(&peer.key.router));
        out.plain(peer.key.address);
        out.plain(peer.key.distinguisher);
        out.plain(peer.key.view);
        out.plain(peer.key.peer_type);
        out.text(&peer.name);
        out.number(peer.asn.0);
        match peer.bgp_id {
            0 => out.null(),
            id => out.plain(Ipv4Addr::from(id)),
        }
        out.plain(peer.source);
        out.end_row();
    }
    out
}

/// The part of a name that fits the column: a long name must not block all rows after it.
fn fitting(name: &str) -> &str {
    let end = name
        .char_indices()
        .nth(255)
        .map_or(name.len(), |(at, _)| at);
    name[..end].trim_end()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_name_that_is_too_long_is_cut() {
        assert_eq!(super::fitting("edge1 "), "edge1");
        assert_eq!(super::fitting(&"ü".repeat(258)).chars().count(), 255);
    }
}
