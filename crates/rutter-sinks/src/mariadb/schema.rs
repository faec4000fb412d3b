//! The tables, made and brought up to date by us.

use mysql::Conn;
use mysql::prelude::Queryable;

use super::fault;
use crate::store::Fault;

/// Numbered from 1; what was released is never changed, only followed by another. A server cannot take back changes of
/// tables, so each statement does no harm when it is done again.
const MIGRATIONS: &[&str] = &[include_str!("001.sql")];

/// Applies the migrations that the database has not seen. The caller holds [`super::SCHEMA_LOCK`].
pub(super) fn migrate(conn: &mut Conn) -> Result<(), Fault> {
    conn.query_drop(
        "CREATE TABLE IF NOT EXISTS rutter_schema
             (version int NOT NULL PRIMARY KEY, applied datetime NOT NULL DEFAULT utc_timestamp())",
    )
    .map_err(fault("cannot make the table rutter_schema"))?;
    let version: Option<usize> = conn
        .query_first("SELECT coalesce(max(version), 0) FROM rutter_schema")
        .map_err(fault("cannot read the table rutter_schema"))?;
    let version = version.unwrap_or(0);
    if version > MIGRATIONS.len() {
        return Err(Fault(format!(
            "the schema is of version {version}, this program knows up to {}: use a newer Rutter",
            MIGRATIONS.len()
        )));
    }
    for (number, migration) in (1..).zip(MIGRATIONS).skip(version) {
        let what = format!("migration {number} failed");
        for statement in migration.split(';').filter(|text| !text.trim().is_empty()) {
            conn.query_drop(statement).map_err(fault(&what))?;
        }
        conn.exec_drop("INSERT INTO rutter_schema (version) VALUES (?)", (number,))
            .map_err(fault(&what))?;
    }
    Ok(())
}
