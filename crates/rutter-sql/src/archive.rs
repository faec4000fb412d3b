//! Tables of an archive.

use std::path::Path;

use datafusion::arrow::datatypes::{DataType, Schema};
use rutter_pgfront::{Database, QueryError};

/// Adds a part of an archive as a table. Its folders `day=2026-11-20/hour=12` become the columns `day` and `hour`.
///
/// # Errors
/// If the folder cannot be read.
pub async fn add_archive(
    database: &Database,
    name: &str,
    folder: &Path,
    schema: &Schema,
) -> Result<(), QueryError> {
    let partitions = vec![
        ("day".to_owned(), DataType::Utf8),
        ("hour".to_owned(), DataType::Int16),
    ];
    let added = database.add_partitioned(name, folder, schema, partitions);
    added.await
}
