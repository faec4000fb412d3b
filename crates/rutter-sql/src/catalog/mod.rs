//! The system catalogues that drivers and tools read, as far as a reader of a few tables needs them.

mod idioms;
mod relations;

use std::sync::Arc;

use datafusion::catalog::{MemorySchemaProvider, SchemaProvider as _};
use datafusion::error::Result;
use datafusion::prelude::SessionContext;

pub use idioms::{always_empty, translate};

/// The database, as clients name it when they connect.
pub const DATABASE: &str = "rutter";
/// The schema of all tables.
pub const SCHEMA: &str = "public";

/// Registers `pg_catalog` for the tables that are registered by now.
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
    let system = MemorySchemaProvider::new();
    for (name, relation) in relations::all(&tables)? {
        system.register_table(name.to_owned(), Arc::new(relation))?;
    }
    catalog.register_schema("pg_catalog", Arc::new(system))?;
    Ok(())
}
