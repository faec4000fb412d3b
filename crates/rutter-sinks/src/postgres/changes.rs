//! Changes the current routes: staged, then merged, so that each key stays unique whatever was written before.

use std::sync::Arc;

use super::connection::Connection;
use super::copy::Rows;
use super::{finish, indexes, peers, send_piece};
use crate::attr_cache::ATTR_COLUMNS;
use crate::batch::Batch;
use crate::peer::StoredPeer;
use crate::peer_ids::PeerIds;
use crate::store::{Load, StoreError};
use rutter_net::PerFamily;

/// Belongs to the session; empty after every commit.
pub(super) const STAGE: &str = "CREATE TEMP TABLE rutter_stage ON COMMIT DELETE ROWS AS
     SELECT peer_id, prefix, path_id, time, origin, as_path, origin_as, next_hop, med, local_pref,
            communities, extended_communities, large_communities, false AS gone
     FROM rutter_routes WITH NO DATA";

/// The staged rows are few compared with the table: each is looked up by the key.
const PREPARE: &str = "SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off";

const REMOVE: &str = "DELETE FROM rutter_routes r USING rutter_stage s
    WHERE s.gone AND r.peer_id = s.peer_id AND r.prefix = s.prefix AND r.path_id = s.path_id";

/// Inserts or updates rows and counts the inserted ones. A row that this transaction updates has `xmax` set.
const PUT: &str = "WITH put AS (
INSERT INTO rutter_routes (peer_id, prefix, path_id, time, origin, as_path, origin_as, next_hop, med, local_pref,
           communities, extended_communities, large_communities)
    SELECT peer_id, prefix, path_id, time, origin, as_path, origin_as, next_hop, med, local_pref,
           communities, extended_communities, large_communities
    FROM rutter_stage WHERE NOT gone
ON CONFLICT (peer_id, prefix, path_id) DO UPDATE SET
    time = EXCLUDED.time, origin = EXCLUDED.origin, as_path = EXCLUDED.as_path,
    origin_as = EXCLUDED.origin_as, next_hop = EXCLUDED.next_hop, med = EXCLUDED.med,
    local_pref = EXCLUDED.local_pref, communities = EXCLUDED.communities,
    extended_communities = EXCLUDED.extended_communities, large_communities = EXCLUDED.large_communities
RETURNING xmax = 0 AS is_new)
SELECT count(*) FILTER (WHERE is_new) FROM put";

/// Applies a batch to the current routes. Returns the change of their number.
pub(super) fn apply(
    connection: &Connection,
    ids: &PeerIds,
    batch: &Batch,
) -> Result<i64, StoreError> {
    peers::change(connection, ids, &batch.peer_changes)?;
    let cleared = clear(connection, ids, batch)?;
    if batch.changes.is_empty() {
        return Ok(-cleared);
    }
    stage(connection, ids, batch)?;
    let what = "cannot merge the routes";
    connection.run(PREPARE, what)?;
    let removed = connection.execute(REMOVE, &[], what)? as i64;
    let new: i64 = connection.one(PUT, &[], what)?.get(0);
    Ok(new - removed - cleared)
}

/// The statements that remove the routes of peers, by the families to remove.
const CLEAR: [(PerFamily<bool>, &str); 3] = [
    (
        PerFamily::new(true, true),
        "DELETE FROM rutter_routes r USING unnest($1::integer[]) AS p (peer_id) WHERE r.peer_id = p.peer_id",
    ),
    (
        PerFamily::new(true, false),
        "DELETE FROM rutter_routes r USING unnest($1::integer[]) AS p (peer_id)
         WHERE r.peer_id = p.peer_id AND family(r.prefix) = 4",
    ),
    (
        PerFamily::new(false, true),
        "DELETE FROM rutter_routes r USING unnest($1::integer[]) AS p (peer_id)
         WHERE r.peer_id = p.peer_id AND family(r.prefix) = 6",
    ),
];

/// Removes the routes of sessions that went down. Returns their number.
fn clear(connection: &Connection, ids: &PeerIds, batch: &Batch) -> Result<i64, StoreError> {
    let mut cleared = 0;
    for (which, statement) in CLEAR {
        let of = batch.cleared.iter().filter(|(_, goes)| *goes == which);
        let ids: Result<Vec<i32>, StoreError> = of.map(|(peer, _)| ids.id_of(&peer.key)).collect();
        let ids = ids?;
        if !ids.is_empty() {
            cleared +=
                connection.execute(statement, &[&ids], "cannot remove the routes of peers")?;
        }
    }
    Ok(cleared as i64)
}

