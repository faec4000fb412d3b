//! Finds where partitions end in sorted rows.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::{SortColumn, concat};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::utils::evaluate_partition_ranges;
use datafusion::error::Result;
use datafusion::physical_plan::PhysicalExpr;

use crate::limits::memory::{octets, octets_of};

/// The rows that are not handed on yet. The last partition may continue.
pub(super) struct Partitions {
    keys: Vec<Arc<dyn PhysicalExpr>>,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    rows: usize,
    octets: usize,
    /// The end of each complete partition.
    ends: Vec<usize>,
    /// The keys of the last row.
    last: Vec<ArrayRef>,
    /// The input has ended.
    ended: bool,
}

/// Complete partitions.
pub(super) struct Complete {
    pub batches: Vec<RecordBatch>,
    pub schema: SchemaRef,
    /// The end of each partition.
    pub ends: Vec<usize>,
}

impl Partitions {
    /// No rows yet. Without keys, all rows form one partition.
    pub fn new(keys: Vec<Arc<dyn PhysicalExpr>>, schema: SchemaRef) -> Self {
        Self {
            keys,
            schema,
            batches: Vec::new(),
            rows: 0,
            octets: 0,
            ends: Vec::new(),
            last: Vec::new(),
            ended: false,
        }
    }

    /// The held rows.
    pub fn octets(&self) -> usize {
        self.octets
    }

    /// Adds rows.
    pub fn push(&mut self, batch: RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        if rows == 0 {
            return Ok(());
        }
        let of = |key: &Arc<dyn PhysicalExpr>| key.evaluate(&batch)?.into_array(rows);
        let keys: Vec<ArrayRef> = self.keys.iter().map(of).collect::<Result<_>>()?;
        if self.rows > 0 && !self.goes_on(&keys)? {
            self.ends.push(self.rows);
        }
        let ranges = ranges(rows, keys.iter().cloned())?;
        let complete = &ranges[..ranges.len() - 1];
        let before = self.rows;
        self.ends
            .extend(complete.iter().map(|range| before + range.end));
        self.last = keys.iter().map(|key| key.slice(rows - 1, 1)).collect();
        self.rows += rows;
        self.octets += octets(&batch);
        self.batches.push(batch);
        Ok(())
    }

    /// Returns whether these keys belong to the last partition.
    fn goes_on(&self, keys: &[ArrayRef]) -> Result<bool> {
        let both = self.last.iter().zip(keys);
        let both = both.map(|(last, key)| concat(&[last, &key.slice(0, 1)]));
        let both: Vec<ArrayRef> = both.collect::<std::result::Result<_, _>>()?;
        Ok(ranges(2, both)?.len() == 1)
    }

    /// Marks the last partition as complete.
    pub fn end(&mut self) {
        self.ended = true;
        if self.rows > 0 {
            self.ends.push(self.rows);
        }
    }

    /// Returns the complete partitions, once there are enough rows.
    pub fn take(&mut self) -> Option<Complete> {
        let end = *self.ends.last()?;
        if self.rows < BATCH && !self.ended {
            return None;
        }
        let (complete, rest) = split(std::mem::take(&mut self.batches), end);
        self.rows -= end;
        self.octets = rest.iter().map(octets).sum();
        self.batches = rest;
        Some(Complete {
            batches: complete,
            schema: Arc::clone(&self.schema),
            ends: std::mem::take(&mut self.ends),
        })
    }
}

/// Compares neighbouring values as DataFusion does: NULL equals NULL.
fn ranges(rows: usize, keys: impl IntoIterator<Item = ArrayRef>) -> Result<Vec<Range<usize>>> {
    let columns = keys.into_iter().map(|values| SortColumn {
        values,
        options: None,
    });
    evaluate_partition_ranges(rows, &columns.collect::<Vec<_>>())
}

/// Splits rows.
fn split(batches: Vec<RecordBatch>, rows: usize) -> (Vec<RecordBatch>, Vec<RecordBatch>) {
    let (mut first, mut others) = (Vec::new(), Vec::new());
    let mut left = rows;
    for batch in batches {
        let here = left.min(batch.num_rows());
        left -= here;
        if here == batch.num_rows() {
            first.push(batch);
        } else if here == 0 {
            others.push(batch);
        } else {
            others.push(batch.slice(here, batch.num_rows() - here));
            first.push(batch.slice(0, here));
        }
    }
    (first, others)
}

impl Complete {
    /// Joins the rows column by column, so that only one column exists twice.
    pub fn joined(self) -> Result<RecordBatch> {
        let rows = self.batches.iter().map(RecordBatch::num_rows).sum();
        let columns: Vec<_> = self.columns().collect();
        drop(self.batches);
        let columns = columns.into_iter().map(joined).collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let joined = RecordBatch::try_new_with_options(self.schema, columns, &options);
        Ok(joined?)
    }

    /// The bytes of the largest column that has several pieces.
    pub fn copied(&self) -> usize {
        if self.batches.len() == 1 {
            return 0;
        }
        let octets = |pieces: Vec<ArrayRef>| pieces.iter().map(octets_of).sum();
        self.columns().map(octets).max().unwrap_or(0)
    }

    /// The pieces of each column.
    fn columns(&self) -> impl Iterator<Item = Vec<ArrayRef>> {
        let pieces = |column| {
            let pieces = self.batches.iter().map(move |batch| batch.column(column));
            pieces.cloned().collect()
        };
        (0..self.schema.fields().len()).map(pieces)
    }
}

/// Joins arrays.
pub(super) fn joined(mut pieces: Vec<ArrayRef>) -> Result<ArrayRef> {
    if pieces.len() == 1 {
        return Ok(pieces.remove(0));
    }
    let pieces: Vec<_> = pieces.iter().map(AsRef::as_ref).collect();
    Ok(concat(&pieces)?)
}

/// The rows of a computation, rounded up to whole partitions.
pub(super) const BATCH: usize = 8192;
