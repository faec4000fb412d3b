//! Changes the current routes: replaces and removes rows by key, whatever was written before.

use std::sync::Arc;

use super::rows::Rows;
use super::{Into, ROUTES, SCHEMA_LOCK, Session, lock, store_error, unlock};
use crate::batch::Batch;
use crate::peer::StoredPeer;
use crate::store::{Load, StoreError};
use rutter_net::PerFamily;

/// The keys of withdrawn routes; belongs to the session.
pub(super) const STAGE: &str = "CREATE TEMPORARY TABLE rutter_stage (
    peer_id int NOT NULL, network varbinary(16) NOT NULL, length tinyint unsigned NOT NULL,
    path_id int unsigned NOT NULL) ENGINE = InnoDB";

const STAGED: Into = ("INTO TABLE rutter_stage", "");

const REMOVE_STAGED: &str = "DELETE r FROM rutter_stage s STRAIGHT_JOIN rutter_routes r
    ON r.peer_id = s.peer_id AND r.network = s.network AND r.length = s.length AND r.path_id = s.path_id";

/// Applies a batch to the current routes. Returns the change of their number.
pub(super) fn apply(session: &mut Session, batch: &Batch) -> Result<i64, StoreError> {
    session.change_peers(&batch.peer_changes)?;
    let mut cleared = 0;
    for (ipv4, ipv6) in [(true, true), (true, false), (false, true)] {
        let which = PerFamily::new(ipv4, ipv6);
        let of = batch.cleared.iter().filter(|(_, goes)| *goes == which);
        let ids = numbers(session, of.map(|(peer, _)| peer))?;
        let and = match (ipv4, ipv6) {
            (true, true) => "",
            (true, false) => " AND octet_length(network) = 4",
            (false, _) => " AND octet_length(network) = 16",
        };
        for some in ids.chunks(AT_ONCE) {
            let list = list(some);
            let statement = format!("DELETE FROM rutter_routes WHERE peer_id IN ({list}){and}");
            session.run(&statement, "cannot remove the routes of peers")?;
            cleared += session.conn.affected_rows() as i64;
        }
    }
    Ok(change_routes(session, batch)? - cleared)
}

/// The number of peers in a statement. With few, the server estimates the number of their routes from the
/// index.
const AT_ONCE: usize = 100;

fn list(ids: &[i32]) -> String {
    let ids: Vec<String> = ids.iter().map(i32::to_string).collect();
    ids.join(",")
}

fn numbers<'p>(
    session: &Session,
    peers: impl Iterator<Item = &'p Arc<StoredPeer>>,
) -> Result<Vec<i32>, StoreError> {
    peers.map(|peer| session.ids.id_of(&peer.key)).collect()
}

/// Sets the state of those peers of a load whose sessions are up, or down.
pub(super) fn set_state(
    session: &mut Session,
    state: &str,
    load: &Load,
    whether_up: bool,
) -> Result<(), StoreError> {
    let held = load.peers.iter().filter(|(up, _)| *up == whether_up);
    let ids = numbers(session, held.map(|(_, peer)| peer))?;
    for some in ids.chunks(10 * AT_ONCE) {
        let list = list(some);
        let statement =
            format!("UPDATE rutter_peers SET state = '{state}' WHERE peer_id IN ({list})");
        session.run(&statement, "cannot store the state of the peers")?;
    }
    Ok(())
}

