//! The indexes of the current routes: taken away from an empty table and built anew when it is full, which takes a
//! fraction of the time of filling them row by row.
//!
//! Should anybody else load meanwhile, or a process die in between, the end of the next load finds what is missing.

use super::connection::Connection;
use crate::store::StoreError;

const DROP: &str = "ALTER TABLE rutter_routes DROP CONSTRAINT IF EXISTS rutter_routes_pkey;
DROP INDEX IF EXISTS rutter_routes_pkey, rutter_routes_prefix";

/// An index of its own first: readers go on meanwhile.
const KEY: &str = "CREATE UNIQUE INDEX rutter_routes_pkey ON rutter_routes (peer_id, prefix, path_id);
ALTER TABLE rutter_routes ADD CONSTRAINT rutter_routes_pkey PRIMARY KEY USING INDEX rutter_routes_pkey";

const PREFIX: &str = "CREATE INDEX rutter_routes_prefix ON rutter_routes (prefix)";

/// Of the table that was just emptied, in the same transaction.
pub(super) fn drop(connection: &Connection) -> Result<(), StoreError> {
    connection.run(DROP, "cannot drop the indexes")
}

/// Those that are missing.
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
