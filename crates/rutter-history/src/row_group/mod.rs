//! Rows of a file that share dictionaries: a row group of Parquet, column by column.
//!
//! Parquet's own writer looks up the string of every column of every row. Here a string is looked up once for
//! each attribute set or peer of a page. A row is a few indexes.

mod column_chunk;
mod delta;
mod dictionary;
mod prefix_dictionary;
mod rle_hybrid;
#[cfg(test)]
mod tests;

use bytes::Bytes;
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::Result;
use parquet::file::statistics::Statistics;
use parquet::schema::types::SchemaDescriptor;
use rutter_events::{AttrColumns, COLUMNS};

use self::column_chunk::{ColumnChunk, PageCompressor};
use self::dictionary::Dictionary;
use self::prefix_dictionary::{PrefixDictionary, SortedPrefixes};
use crate::Compression;
use crate::column_values::{self, AttrColumn};
use crate::row_page::RowPage;

pub(crate) use self::rle_hybrid::{Run, push};

/// The key of a row without a value.
pub(crate) const MISSING: u32 = u32::MAX;

/// The number of bits for keys of this number of values.
fn required_bits(values: usize) -> u8 {
    (usize::BITS - values.saturating_sub(1).leading_zeros()) as u8
}

/// A row group in progress.
pub(crate) struct RowGroup {
    compressor: PageCompressor,
    columns: Vec<Column>,
    prefixes: PrefixDictionary,
    rows: usize,
    /// The number of attribute sets added, and their generation.
    sets: usize,
    generation: u64,
    keys: Vec<u32>,
    runs: Vec<Run>,
    scratch: Vec<u8>,
}

struct Column {
    name: &'static str,
    chunk: ColumnChunk,
    dictionary: Dictionary,
    /// The smallest and the largest number.
    bounds: Option<(i64, i64)>,
    /// The part of attribute sets in this column, and the keys of the sets added.
    attr_column: Option<AttrColumn>,
    set_keys: Vec<u32>,
}

impl Column {
    /// Adds the key of a set.
    fn add_set(&mut self, set: &AttrColumns, scratch: &mut Vec<u8>) {
        let dictionary = &mut self.dictionary;
        self.set_keys.push(match self.attr_column {
            Some(AttrColumn::Text(write)) => key(dictionary, scratch, |out| write(set, out)),
            Some(AttrColumn::Number(of)) => {
                of(set).map_or(MISSING, |number| dictionary.number(number))
            }
            None => return,
        });
    }
}

/// The bytes of a column, and its metadata.
pub(crate) type Packed = (Bytes, ColumnCloseResult);