fn change_routes(session: &mut Session, batch: &Batch) -> Result<i64, StoreError> {
    let mut changes: Vec<_> = batch.changes.iter().collect();
    changes.sort_unstable_by_key(|(key, _)| **key);
    let (mut put, mut gone) = (Rows::default(), Rows::default());
    let (mut given, mut removed, mut put_and_replaced) = (0, 0, 0);
    for ((peer, prefix, path_id), change) in changes {
        let out = if change.attrs.is_some() {
            &mut put
        } else {
            &mut gone
        };
        out.number(session.ids.id_of(&batch.peers[*peer].key)?);
        out.network(*prefix);
        out.number(*path_id);
        if let Some(attrs) = &change.attrs {
            out.plain(prefix);
            out.time(change.time_us);
            out.attrs(Some(attrs));
            given += 1;
        }
        out.end_row();
    }
    if !gone.is_empty() {
        session.load_data(STAGED, gone)?;
        session.run(REMOVE_STAGED, "cannot remove routes")?;
        removed = session.conn.affected_rows() as i64;
        session.run("DELETE FROM rutter_stage", "cannot empty the staging table")?;
    }
    if given > 0 {
        session.load_data(ROUTES, put)?;
        // A row that replaces another is counted twice.
        put_and_replaced = session.conn.affected_rows() as i64;
    }
    Ok(2 * given - put_and_replaced - removed)
}

/// Removes the routes that a load replaces, and ends the caller's transaction. Returns the number of removed
/// routes of some peers.
pub(super) fn begin_load(session: &mut Session, load: &Load) -> Result<i64, StoreError> {
    let collector = session.collector;
    if load.all {
        let down =
            format!("UPDATE rutter_peers SET state = 'down' WHERE collector_id = {collector}");
        session.run(&down, "cannot store the state of the peers")?;
        let loading = format!(
            "UPDATE rutter_collectors SET state = 'loading' WHERE collector_id = {collector}"
        );
        session.run(&loading, "cannot store the state of the collector")?;
    }
    set_state(session, "loading", load, true)?;
    set_state(session, "down", load, false)?;
    session.run("COMMIT", "cannot commit")?;
    if load.all {
        clear_all(session)?;
        return Ok(0);
    }
    let ids = numbers(session, load.peers.iter().map(|(_, peer)| peer))?;
    clear_peers(session, &ids)
}

/// Removes all routes of the collector. The schema lock keeps new collectors out while we check whether the
/// table is ours alone and can be truncated.
fn clear_all(session: &mut Session) -> Result<(), StoreError> {
    if lock(&mut session.conn, SCHEMA_LOCK, 5)? {
        let emptied = truncate(session);
        unlock(&mut session.conn, SCHEMA_LOCK)?;
        if emptied? {
            return Ok(());
        }
    }
    let ids: Vec<i32> = session
        .conn
        .exec(
            "SELECT peer_id FROM rutter_peers WHERE collector_id = ?",
            (session.collector,),
        )
        .map_err(store_error("cannot read the peers"))?;
    clear_peers(session, &ids).map(drop)
}

/// Returns `false` if others have routes in the table, or read it for so long that nobody should wait.
fn truncate(session: &mut Session) -> Result<bool, StoreError> {
    let collectors: Option<u64> = session
        .conn
        .query_first("SELECT count(*) FROM rutter_collectors")
        .map_err(store_error("cannot count the collectors"))?;
    if collectors != Some(1) {
        return Ok(false);
    }
    session.run("SET lock_wait_timeout = 2", "cannot prepare the session")?;
    let emptied = session.conn.query_drop("TRUNCATE TABLE rutter_routes");
    session.run("SET lock_wait_timeout = 30", "cannot prepare the session")?;
    match emptied {
        Ok(()) => Ok(true),
        Err(mysql_async::Error::Server(_)) => Ok(false),
        Err(why) => Err(store_error("cannot empty the table")(why)),
    }
}

/// Removes the routes of peers in parts, so that no transaction holds a full table. Returns their number.
fn clear_peers(session: &mut Session, ids: &[i32]) -> Result<i64, StoreError> {
    let mut cleared = 0;
    for some in ids.chunks(AT_ONCE) {
        let list = list(some);
        let statement =
            format!("DELETE FROM rutter_routes WHERE peer_id IN ({list}) LIMIT {DELETE_ROWS}");
        let mut removed = DELETE_ROWS;
        while removed == DELETE_ROWS {
            session.run(&statement, "cannot remove the routes of peers")?;
            removed = session.conn.affected_rows();
            cleared += removed as i64;
        }
    }
    Ok(cleared)
}

/// The number of routes removed at once.
const DELETE_ROWS: u64 = 50_000;
