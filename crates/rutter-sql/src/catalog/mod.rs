//! The system catalogues that drivers and tools read, and the words in which they ask.
//!
//! ```text
//! statement ─► adapt ─► the engine's own words ─► columns.txt (what PostgreSQL has) with rows (what is here)
//! ```
//! Statements are changed after they are parsed: what is in quotes stays as it is.

mod adapt;
mod arithmetic;
mod casts;
mod columns;
mod constants;
mod empty;
mod fractions;
mod frames;
mod gathered;
mod lists;
mod names;
mod networks;
mod numbers;
mod offered;
mod offsets;
mod ordered;
mod parts;
mod quantified;
mod refused;
mod relations;
mod rows;
mod tables;

use std::sync::Arc;

use datafusion::catalog::{MemorySchemaProvider, SchemaProvider as _};
use datafusion::error::Result;
use datafusion::prelude::SessionContext;

pub use adapt::adapt;
pub use names::shown;
pub use numbers::{of_relation, of_schema, of_type, relation_of, schema_of};
pub use offered::{argument, numbered};
pub use tables::spelled;

use columns::RELATIONS;

/// The database, as clients name it when they connect.
pub const DATABASE: &str = "rutter";
/// The schema of all tables.
pub const SCHEMA: &str = "public";

/// Registers `pg_catalog` and `information_schema` for the tables that are registered by now.
pub fn register(context: &SessionContext) -> Result<()> {
    let Some(catalog) = context.catalog(DATABASE) else {
        return Ok(());
    };
    let Some(public) = catalog.schema(SCHEMA) else {
        return Ok(());
    };
    let mut tables = Vec::new();
    let mut names = public.table_names();
    names.sort();
    for name in names {
        // The tables are in memory: nothing is waited for.
        let found = futures::executor::block_on(public.table(&name))?;
        tables.extend(found.map(|table| (name, table.schema())));
    }
    let state = context.state_ref();
    let mut state = state.write();
    // The engine's own has other columns than PostgreSQL's.
    state.config_mut().options_mut().catalog.information_schema = false;
    drop(state);
    for schema in ["pg_catalog", "information_schema"] {
        let system = MemorySchemaProvider::new();
        for relation in RELATIONS.iter().filter(|known| known.schema == schema) {
            let table = relation.table(&relations::rows(relation.name, &tables))?;
            system.register_table(relation.name.to_owned(), Arc::new(table))?;
        }
        catalog.register_schema(schema, Arc::new(system))?;
    }
    Ok(())
}
