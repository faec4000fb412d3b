//! The current routes: replaced and removed by key, whatever was written before.

use mysql::prelude::Queryable;

use super::rows::Rows;
use super::{Into, ROUTES, SCHEMA_LOCK, Session, fault, lock, unlock};
use crate::batch::Batch;
use crate::store::Fault;

/// Keys of routes that are gone; lives as long as the session.
pub(super) const STAGE: &str = "CREATE TEMPORARY TABLE rutter_stage (
    peer_id int NOT NULL, network varbinary(16) NOT NULL, length tinyint unsigned NOT NULL,
    path_id int unsigned NOT NULL) ENGINE = InnoDB";

const STAGED: Into = ("INTO TABLE rutter_stage", "");

const REMOVE_STAGED: &str = "DELETE r FROM rutter_stage s STRAIGHT_JOIN rutter_routes r
    ON r.peer_id = s.peer_id AND r.network = s.network AND r.length = s.length AND r.path_id = s.path_id";

/// By how many the current routes have grown.
pub(super) fn apply(session: &mut Session, batch: &Batch) -> Result<i64, Fault> {
    for change in &batch.peer_changes {
        let state = if change.up { "up" } else { "down" };
        let since_s = change.time_us as f64 / 1e6;
        let id = session.peers.of(&change.peer.key)?;
        session
            .conn
            .exec_drop(
                "UPDATE rutter_peers SET state = ?, since = from_unixtime(?), detail = ? WHERE peer_id = ?",
                (state, since_s, &*change.detail, id),
            )
            .map_err(fault("cannot store the state of a peer"))?;
    }
    let mut cleared = 0;
    for (peer, families) in &batch.cleared {
        let which = match families {
            [true, true] => "",
            [true, false] => " AND octet_length(network) = 4",
            [false, _] => " AND octet_length(network) = 16",
        };
        let id = session.peers.of(&peer.key)?;
        let statement = format!("DELETE FROM rutter_routes WHERE peer_id = {id}{which}");
        session.run(&statement, "cannot remove the routes of a peer")?;
        cleared += session.conn.affected_rows() as i64;
    }
    Ok(change_routes(session, batch)? - cleared)
}

fn change_routes(session: &mut Session, batch: &Batch) -> Result<i64, Fault> {
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
        out.number(session.peers.of(&batch.peers[*peer].key)?);
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

/// Removes what a load replaces; the transaction that the caller began ends here. How many routes some peers had.
pub(super) fn begin_load(
    session: &mut Session,
    all: bool,
    peers: &[(bool, i32)],
) -> Result<i64, Fault> {
    let collector = session.collector;
    if all {
        let down =
            format!("UPDATE rutter_peers SET state = 'down' WHERE collector_id = {collector}");
        session.run(&down, "cannot store the state of the peers")?;
        let loading = format!(
            "UPDATE rutter_collectors SET state = 'loading' WHERE collector_id = {collector}"
        );
        session.run(&loading, "cannot store the state of the collector")?;
    }
    for (up, id) in peers {
        let state = if *up { "loading" } else { "down" };
        let statement = format!("UPDATE rutter_peers SET state = '{state}' WHERE peer_id = {id}");
        session.run(&statement, "cannot store the state of a peer")?;
    }
    session.run("COMMIT", "cannot commit")?;
    if all {
        clear_all(session)?;
        return Ok(0);
    }
    let cleared = peers.iter().map(|(_, id)| clear_peer(session, *id));
    cleared.sum()
}

/// Nobody registers while we look whether the table is ours alone: then it can be emptied at once.
fn clear_all(session: &mut Session) -> Result<(), Fault> {
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
        .map_err(fault("cannot read the peers"))?;
    ids.into_iter()
        .try_for_each(|id| clear_peer(session, id).map(drop))
}

/// `false` where others have routes here, or read them for so long that nobody should wait.
fn truncate(session: &mut Session) -> Result<bool, Fault> {
    let collectors: Option<u64> = session
        .conn
        .query_first("SELECT count(*) FROM rutter_collectors")
        .map_err(fault("cannot count the collectors"))?;
    if collectors != Some(1) {
        return Ok(false);
    }
    session.run("SET lock_wait_timeout = 2", "cannot prepare the session")?;
    let emptied = session.conn.query_drop("TRUNCATE TABLE rutter_routes");
    session.run("SET lock_wait_timeout = 30", "cannot prepare the session")?;
    match emptied {
        Ok(()) => Ok(true),
        Err(mysql::Error::MySqlError(_)) => Ok(false),
        Err(why) => Err(fault("cannot empty the table")(why)),
    }
}

/// In pieces, so that no transaction holds all of a full table. How many there were.
fn clear_peer(session: &mut Session, id: i32) -> Result<i64, Fault> {
    let mut cleared = 0;
    loop {
        let statement = format!("DELETE FROM rutter_routes WHERE peer_id = {id} LIMIT 50000");
        session.run(&statement, "cannot remove the routes of a peer")?;
        match session.conn.affected_rows() {
            0 => return Ok(cleared),
            some => cleared += some as i64,
        }
    }
}
