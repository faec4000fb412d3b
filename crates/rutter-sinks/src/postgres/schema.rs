//! The tables, made and brought up to date by us.

use postgres::{Client, Transaction};

use super::fault;
use crate::store::Fault;

/// Numbered from 1; what was released is never changed, only followed by another.
const MIGRATIONS: &[&str] = &[include_str!("001.sql")];

/// Applies the migrations that the database has not seen, each in a transaction of its own.
pub(super) fn migrate(client: &mut Client) -> Result<(), Fault> {
    let mut transaction = client.transaction().map_err(fault("cannot begin"))?;
    // Collectors that start together wait for each other here.
    transaction
        .batch_execute(
            "SELECT pg_advisory_xact_lock(hashtextextended('rutter schema', 0));
             CREATE TABLE IF NOT EXISTS rutter_schema (
                 version integer PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now())",
        )
        .map_err(fault("cannot make the table rutter_schema"))?;
    let row = transaction
        .query_one("SELECT coalesce(max(version), 0) FROM rutter_schema", &[])
        .map_err(fault("cannot read the table rutter_schema"))?;
    let version: i32 = row.get(0);
    if version as usize > MIGRATIONS.len() {
        return Err(Fault(format!(
            "the schema is of version {version}, this program knows up to {}: use a newer Rutter",
            MIGRATIONS.len()
        )));
    }
    for (number, migration) in (1_i32..).zip(MIGRATIONS).skip(version as usize) {
        let what = format!("migration {number} failed");
        transaction.batch_execute(migration).map_err(fault(&what))?;
        transaction
            .execute(
                "INSERT INTO rutter_schema (version) VALUES ($1)",
                &[&number],
            )
            .map_err(fault(&what))?;
    }
    if version > 0 {
        mend(&mut transaction)?;
    }
    transaction
        .commit()
        .map_err(fault("cannot commit the schema"))
}

/// What somebody has dropped.
const MISSING: &str = "SELECT name FROM unnest(ARRAY['rutter_collectors', 'rutter_peers', 'rutter_routes', 'rutter_events',
    'rutter_current', 'rutter_history']) AS name WHERE to_regclass(name) IS NULL";

/// Numbers that rows of the past have are not given to others.
const NUMBERS: &str =
    "SELECT setval(pg_get_serial_sequence('rutter_collectors', 'collector_id'), 1 + greatest(
    (SELECT coalesce(max(collector_id), 0) FROM rutter_collectors),
    (SELECT coalesce(max(collector_id), 0) FROM rutter_events)), false);
SELECT setval(pg_get_serial_sequence('rutter_peers', 'peer_id'), 1 + greatest(
    (SELECT coalesce(max(peer_id), 0) FROM rutter_peers),
    (SELECT coalesce(max(peer_id), 0) FROM rutter_routes),
    (SELECT coalesce(max(peer_id), 0) FROM rutter_events)), false)";

const FORGET: &str = "UPDATE rutter_collectors SET run = NULL, next_seq = NULL";

/// Makes tables and views anew that somebody has dropped. Where a table was, no position holds any more: every
/// collector tells of a gap and loads its routes.
fn mend(transaction: &mut Transaction<'_>) -> Result<(), Fault> {
    let what = fault("cannot look for the tables");
    let rows = transaction.query(MISSING, &[]).map_err(what)?;
    let missing: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    tracing::warn!(
        ?missing,
        "tables of the database were gone; they are made anew"
    );
    let statements = MIGRATIONS.iter().flat_map(|text| text.split(';'));
    for statement in statements {
        let command = statement.lines().find(|line| line.starts_with("CREATE "));
        let words: Vec<&str> = command.unwrap_or_default().split_whitespace().collect();
        let object = match words.get(1) {
            // CREATE INDEX … ON table
            Some(&"INDEX") => words.get(4),
            _ => words.get(2),
        };
        if object.is_some_and(|name| missing.iter().any(|gone| gone == name)) {
            let made = transaction.batch_execute(statement);
            made.map_err(fault("cannot make a table anew"))?;
        }
    }
    transaction
        .batch_execute(&format!("{NUMBERS}; {FORGET}"))
        .map_err(fault("cannot begin anew"))
}
