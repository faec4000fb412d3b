//! The current routes: staged, then merged, so that each key stays unique whatever was written before.

use std::sync::Arc;

use postgres::Transaction;

use super::copy::{ATTR_COLUMNS, Rows};
use super::peers::PeerIds;
use super::{copy_into, fault, finish, indexes, send_piece};
use crate::batch::Batch;
use crate::peer::StoredPeer;
use crate::store::{Fault, Load};

/// Lives as long as the session; empty at every commit.
pub(super) const STAGE: &str = "CREATE TEMP TABLE rutter_stage ON COMMIT DELETE ROWS AS
     SELECT peer_id, prefix, path_id, time, origin, as_path, origin_as, next_hop, med, local_pref,
            communities, extended_communities, large_communities, false AS gone
     FROM rutter_routes WITH NO DATA";

/// The staged rows are few beside the table: each is looked up by the key.
const MERGE: &str = "SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off;
DELETE FROM rutter_routes r USING rutter_stage s
    WHERE s.gone AND r.peer_id = s.peer_id AND r.prefix = s.prefix AND r.path_id = s.path_id;
INSERT INTO rutter_routes (peer_id, prefix, path_id, time, origin, as_path, origin_as, next_hop, med, local_pref,
           communities, extended_communities, large_communities)
    SELECT peer_id, prefix, path_id, time, origin, as_path, origin_as, next_hop, med, local_pref,
           communities, extended_communities, large_communities
    FROM rutter_stage WHERE NOT gone
ON CONFLICT (peer_id, prefix, path_id) DO UPDATE SET
    time = EXCLUDED.time, origin = EXCLUDED.origin, as_path = EXCLUDED.as_path,
    origin_as = EXCLUDED.origin_as, next_hop = EXCLUDED.next_hop, med = EXCLUDED.med,
    local_pref = EXCLUDED.local_pref, communities = EXCLUDED.communities,
    extended_communities = EXCLUDED.extended_communities, large_communities = EXCLUDED.large_communities";

pub(super) fn apply(
    transaction: &mut Transaction<'_>,
    peers: &PeerIds,
    batch: &Batch,
) -> Result<(), Fault> {
    change_peers(transaction, peers, batch)?;
    clear(transaction, peers, batch)?;
    if batch.changes.is_empty() {
        return Ok(());
    }
    stage(transaction, peers, batch)?;
    transaction
        .batch_execute(MERGE)
        .map_err(fault("cannot merge the routes"))
}

fn change_peers(
    transaction: &mut Transaction<'_>,
    peers: &PeerIds,
    batch: &Batch,
) -> Result<(), Fault> {
    for change in &batch.peer_changes {
        let state = if change.up { "up" } else { "down" };
        let since_s = change.time_us as f64 / 1e6;
        transaction
            .execute(
                "UPDATE rutter_peers SET state = $2, since = to_timestamp($3), detail = $4 WHERE peer_id = $1",
                &[
                    &peers.of(&change.peer.key)?,
                    &state,
                    &since_s,
                    &change.detail.replace('\0', ""),
                ],
            )
            .map_err(fault("cannot store the state of a peer"))?;
    }
    Ok(())
}

fn clear(transaction: &mut Transaction<'_>, peers: &PeerIds, batch: &Batch) -> Result<(), Fault> {
    for (peer, families) in &batch.cleared {
        let statement = match families {
            [true, true] => "DELETE FROM rutter_routes WHERE peer_id = $1",
            [true, false] => "DELETE FROM rutter_routes WHERE peer_id = $1 AND family(prefix) = 4",
            [false, _] => "DELETE FROM rutter_routes WHERE peer_id = $1 AND family(prefix) = 6",
        };
        transaction
            .execute(statement, &[&peers.of(&peer.key)?])
            .map_err(fault("cannot remove the routes of a peer"))?;
    }
    Ok(())
}

