//! Creates the tables and brings them up to date.

use super::connection::Connection;
use super::store_error;
use crate::store::StoreError;

/// Numbered from 1. A released migration never changes; another one follows it. The server cannot undo changes
/// of tables, so each statement must be safe to repeat.
const MIGRATIONS: &[&str] = &[
    include_str!("001.sql"),
    include_str!("002.sql"),
    include_str!("003.sql"),
];

/// Applies the migrations that the database lacks. The caller holds [`super::SCHEMA_LOCK`].
pub(super) fn migrate(conn: &mut Connection) -> Result<(), StoreError> {
    conn.query_drop(
        "CREATE TABLE IF NOT EXISTS rutter_schema
             (version int NOT NULL PRIMARY KEY, applied datetime NOT NULL DEFAULT (utc_timestamp()))",
    )
    .map_err(store_error("cannot create the table rutter_schema"))?;
    let version: Option<usize> = conn
        .query_first("SELECT coalesce(max(version), 0) FROM rutter_schema")
        .map_err(store_error("cannot read the table rutter_schema"))?;
    let version = version.unwrap_or(0);
    if version > MIGRATIONS.len() {
        return Err(StoreError(format!(
            "the schema has version {version}; this program supports versions up to {}: use a newer Rutter",
            MIGRATIONS.len()
        )));
    }
    if version > 0 {
        mend(conn, version)?;
    }
    for (number, migration) in (1..).zip(MIGRATIONS).skip(version) {
        let what = format!("migration {number} failed");
        run(conn, migration, &what)?;
        conn.exec_drop("INSERT INTO rutter_schema (version) VALUES (?)", (number,))
            .map_err(store_error(&what))?;
    }
    Ok(())
}

fn run(conn: &mut Connection, migration: &str, what: &str) -> Result<(), StoreError> {
    for statement in migration.split(';').filter(|text| !text.trim().is_empty()) {
        conn.query_drop(statement).map_err(store_error(what))?;
    }
    Ok(())
}

/// The existing tables and views with our prefix.
const EXISTING_TABLES: &str = "SELECT table_name FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_name LIKE 'rutter\\_%'";
const TABLE_NAMES: [&str; 6] = [
    "rutter_collectors",
    "rutter_peers",
    "rutter_routes",
    "rutter_events",
    "rutter_current",
    "rutter_history",
];

/// The next free ids. Ids in rows of the past are never assigned again.
const NUMBERS: [(&str, &str); 2] = [
    (
        "rutter_collectors",
        "SELECT 1 + greatest((SELECT coalesce(max(collector_id), 0) FROM rutter_collectors),
             (SELECT coalesce(max(collector_id), 0) FROM rutter_events))",
    ),
    (
        "rutter_peers",
        "SELECT 1 + greatest((SELECT coalesce(max(peer_id), 0) FROM rutter_peers),
             (SELECT coalesce(max(peer_id), 0) FROM rutter_routes),
             (SELECT coalesce(max(peer_id), 0) FROM rutter_events))",
    ),
];

/// Creates dropped tables and views again. If a table was dropped, no position is valid: every collector
/// records a gap and loads its routes.
fn mend(conn: &mut Connection, version: usize) -> Result<(), StoreError> {
    let there: Vec<String> = conn
        .query(EXISTING_TABLES)
        .map_err(store_error("cannot look for the tables"))?;
    let gone = |name: &&&str| !there.iter().any(|known| known == *name);
    let missing: Vec<&&str> = TABLE_NAMES.iter().filter(gone).collect();
    if missing.is_empty() {
        return Ok(());
    }
    tracing::warn!(
        ?missing,
        "tables of the database were missing; they are created again"
    );
    // First of all, so that a crash in between leaves no position that looks valid.
    if there.iter().any(|name| name == TABLE_NAMES[0]) {
        forget(conn)?;
    }
    for migration in &MIGRATIONS[..version] {
        run(conn, migration, "cannot create a table again")?;
    }
    forget(conn)?;
    for (table, next) in NUMBERS {
        let next: Option<u64> = conn
            .query_first(next)
            .map_err(store_error("cannot reset the positions of the collectors"))?;
        let next = next.unwrap_or(1);
        conn.query_drop(format!("ALTER TABLE {table} AUTO_INCREMENT = {next}"))
            .map_err(store_error("cannot reset the positions of the collectors"))?;
    }
    Ok(())
}

fn forget(conn: &mut Connection) -> Result<(), StoreError> {
    conn.query_drop("UPDATE rutter_collectors SET run = NULL, next_seq = NULL")
        .map_err(store_error("cannot reset the positions of the collectors"))
}
