//! Small tables whose rows are made for each query, of what there is at its beginning.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::datasource::MemTable;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;

/// What tells the rows of a small table.
pub trait Rows: Send + Sync + 'static {
    /// Its columns.
    fn schema(&self) -> &SchemaRef;

    /// The rows of this moment.
    fn rows(&self) -> Result<RecordBatch>;
}

/// A table of such rows.
pub struct Current<R>(pub R);

impl<R> fmt::Debug for Current<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::any::type_name::<R>())
    }
}

#[async_trait]
impl<R: Rows> TableProvider for Current<R> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.0.schema())
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let rows = MemTable::try_new(self.schema(), vec![vec![self.0.rows()?]])?;
        rows.scan(state, projection, filters, limit).await
    }
}
