//! Encodes Arrow arrays as values of the protocol.

use std::sync::Arc;

use datafusion::arrow::array::{Array as _, BinaryArray, RecordBatch};
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::error::Result;
use pgwire::api::portal::Format;
use pgwire::api::results::{FieldFormat, FieldInfo};
use pgwire::error::PgWireResult;
use pgwire::messages::data::DataRow;
use tokio_util::bytes::{BufMut as _, BytesMut};

use super::row_stream::error;
use crate::dialect::shown;
use crate::values::{self, kind};

/// The description of an answer's columns.
pub fn fields(schema: &Schema, format: &Format) -> Vec<FieldInfo> {
    let field = |(at, field): (usize, &Arc<Field>)| {
        let name = shown(field.name()).to_owned();
        FieldInfo::new(
            name,
            None,
            None,
            kind(field.data_type()),
            format.format_for(at),
        )
    };
    schema.fields().iter().enumerate().map(field).collect()
}

/// Encodes the rows of a batch in the formats that the client requested.
pub fn rows(batch: &RecordBatch, fields: &[FieldInfo]) -> PgWireResult<Vec<DataRow>> {
    let columns = batch.columns().iter().zip(fields);
    let encoded = columns.map(|(column, field)| match field.format() {
        FieldFormat::Binary => values::octets(column),
        FieldFormat::Text => Ok(BinaryArray::from(values::texts(column)?)),
    });
    let encoded: Result<Vec<BinaryArray>> = encoded.collect();
    let encoded = encoded.map_err(|failed| error(&failed.into()))?;
    let count = i16::try_from(fields.len()).unwrap_or(i16::MAX);
    let row = |row: usize| {
        let mut data = BytesMut::new();
        for column in &encoded {
            match column.is_valid(row) {
                true => {
                    let value = column.value(row);
                    data.put_i32(value.len() as i32);
                    data.put_slice(value);
                }
                false => data.put_i32(-1),
            }
        }
        DataRow::new(data, count)
    };
    Ok((0..batch.num_rows()).map(row).collect())
}
