//! The system catalogues that drivers and tools read: `pg_catalog` and `information_schema`.
//!
//! `columns.txt` lists the columns of PostgreSQL 16; `relations.rs` makes the rows.

mod columns;
mod oids;
mod relations;

use std::sync::Arc;

use datafusion::catalog::{MemorySchemaProvider, SchemaProvider as _};
use datafusion::error::Result;
use datafusion::prelude::SessionContext;

pub use oids::{of_relation, of_schema, of_type, relation_of, schema_of};
pub use relations::is_empty;

use crate::application::Application;
use columns::RELATIONS;

/// The schema of all tables.
pub const SCHEMA: &str = "public";

/// Registers `pg_catalog` and `information_schema` for the tables that are registered by now.
pub fn register(context: &SessionContext, application: &Application) -> Result<()> {
    let Some(catalog) = context.catalog(application.database) else {
        return Ok(());
    };
    let Some(public) = catalog.schema(SCHEMA) else {
        return Ok(());
    };
    let mut tables = Vec::new();
    let mut names = public.table_names();
    names.sort();
    for name in names {
        // The tables are in memory: this does not block.
        let found = futures::executor::block_on(public.table(&name))?;
        tables.extend(found.map(|table| (name, table.schema())));
    }
    let state = context.state_ref();
    let mut state = state.write();
    // DataFusion's information_schema has other columns than PostgreSQL's.
    state.config_mut().options_mut().catalog.information_schema = false;
    drop(state);
    for schema in ["pg_catalog", "information_schema"] {
        let system = MemorySchemaProvider::new();
        for relation in RELATIONS.iter().filter(|known| known.schema == schema) {
            let table = relation.table(&relations::rows(relation.name, &tables, application))?;
            system.register_table(relation.name.to_owned(), Arc::new(table))?;
        }
        catalog.register_schema(schema, Arc::new(system))?;
    }
    Ok(())
}
