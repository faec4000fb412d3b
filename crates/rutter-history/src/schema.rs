//! The schema of both kinds of files: the columns of [`rutter_events::COLUMNS`], and how each is encoded.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use parquet::arrow::ArrowSchemaConverter;
use parquet::basic::{Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::printer;
use parquet::schema::types::ColumnPath;
use rutter_events::COLUMNS;

use crate::Compression;

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    let fields = COLUMNS.iter().map(|column| {
        let always = matches!(column.name, "run" | "seq" | "time" | "collector" | "kind");
        // Prefixes are mostly different: keys for them would be more than the texts.
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
        "u64" => DataType::UInt64,
        "u32" => DataType::UInt32,
        "time" => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        _ => text(),
    }
}

/// A text, many times the same. Lists are texts, too, their items separated by a space: equal lists are stored once,
/// where a list would be stored item by item for every row.
fn text() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// Prefixes are nearly all different within a file: they are stored as what differs from the one before.
pub(crate) const PREFIX: &str = "prefix";

/// How the columns are stored.
pub(crate) fn properties(compression: Compression) -> WriterProperties {
    let codec = match compression.0 {
        0 => parquet::basic::Compression::UNCOMPRESSED,
        level => parquet::basic::Compression::ZSTD(ZstdLevel::try_new(level).unwrap_or_default()),
    };
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("rutter ", env!("CARGO_PKG_VERSION")).into())
        .set_compression(codec)
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .set_data_page_row_count_limit(PAGE)
        .set_data_page_size_limit(4 << 20)
        .set_write_batch_size(8192)
        .set_dictionary_page_size_limit(64 << 20)
        .set_statistics_enabled(EnabledStatistics::None);
    for column in COLUMNS {
        let path = || ColumnPath::from(column.name);
        if BOUNDED.contains(&column.name) {
            properties = properties.set_column_statistics_enabled(path(), EnabledStatistics::Chunk);
        }
        if let Some(encoding) = encoding(column.name) {
            properties = properties
                .set_column_dictionary_enabled(path(), false)
                .set_column_encoding(path(), encoding);
        }
    }
    properties.build()
}

/// The columns whose least and greatest value readers are told, to pass over what cannot be asked for. Those of other
/// columns say nothing, and cost two comparisons a row.
const BOUNDED: [&str; 4] = ["run", "seq", "time", "collector"];

/// How a column is stored where not by a dictionary.
fn encoding(name: &str) -> Option<Encoding> {
    match name {
        "run" | "seq" | "time" | "path_id" => Some(Encoding::DELTA_BINARY_PACKED),
        // The rows of an update follow each other: whole octets that repeat are packed better than numbers of words.
        "origin_as" | "med" => Some(Encoding::PLAIN),
        PREFIX => Some(Encoding::DELTA_BYTE_ARRAY),
        _ => None,
    }
}

/// The Parquet schema with the encoding of each column, as text: the golden file of the schema.
pub fn describe() -> String {
    let mut out = Vec::new();
    if let Ok(parquet) = ArrowSchemaConverter::new()
        .with_coerce_types(false)
        .convert(&schema())
    {
        printer::print_schema(&mut out, parquet.root_schema());
    }
    let mut text = String::from_utf8_lossy(&out).into_owned();
    text.push('\n');
    for column in COLUMNS {
        let encoding = encoding(column.name);
        let encoding = encoding.map_or_else(|| "dictionary".to_owned(), |e| e.to_string());
        let _ = writeln!(text, "{}: {encoding}; {}", column.name, column.meaning);
    }
    text
}

/// Rows that share dictionaries: they are in memory, packed, until their group is complete.
const ROW_GROUP: usize = 1 << 20;
/// Rows of a page: what is packed, and unpacked, at once.
const PAGE: usize = 1 << 17;
