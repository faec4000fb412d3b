//! Tables that are files, or were read from files.

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::datasource::MemTable;
use datafusion::prelude::ParquetReadOptions;

use crate::database::Database;
use crate::error::QueryError;

impl Database {
    /// A Parquet file, or all Parquet files of a folder, as a table.
    ///
    /// # Errors
    /// Where it cannot be read, or is none.
    pub async fn add_parquet(&self, name: &str, path: &Path) -> Result<(), QueryError> {
        let options = ParquetReadOptions::default();
        let path = path.to_string_lossy();
        Ok(self.context.register_parquet(name, path, options).await?)
    }

    /// The Parquet files below a folder as a table. The names of its folders (`day=2026-11-20/hour=12`) become columns.
    ///
    /// # Errors
    /// Where the folder cannot be read.
    pub async fn add_partitioned(
        &self,
        name: &str,
        folder: &Path,
        schema: &Schema,
        partitions: Vec<(String, DataType)>,
    ) -> Result<(), QueryError> {
        let options = ParquetReadOptions::default()
            .schema(schema)
            .table_partition_cols(partitions);
        // A path that ends so is a folder.
        let path = format!("{}/", folder.to_string_lossy().trim_end_matches('/'));
        Ok(self.context.register_parquet(name, path, options).await?)
    }

    /// Rows as a table.
    ///
    /// # Errors
    /// Where they are not of the schema.
    pub fn add_rows(
        &self,
        name: &str,
        schema: SchemaRef,
        rows: Vec<RecordBatch>,
    ) -> Result<(), QueryError> {
        let parts = self.context.copied_config().target_partitions().max(1);
        let mut partitions = vec![Vec::new(); parts];
        for (at, batch) in rows.into_iter().enumerate() {
            partitions[at % parts].push(batch);
        }
        let table = Arc::new(MemTable::try_new(schema, partitions)?);
        self.context.register_table(name, table)?;
        Ok(())
    }

    /// Replaces a table by a view of a query over it.
    ///
    /// # Errors
    /// An error of the query.
    pub async fn replace(&self, name: &str, query: &str) -> Result<(), QueryError> {
        let view = self.context.sql(query).await?.into_view();
        self.context.deregister_table(name)?;
        self.context.register_table(name, view)?;
        Ok(())
    }
}
