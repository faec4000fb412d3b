//! The tables, made and brought up to date by us.

use postgres::Client;

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
    transaction
        .commit()
        .map_err(fault("cannot commit the schema"))
}