impl RowGroup {
    /// An empty row group.
    pub fn new(schema: &SchemaDescriptor, compression: Compression) -> Result<Self> {
        let columns = COLUMNS.iter().enumerate().map(|(at, column)| Column {
            name: column.name,
            chunk: ColumnChunk::new(schema.column(at)),
            dictionary: Dictionary::default(),
            bounds: None,
            attr_column: column_values::attr_column(column.name),
            set_keys: Vec::new(),
        });
        Ok(Self {
            compressor: PageCompressor::new(compression)?,
            columns: columns.collect(),
            prefixes: PrefixDictionary::default(),
            rows: 0,
            sets: 0,
            generation: 0,
            keys: Vec::new(),
            runs: Vec::new(),
            scratch: Vec::new(),
        })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The size of the dictionaries in bytes. They stay in memory until the group is complete.
    pub fn dictionaries(&self) -> usize {
        let dictionary = self
            .columns
            .iter()
            .map(|column| column.dictionary.bytes().len());
        dictionary.sum()
    }

    /// Adds a page of rows.
    pub fn add(&mut self, page: &RowPage) -> Result<()> {
        self.rows += page.len();
        for prefix in page.prefixes() {
            self.prefixes.push(prefix);
        }
        self.add_sets(page);
        for at in 0..self.columns.len() {
            self.column(at, page)?;
        }
        Ok(())
    }

    /// Looks up the values of the page's new sets, once per set.
    fn add_sets(&mut self, page: &RowPage) {
        if self.generation != page.generation() {
            self.generation = page.generation();
            self.sets = 0;
            self.columns
                .iter_mut()
                .for_each(|column| column.set_keys.clear());
        }
        let new = page.sets_from(self.sets);
        self.sets += new.len();
        let (columns, scratch) = (&mut self.columns, &mut self.scratch);
        for set in new {
            set.with(|set| {
                for column in columns.iter_mut() {
                    column.add_set(set, scratch);
                }
            });
        }
    }

    fn column(&mut self, at: usize, page: &RowPage) -> Result<()> {
        let column = &mut self.columns[at];
        let (dictionary, keys, scratch) =
            (&mut column.dictionary, &mut self.keys, &mut self.scratch);
        keys.clear();
        let runs = match column.name {
            "run" | "seq" | "time" => {
                let numbers = page.numbers(column.name);
                column.bounds = bounds(column.bounds, numbers);
                return column.chunk.numbers(&mut self.compressor, numbers);
            }
            // Prefixes are written at the end of the group, when their order is known.
            "prefix" => return Ok(()),
            "collector" => {
                keys.push(dictionary.text(page.collector().as_bytes()));
                page.all()
            }
            "kind" => {
                keys.extend(column_values::KINDS.map(|kind| dictionary.text(kind.as_bytes())));
                page.kinds()
            }
            "detail" => {
                keys.extend(page.details().map(|text| dictionary.text(text.as_bytes())));
                page.detail_runs()
            }
            "path_id" => {
                keys.extend(page.path_ids().map(|number| dictionary.number(number)));
                page.path_id_runs()
            }
            "peer_asn" => {
                keys.extend(page.peers().map(|peer| dictionary.number(peer.asn.0)));
                page.peer_runs()
            }
            _ if column.attr_column.is_some() => page.set_runs(),
            name => {
                if let Some(write) = column_values::peer_column(name) {
                    keys.extend(
                        page.peers()
                            .map(|peer| key(dictionary, scratch, |out| write(peer, out))),
                    );
                }
                page.peer_runs()
            }
        };
        let keys = match column.attr_column {
            Some(_) => &column.set_keys,
            None => keys,
        };
        self.runs.clear();
        for &(place, count) in runs {
            let key = keys.get(place as usize).copied().unwrap_or(MISSING);
            push(&mut self.runs, key, count);
        }
        column
            .chunk
            .keys(&mut self.compressor, &self.runs, dictionary.len())
    }

    /// Returns all columns in order.
    pub fn finish(mut self) -> Result<Vec<Packed>> {
        let ordered = self.prefixes.finish();
        let mut packed = Vec::new();
        for mut column in self.columns {
            packed.push(match column.name {
                "prefix" => {
                    for rows in ordered.rows.chunks(PAGE) {
                        SortedPrefixes::runs(rows, &mut self.runs);
                        column
                            .chunk
                            .keys(&mut self.compressor, &self.runs, ordered.len)?;
                    }
                    let dictionary = Some((ordered.len, &ordered.bytes[..]));
                    column
                        .chunk
                        .finish(&mut self.compressor, dictionary, None)?
                }
                "run" | "seq" | "time" => {
                    let bounds = column.bounds.map(|(least, greatest)| {
                        Statistics::int64(Some(least), Some(greatest), None, Some(0), false)
                    });
                    column.chunk.finish(&mut self.compressor, None, bounds)?
                }
                "collector" => {
                    let name = column
                        .dictionary
                        .first()
                        .map(|name| ByteArray::from(name.to_vec()));
                    let bounds = Statistics::byte_array(name.clone(), name, None, Some(0), false);
                    column.chunk.finish_with_dictionary(
                        &mut self.compressor,
                        &column.dictionary,
                        Some(bounds),
                    )?
                }
                _ => column.chunk.finish_with_dictionary(
                    &mut self.compressor,
                    &column.dictionary,
                    None,
                )?,
            });
        }
        Ok(packed)
    }
}

/// The key of a string that may be missing.
fn key(
    dictionary: &mut Dictionary,
    scratch: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> bool,
) -> u32 {
    scratch.clear();
    match write(scratch) {
        true => dictionary.text(scratch),
        false => MISSING,
    }
}

fn bounds(before: Option<(i64, i64)>, numbers: &[i64]) -> Option<(i64, i64)> {
    let (least, greatest) = (*numbers.iter().min()?, *numbers.iter().max()?);
    Some(before.map_or((least, greatest), |(before, after)| {
        (least.min(before), greatest.max(after))
    }))
}

/// The number of rows in a page, the unit of compression.
pub(crate) const PAGE: usize = 1 << 16;
