//! Encodes Arrow arrays as values of the protocol.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array as _, ArrayRef, BinaryArray, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::error::Result;
use pgwire::api::Type;
use pgwire::api::portal::Format;
use pgwire::api::results::{DataRowEncoder, FieldFormat, FieldInfo};
use pgwire::error::PgWireResult;
use pgwire::messages::data::DataRow;
use pgwire::types::format::FormatOptions;

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

/// A column in a form that can be sent.
enum Values {
    Octets(BinaryArray),
    Text(StringArray),
}

impl Values {
    fn of(array: &ArrayRef, format: FieldFormat) -> Result<Self> {
        Ok(match format {
            FieldFormat::Binary => Self::Octets(values::octets(array)?),
            FieldFormat::Text => Self::Text(values::texts(array)?),
        })
    }

    /// The values have their final form, so that the encoder passes them on as they are.
    fn encode(&self, row: usize, out: &mut DataRowEncoder) -> PgWireResult<()> {
        match self {
            Self::Octets(values) => {
                let octets = values.is_valid(row).then(|| values.value(row));
                let (kind, format) = (&Type::BYTEA, FieldFormat::Binary);
                out.encode_field_with_type_and_format(&octets, kind, format, &OPTIONS)
            }
            Self::Text(values) => {
                let text = values.is_valid(row).then(|| values.value(row));
                let (kind, format) = (&Type::TEXT, FieldFormat::Text);
                out.encode_field_with_type_and_format(&text, kind, format, &OPTIONS)
            }
        }
    }
}

/// Strings need no options, and creating options takes longer than writing a string.
static OPTIONS: LazyLock<FormatOptions> = LazyLock::new(FormatOptions::default);

/// Encodes the rows of a batch in the formats that the client requested.
pub fn rows(batch: &RecordBatch, fields: &Arc<Vec<FieldInfo>>) -> PgWireResult<Vec<DataRow>> {
    let columns = batch.columns().iter().zip(fields.iter());
    let columns: Result<Vec<Values>> = columns
        .map(|(column, field)| Values::of(column, field.format()))
        .collect();
    let columns = columns.map_err(|failed| error(&failed.into()))?;
    let mut encoder = DataRowEncoder::new(Arc::clone(fields));
    let mut rows = Vec::with_capacity(batch.num_rows());
    for row in 0..batch.num_rows() {
        for column in &columns {
            column.encode(row, &mut encoder)?;
        }
        rows.push(encoder.take_row());
    }
    Ok(rows)
}