fn stage(transaction: &mut Transaction<'_>, peers: &PeerIds, batch: &Batch) -> Result<(), Fault> {
    let mut changes: Vec<_> = batch.changes.iter().collect();
    changes.sort_unstable_by_key(|(key, _)| **key);
    let mut writer = copy_into(transaction, "COPY rutter_stage FROM STDIN BINARY")?;
    let mut out = Rows::new();
    for ((peer, prefix, path_id), change) in changes {
        out.begin(5 + ATTR_COLUMNS);
        out.int(peers.of(&batch.peers[*peer].key)?);
        out.cidr(*prefix);
        out.bigint((*path_id).into());
        out.time(change.time_us);
        out.attrs(change.attrs.as_deref());
        out.boolean(change.attrs.is_none());
        send_piece(&mut writer, &mut out)?;
    }
    finish(writer, out)
}

/// Before a load of everything.
pub(super) fn clear_all(
    transaction: &mut Transaction<'_>,
    collector: i32,
    held: &[(bool, Arc<StoredPeer>)],
    peers: &PeerIds,
) -> Result<(), Fault> {
    let run = |transaction: &mut Transaction<'_>, sql: &str| {
        transaction
            .batch_execute(sql)
            .map_err(fault("cannot remove the routes"))
    };
    // Nobody registers while we look whether the table is ours alone: then it can be emptied at once.
    run(
        transaction,
        "LOCK TABLE rutter_collectors IN SHARE ROW EXCLUSIVE MODE",
    )?;
    let alone = "SELECT count(*) = 1 FROM rutter_collectors";
    let row = transaction
        .query_one(alone, &[])
        .map_err(fault("cannot count the collectors"))?;
    let alone: bool = row.get(0);
    if !(alone && truncate(transaction)?) {
        let delete = format!(
            "DELETE FROM rutter_routes WHERE peer_id IN
                 (SELECT peer_id FROM rutter_peers WHERE collector_id = {collector})"
        );
        run(transaction, &delete)?;
    }
    run(
        transaction,
        &format!(
            "UPDATE rutter_collectors SET state = 'loading' WHERE collector_id = {collector};
             UPDATE rutter_peers SET state = 'down' WHERE collector_id = {collector} AND state <> 'down'"
        ),
    )?;
    let up: Vec<i32> = held
        .iter()
        .filter(|(up, _)| *up)
        .map(|(_, peer)| peers.of(&peer.key))
        .collect::<Result<_, _>>()?;
    set_state(transaction, &up, "loading")
}

/// Empties the table, unless somebody reads it just now: nobody should wait for us, nor we for them.
fn truncate(transaction: &mut Transaction<'_>) -> Result<bool, Fault> {
    let mut inner = transaction.transaction().map_err(fault("cannot begin"))?;
    if inner
        .batch_execute("LOCK TABLE rutter_routes IN ACCESS EXCLUSIVE MODE NOWAIT")
        .is_err()
    {
        inner.rollback().map_err(fault("cannot go back"))?;
        return Ok(false);
    }
    inner
        .batch_execute("TRUNCATE rutter_routes")
        .map_err(fault("cannot empty the table"))?;
    indexes::drop(&mut inner)?;
    inner.commit().map_err(fault("cannot empty the table"))?;
    Ok(true)
}

/// Before a load of some peers.
pub(super) fn clear_peers(transaction: &mut Transaction<'_>, ids: &[i32]) -> Result<(), Fault> {
    transaction
        .execute("DELETE FROM rutter_routes WHERE peer_id = ANY($1)", &[&ids])
        .map_err(fault("cannot remove the routes of peers"))?;
    set_state(transaction, ids, "loading")
}

fn set_state(transaction: &mut Transaction<'_>, ids: &[i32], state: &str) -> Result<(), Fault> {
    let statement = "UPDATE rutter_peers SET state = $2 WHERE peer_id = ANY($1)";
    transaction
        .execute(statement, &[&ids, &state])
        .map(drop)
        .map_err(fault("cannot store the state of peers"))
}

/// After a load.
pub(super) fn loaded(
    transaction: &mut Transaction<'_>,
    load: &Load,
    peers: &PeerIds,
) -> Result<(), Fault> {
    let up: Vec<i32> = load
        .peers
        .iter()
        .filter(|(up, _)| *up)
        .map(|(_, peer)| peers.of(&peer.key))
        .collect::<Result<_, _>>()?;
    indexes::build(transaction)?;
    set_state(transaction, &up, "up")
}