fn stage(connection: &Connection, ids: &PeerIds, batch: &Batch) -> Result<(), StoreError> {
    let mut changes: Vec<_> = batch.changes.iter().collect();
    changes.sort_unstable_by_key(|(key, _)| **key);
    let mut copy = connection.copy_in("COPY rutter_stage FROM STDIN BINARY")?;
    let mut out = Rows::new();
    for ((peer, prefix, path_id), change) in changes {
        out.begin(5 + ATTR_COLUMNS);
        out.int(ids.id_of(&batch.peers[*peer].key)?);
        out.cidr(*prefix);
        out.bigint((*path_id).into());
        out.time(change.time_us);
        out.attrs(change.attrs.as_deref());
        out.boolean(change.attrs.is_none());
        send_piece(&mut copy, &mut out)?;
    }
    finish(copy, out)
}

/// Removes all routes of the collector before a load of everything.
pub(super) fn clear_all(
    connection: &Connection,
    collector: i32,
    held: &[(bool, Arc<StoredPeer>)],
    ids: &PeerIds,
) -> Result<(), StoreError> {
    let what = "cannot remove the routes";
    // The lock keeps new collectors out while we check whether the table is ours alone and can be truncated.
    connection.run(
        "LOCK TABLE rutter_collectors IN SHARE ROW EXCLUSIVE MODE",
        what,
    )?;
    let alone = "SELECT count(*) = 1 FROM rutter_collectors";
    let alone: bool = connection
        .one(alone, &[], "cannot count the collectors")?
        .get(0);
    if !(alone && truncate(connection)?) {
        let delete = format!(
            "DELETE FROM rutter_routes WHERE peer_id IN
                 (SELECT peer_id FROM rutter_peers WHERE collector_id = {collector})"
        );
        connection.run(&delete, what)?;
    }
    let states = format!(
        "UPDATE rutter_collectors SET state = 'loading' WHERE collector_id = {collector};
         UPDATE rutter_peers SET state = 'down' WHERE collector_id = {collector} AND state <> 'down'"
    );
    connection.run(&states, what)?;
    set_state(connection, &ids_of_those_up(held, ids)?, "loading")
}

/// Truncates the table, unless somebody reads it now: neither side should wait for the other.
fn truncate(connection: &Connection) -> Result<bool, StoreError> {
    connection.run("SAVEPOINT emptying", "cannot begin")?;
    let lock = "LOCK TABLE rutter_routes IN ACCESS EXCLUSIVE MODE NOWAIT";
    if connection.run(lock, "cannot lock the table").is_err() {
        connection.run("ROLLBACK TO SAVEPOINT emptying", "cannot go back")?;
        return Ok(false);
    }
    connection.run("TRUNCATE rutter_routes", "cannot empty the table")?;
    indexes::drop(connection)?;
    Ok(true)
}

/// Removes the routes of some peers before a load of them. Returns their number.
pub(super) fn clear_peers(
    connection: &Connection,
    held: &[(bool, Arc<StoredPeer>)],
    ids: &PeerIds,
) -> Result<i64, StoreError> {
    let found: Result<Vec<i32>, StoreError> =
        held.iter().map(|(_, peer)| ids.id_of(&peer.key)).collect();
    let what = "cannot remove the routes of peers";
    let gone = connection.execute(CLEAR[0].1, &[&found?], what)?;
    set_state(connection, &ids_of_those_up(held, ids)?, "loading")?;
    Ok(gone as i64)
}

fn set_state(connection: &Connection, ids: &[i32], state: &str) -> Result<(), StoreError> {
    let statement = "UPDATE rutter_peers SET state = $2 WHERE peer_id = ANY($1)";
    let what = "cannot store the state of peers";
    connection
        .execute(statement, &[&ids, &state], what)
        .map(drop)
}

/// Completes a load.
pub(super) fn loaded(
    connection: &Connection,
    load: &Load,
    ids: &PeerIds,
) -> Result<(), StoreError> {
    indexes::build(connection)?;
    set_state(connection, &ids_of_those_up(&load.peers, ids)?, "up")
}

fn ids_of_those_up(
    held: &[(bool, Arc<StoredPeer>)],
    ids: &PeerIds,
) -> Result<Vec<i32>, StoreError> {
    let up = held.iter().filter(|(up, _)| *up);
    up.map(|(_, peer)| ids.id_of(&peer.key)).collect()
}
