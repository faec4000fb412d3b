//! The indexes of the current routes. They are dropped from an empty table and built when it is full. That
//! takes a fraction of the time of filling them row by row.
//!
//! Another collector may load at the same time, or a process may die in between. So the end of every load
//! builds the missing indexes.

use super::connection::Connection;
use crate::store::StoreError;

const DROP: &str = "ALTER TABLE rutter_routes DROP CONSTRAINT IF EXISTS rutter_routes_pkey;
DROP INDEX IF EXISTS rutter_routes_pkey, rutter_routes_prefix";

/// A separate index first, so that building it does not block readers.
const KEY: &str = "CREATE UNIQUE INDEX rutter_routes_pkey ON rutter_routes (peer_id, prefix, path_id);
ALTER TABLE rutter_routes ADD CONSTRAINT rutter_routes_pkey PRIMARY KEY USING INDEX rutter_routes_pkey";

const PREFIX: &str = "CREATE INDEX rutter_routes_prefix ON rutter_routes (prefix)";

/// Drops the indexes of the table that was truncated in the same transaction.
pub(super) fn drop(connection: &Connection) -> Result<(), StoreError> {
    connection.run(DROP, "cannot drop the indexes")
}

/// Builds the missing indexes.
pub(super) fn build(connection: &Connection) -> Result<(), StoreError> {
    let missing = connection.one(
        "SELECT to_regclass('rutter_routes_pkey') IS NULL, to_regclass('rutter_routes_prefix') IS NULL",
        &[],
        "cannot look for the indexes",
    )?;
    let build = |sql: &str| connection.run(sql, "cannot build the indexes");
    if missing.get(0) || missing.get(1) {
        build("SET LOCAL maintenance_work_mem = '256MB'")?;
    }
    if missing.get(0) {
        build(KEY)?;
    }
    if missing.get(1) {
        build(PREFIX)?;
    }
    Ok(())
}
