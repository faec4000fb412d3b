//! The schema of all files: the columns of [`rutter_events::COLUMNS`], and the encoding of each.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::schema::printer;
use parquet::schema::types::SchemaDescriptor;
use rutter_events::COLUMNS;

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    let fields = COLUMNS.iter().map(|column| {
        let always = matches!(column.name, "run" | "seq" | "time" | "collector" | "kind");
        // Prefixes mostly differ within a batch, so they are plain strings.
        let data_type = match column.name {
            PREFIX => DataType::Utf8,
            _ => data_type(column.kind),
        };
        Field::new(column.name, data_type, !always)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn data_type(kind: &str) -> DataType {
    match kind {
        // Signed: Spark reads an unsigned 64-bit column as decimal(20,0), and all engines have a signed one.
        "u64" => DataType::Int64,
        "u32" => DataType::UInt32,
        "time" => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        _ => text(),
    }
}

/// Strings that often repeat. Lists are strings, too, with items separated by spaces. Equal lists are then
/// stored once; a list column would store every item of every row.
fn text() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

pub(crate) const PREFIX: &str = "prefix";

/// The Parquet schema.
pub(crate) fn descriptor() -> Result<SchemaDescriptor> {
    ArrowSchemaConverter::new()
        .with_coerce_types(false)
        .convert(&schema())
}

/// The metadata of a file, with the Arrow schema, so that Arrow readers get dictionaries.
pub(crate) fn properties() -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("rutter ", env!("CARGO_PKG_VERSION")).into())
        .build();
    add_encoded_arrow_schema_to_metadata(&schema(), &mut properties);
    properties
}

/// The encoding of a column.
fn encoding(name: &str) -> &'static str {
    match name {
        "run" | "seq" | "time" => "DELTA_BINARY_PACKED",
        PREFIX => "dictionary in order",
        _ => "dictionary",
    }
}

/// The Parquet schema as text, with the encoding of each column: the golden file of the schema.
pub fn describe() -> String {
    let mut out = Vec::new();
    if let Ok(parquet) = descriptor() {
        printer::print_schema(&mut out, parquet.root_schema());
    }
    let mut text = String::from_utf8_lossy(&out).into_owned();
    text.push('\n');
    for column in COLUMNS {
        let encoding = encoding(column.name);
        let _ = writeln!(text, "{}: {encoding}; {}", column.name, column.meaning);
    }
    text
}
