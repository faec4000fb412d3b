//! Creates the tables and brings them up to date.

use super::connection::Connection;
use crate::store::StoreError;

/// Numbered from 1. A released migration never changes; another one follows it.
const MIGRATIONS: &[&str] = &[
    include_str!("001.sql"),
    include_str!("002.sql"),
    include_str!("003.sql"),
];

/// Restricts the search path to the schema that has our tables or will get them. Earlier schemas in the path
/// may have tables of the same names that are not ours.
pub(super) const FIX_SEARCH_PATH: &str = "SELECT set_config('search_path', quote_ident(coalesce((
    SELECT s.name FROM unnest(current_schemas(false)) WITH ORDINALITY AS s (name, at)
    JOIN pg_namespace n ON n.nspname = s.name
    JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = 'rutter_schema'
    ORDER BY s.at LIMIT 1), current_schema())), false)
WHERE current_schema() IS NOT NULL";

/// Applies the migrations that the database lacks, in one transaction.
pub(super) fn migrate(connection: &Connection) -> Result<(), StoreError> {
    connection.begin()?;
    // Collectors that start together wait for each other here.
    connection.run(
        "SELECT pg_advisory_xact_lock(hashtextextended('rutter schema', 0));
         CREATE TABLE IF NOT EXISTS rutter_schema (
             version integer PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now())",
        "cannot create the table rutter_schema",
    )?;
    let newest = "SELECT coalesce(max(version), 0) FROM rutter_schema";
    let row = connection.one(newest, &[], "cannot read the table rutter_schema")?;
    let version: i32 = row.get(0);
    if version as usize > MIGRATIONS.len() {
        return Err(StoreError(format!(
            "the schema has version {version}; this program supports versions up to {}: use a newer Rutter",
            MIGRATIONS.len()
        )));
    }
    for (number, migration) in (1_i32..).zip(MIGRATIONS).skip(version as usize) {
        let what = format!("migration {number} failed");
        connection.run(migration, &what)?;
        let done = "INSERT INTO rutter_schema (version) VALUES ($1)";
        connection.execute(done, &[&number], &what)?;
    }
    if version > 0 {
        mend(connection)?;
    }
    connection.run("COMMIT", "cannot commit the schema")
}

/// The tables and views that somebody has dropped.
const MISSING: &str = "SELECT name FROM unnest(ARRAY['rutter_collectors', 'rutter_peers', 'rutter_routes', 'rutter_events',
    'rutter_current', 'rutter_history']) AS name WHERE to_regclass(name) IS NULL";

/// Sets the next free ids. Ids in rows of the past are never assigned again.
const NUMBERS: &str =
    "SELECT setval(pg_get_serial_sequence('rutter_collectors', 'collector_id'), 1 + greatest(
    (SELECT coalesce(max(collector_id), 0) FROM rutter_collectors),
    (SELECT coalesce(max(collector_id), 0) FROM rutter_events)), false);
SELECT setval(pg_get_serial_sequence('rutter_peers', 'peer_id'), 1 + greatest(
    (SELECT coalesce(max(peer_id), 0) FROM rutter_peers),
    (SELECT coalesce(max(peer_id), 0) FROM rutter_routes),
    (SELECT coalesce(max(peer_id), 0) FROM rutter_events)), false)";

const FORGET: &str = "UPDATE rutter_collectors SET run = NULL, next_seq = NULL";

/// Creates dropped tables and views again. If a table was dropped, no position is valid: every collector
/// records a gap and loads its routes.
fn mend(connection: &Connection) -> Result<(), StoreError> {
    let rows = connection.all(MISSING, &[], "cannot look for the tables")?;
    let missing: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    tracing::warn!(
        ?missing,
        "tables of the database were missing; they are created again"
    );
    let statements = MIGRATIONS.iter().flat_map(|text| text.split(';'));
    for statement in statements {
        let changes = |line: &&str| {
            ["CREATE ", "ALTER "]
                .iter()
                .any(|verb| line.starts_with(verb))
        };
        let command = statement.lines().find(changes);
        let words: Vec<&str> = command.unwrap_or_default().split_whitespace().collect();
        let object = match words.get(1) {
            // CREATE INDEX … ON table
            Some(&"INDEX") => words.get(4),
            _ => words.get(2),
        };
        if object.is_some_and(|name| missing.iter().any(|gone| gone == name)) {
            connection.run(statement, "cannot create a table again")?;
        }
    }
    connection.run(
        &format!("{NUMBERS}; {FORGET}"),
        "cannot reset the positions of the collectors",
    )
}
