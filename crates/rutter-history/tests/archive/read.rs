//! Reads files of an archive as strings.

use std::fs::File;
use std::path::Path;

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int32Type;
use arrow_array::{Array, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rutter_history::{Archive, AsOf, Part};

use crate::world::Routes;

pub fn batches(path: &Path) -> Vec<RecordBatch> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    reader.build().unwrap().map(Result::unwrap).collect()
}

/// A string of a row; empty if it is missing.
pub fn text(batch: &RecordBatch, name: &str, row: usize) -> String {
    let column = batch.column_by_name(name).unwrap();
    match column.as_dictionary_opt::<Int32Type>() {
        Some(column) if column.is_null(row) => String::new(),
        Some(column) => column
            .values()
            .as_string::<i32>()
            .value(column.keys().value(row) as usize)
            .to_owned(),
        None if column.is_null(row) => String::new(),
        None => column.as_string::<i32>().value(row).to_owned(),
    }
}

pub fn routes(answer: &AsOf) -> Routes {
    let mut routes = Routes::new();
    for batch in &answer.routes {
        for row in 0..batch.num_rows() {
            let key = (text(batch, "peer_name", row), text(batch, "prefix", row));
            let path = format!(
                "{} {}",
                text(batch, "as_path", row),
                text(batch, "communities", row)
            );
            assert_eq!(routes.insert(key, path), None);
        }
    }
    routes
}

/// Kind and detail of all events, in order.
pub fn event_rows(archive: &Archive) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    for file in archive.files(Part::Events).unwrap() {
        for batch in batches(&file.path) {
            for row in 0..batch.num_rows() {
                rows.push((text(&batch, "kind", row), text(&batch, "detail", row)));
            }
        }
    }
    rows
}
