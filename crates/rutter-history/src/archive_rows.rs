//! Reads the rows of the archive's files.

use std::collections::HashMap;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType, UInt32Type};
use arrow_array::{Array as _, DictionaryArray, Int32Array, RecordBatch, StringArray};
use rutter_net::Prefix;

/// The peers found so far, with a number for each.
#[derive(Default)]
pub(crate) struct Peers(HashMap<[String; 4], usize>);

/// The columns that identify a peer of a collector.
const PEER: [&str; 4] = ["router", "peer_name", "peer_address", "view"];

/// A column of strings.
struct StringColumn<'b> {
    keys: &'b Int32Array,
    values: &'b StringArray,
}

impl<'b> StringColumn<'b> {
    fn get(&self, row: usize) -> Option<&'b str> {
        let key = self
            .keys
            .is_valid(row)
            .then(|| self.keys.value(row) as usize)?;
        (key < self.values.len() && self.values.is_valid(key)).then(|| self.values.value(key))
    }
}

/// The rows of a batch.
pub(crate) struct Rows<'b> {
    batch: &'b RecordBatch,
    peer: [StringColumn<'b>; 4],
    kind: StringColumn<'b>,
    detail: StringColumn<'b>,
    collector: StringColumn<'b>,
}

impl<'b> Rows<'b> {
    /// Checks that the columns are present.
    pub fn new(batch: &'b RecordBatch) -> Result<Self, String> {
        let schema = crate::schema();
        for field in schema.fields() {
            let there = batch
                .column_by_name(field.name())
                .map(|column| column.data_type().clone());
            if there.as_ref() != Some(field.data_type()) {
                return Err(format!(
                    "its column `{}` does not have the type of a history's column",
                    field.name()
                ));
            }
        }
        let [router, name, address, view] = PEER;
        Ok(Self {
            batch,
            peer: [
                strings(batch, router)?,
                strings(batch, name)?,
                strings(batch, address)?,
                strings(batch, view)?,
            ],
            kind: strings(batch, "kind")?,
            detail: strings(batch, "detail")?,
            collector: strings(batch, "collector")?,
        })
    }

    pub fn kind(&self, row: usize) -> &'b str {
        self.kind.get(row).unwrap_or_default()
    }

    pub fn detail(&self, row: usize) -> &'b str {
        self.detail.get(row).unwrap_or_default()
    }

    pub fn collector(&self, row: usize) -> &'b str {
        self.collector.get(row).unwrap_or_default()
    }

    pub fn time_us(&self, row: usize) -> u64 {
        let times = self
            .batch
            .column(TIME)
            .as_primitive_opt::<TimestampMicrosecondType>();
        times.map_or(0, |times| times.value(row) as u64)
    }

    /// The run and the number of a row.
    pub fn position(&self, row: usize) -> (u64, u64) {
        let number = |column| {
            let numbers = self.batch.column(column).as_primitive_opt::<Int64Type>();
            numbers.map_or(0, |numbers| numbers.value(row).max(0) as u64)
        };
        (number(RUN), number(SEQ))
    }

    /// The number of the row's peer; a new number for a new peer.
    pub fn peer(&self, row: usize, peers: &mut Peers) -> Option<usize> {
        let text = |at: usize| self.peer[at].get(row).map(str::to_owned);
        let key = [text(0)?, text(1)?, text(2)?, text(3)?];
        let next = peers.0.len();
        Some(*peers.0.entry(key).or_insert(next))
    }

    /// The prefix and path identifier.
    pub fn route(&self, row: usize) -> Option<(Prefix, u32)> {
        let prefixes = self.batch.column(PREFIX).as_string_opt::<i32>()?;
        let prefix = prefixes.is_valid(row).then(|| prefixes.value(row))?;
        let path_ids = self
            .batch
            .column(PATH_ID)
            .as_primitive_opt::<UInt32Type>()?;
        Some((prefix.parse().ok()?, path_ids.value(row)))
    }
}

fn strings<'b>(batch: &'b RecordBatch, name: &str) -> Result<StringColumn<'b>, String> {
    let column = batch
        .column_by_name(name)
        .and_then(|column| column.as_dictionary_opt::<Int32Type>());
    let strings = column.and_then(|column: &DictionaryArray<Int32Type>| {
        Some(StringColumn {
            keys: column.keys(),
            values: column.values().as_string_opt::<i32>()?,
        })
    });
    strings
        .ok_or_else(|| format!("its column `{name}` does not have the type of a history's column"))
}

/// The indexes of columns, checked by a test.
const RUN: usize = 0;
const SEQ: usize = 1;
const TIME: usize = 2;
const PREFIX: usize = 10;
const PATH_ID: usize = 11;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_in_their_places() {
        let name = |at: usize| rutter_events::COLUMNS[at].name;
        let names = [RUN, SEQ, TIME, PREFIX, PATH_ID].map(name);
        assert_eq!(names, ["run", "seq", "time", "prefix", "path_id"]);
    }
}
