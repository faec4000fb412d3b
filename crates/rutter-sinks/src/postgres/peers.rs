//! Stores peers: all peers of a batch in a few statements, however many come up at once.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use super::connection::Connection;
use super::copy::Rows;
use super::{finish, send_piece};
use crate::batch::PeerChange;
use crate::peer::StoredPeer;
use crate::peer_ids::PeerIds;
use crate::store::StoreError;

/// The peers that may not be stored yet; belongs to the session, empty after every commit.
pub(super) const NEW_PEERS: &str = "CREATE TEMP TABLE rutter_new_peers (
    place integer, router text, peer_address inet, distinguisher text, view text, peer_type text, peer_name text, peer_asn bigint,
    bgp_id inet, source text) ON COMMIT DELETE ROWS";

const COPY: &str = "COPY rutter_new_peers (place, router, peer_address, distinguisher, view, peer_type, peer_name, peer_asn, bgp_id, source)
FROM STDIN BINARY";
const COLUMNS: i16 = 10;

/// The condition that joins a given peer to the stored one.
macro_rules! same {
    () => {
        "p.collector_id = $1::integer AND p.router = g.router AND p.peer_address = g.peer_address
     AND p.distinguisher = g.distinguisher::numeric AND p.view = g.view AND p.peer_type = g.peer_type"
    };
}

/// Adds missing peers. Nobody else writes as this collector. An upsert would use up an id for each peer that
/// exists.
const INSERT: &str = concat!(
    "INSERT INTO rutter_peers
    (collector_id, router, peer_address, distinguisher, view, peer_type, peer_name, peer_asn, bgp_id, source, state)
SELECT $1::integer, router, peer_address, distinguisher::numeric, view, peer_type, peer_name, peer_asn, bgp_id, source, 'down'
FROM rutter_new_peers g WHERE NOT EXISTS (SELECT FROM rutter_peers p WHERE ",
    same!(),
    ")
ON CONFLICT DO NOTHING"
);

const UPDATE: &str = concat!(
    "UPDATE rutter_peers p
SET peer_name = g.peer_name, peer_asn = g.peer_asn, bgp_id = g.bgp_id, source = g.source
FROM rutter_new_peers g WHERE ",
    same!(),
    " AND (p.peer_name, p.peer_asn, p.bgp_id, p.source) IS DISTINCT FROM (g.peer_name, g.peer_asn, g.bgp_id, g.source)"
);

const NUMBERS: &str = concat!(
    "SELECT g.place, p.peer_id FROM rutter_new_peers g JOIN rutter_peers p ON ",
    same!()
);

/// Makes sure that peers have ids, and that their stored columns are up to date.
pub(super) fn learn<'p>(
    connection: &Connection,
    collector: i32,
    ids: &mut PeerIds,
    peers: impl IntoIterator<Item = &'p Arc<StoredPeer>>,
) -> Result<(), StoreError> {
    let new = ids.unknown(peers);
    if new.is_empty() {
        return Ok(());
    }
    upsert(connection, &new)?;
    let what = "cannot store the peers";
    connection.execute(INSERT, &[&collector], what)?;
    connection.execute(UPDATE, &[&collector], what)?;
    let rows = connection.all(NUMBERS, &[&collector], what)?;
    ids.add(&new, rows.iter().map(|row| (row.get(0), row.get(1))));
    Ok(())
}

fn upsert(connection: &Connection, peers: &[&Arc<StoredPeer>]) -> Result<(), StoreError> {
    let mut copy = connection.copy_in(COPY)?;
    let mut out = Rows::new();
    for (place, peer) in (0..).zip(peers) {
        out.begin(COLUMNS);
        out.int(place);
        out.text(&peer.key.router);
        out.inet(peer.key.address);
        out.text(&peer.key.distinguisher.to_string());
        out.text(peer.key.view);
        out.text(&peer.key.peer_type.to_string());
        out.text(&peer.name);
        out.bigint(peer.asn.0.into());
        match peer.bgp_id {
            0 => out.null(),
            id => out.inet(IpAddr::V4(Ipv4Addr::from(id))),
        }
        out.text(peer.source);
        send_piece(&mut copy, &mut out)?;
    }
    finish(copy, out)
}

const SET_STATE: &str = "UPDATE rutter_peers p SET state = c.state, since = to_timestamp(c.since), detail = c.detail
FROM unnest($1::integer[], $2::text[], $3::float8[], $4::text[]) AS c (peer_id, state, since, detail)
WHERE p.peer_id = c.peer_id";

/// Stores the last state of each peer that came up or went down.
pub(super) fn change(
    connection: &Connection,
    ids: &PeerIds,
    changes: &[PeerChange],
) -> Result<(), StoreError> {
    if changes.is_empty() {
        return Ok(());
    }
    let last = ids.last_changes(changes)?;
    let ids: Vec<i32> = last.keys().copied().collect();
    let states: Vec<&str> = last.values().map(|one| one.state()).collect();
    let since_s: Vec<f64> = last.values().map(|one| one.time_us as f64 / 1e6).collect();
    let detail = |one: &&PeerChange| one.detail.replace('\0', "");
    let details: Vec<String> = last.values().map(detail).collect();
    let what = "cannot store the state of the peers";
    connection
        .execute(SET_STATE, &[&ids, &states, &since_s, &details], what)
        .map(drop)
}
