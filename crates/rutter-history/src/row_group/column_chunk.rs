//! The pages of one column of a row group, compressed page by page.

use bytes::Bytes;
use parquet::basic::{Compression as Codec, Encoding, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter as _};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use zstd::bulk::Compressor;
use zstd::zstd_safe::compress_bound;

use super::dictionary::Dictionary;
use super::rle_hybrid::{self, Run};
use super::{MISSING, delta, required_bits};
use crate::Compression;

/// Compresses pages.
pub(super) struct PageCompressor {
    codec: Codec,
    zstd: Option<Compressor<'static>>,
    /// Levels and values of the current page, and the compressed page. These large buffers are reused.
    page: Vec<u8>,
    packed: Vec<u8>,
    levels: Vec<Run>,
    values: Vec<Run>,
}

impl PageCompressor {
    pub fn new(compression: Compression) -> Result<Self> {
        let (codec, zstd) = match compression.0 {
            0 => (Codec::UNCOMPRESSED, None),
            level => {
                let zstd = Compressor::new(level).map_err(failed)?;
                (Codec::ZSTD(ZstdLevel::try_new(level)?), Some(zstd))
            }
        };
        Ok(Self {
            codec,
            zstd,
            page: Vec::new(),
            packed: Vec::new(),
            levels: Vec::new(),
            values: Vec::new(),
        })
    }

    fn pack(&mut self, bytes: &[u8]) -> Result<Bytes> {
        let Some(zstd) = &mut self.zstd else {
            return Ok(Bytes::copy_from_slice(bytes));
        };
        self.packed.clear();
        self.packed.reserve(compress_bound(bytes.len()));
        zstd.compress_to_buffer(bytes, &mut self.packed)
            .map_err(failed)?;
        Ok(Bytes::copy_from_slice(&self.packed))
    }
}

/// The compressed part of a column.
pub(super) struct ColumnChunk {
    column: ColumnDescPtr,
    /// Pages with their headers.
    pages: Vec<u8>,
    rows: u64,
    unpacked: usize,
}

impl ColumnChunk {
    pub fn new(column: ColumnDescPtr) -> Self {
        Self {
            column,
            pages: Vec::new(),
            rows: 0,
            unpacked: 0,
        }
    }

    /// Adds a page of keys of a dictionary that has this number of values by now.
    pub fn keys(
        &mut self,
        compressor: &mut PageCompressor,
        runs: &[Run],
        values: usize,
    ) -> Result<()> {
        compressor.page.clear();
        let rows = runs.iter().map(|(_, count)| *count).sum();
        let width = required_bits(values);
        if self.column.max_def_level() == 0 {
            compressor.page.push(width);
            rle_hybrid::encode(&mut compressor.page, width, runs);
        } else {
            compressor.levels.clear();
            compressor.values.clear();
            for &(key, count) in runs {
                rle_hybrid::push(&mut compressor.levels, u32::from(key != MISSING), count);
                if key != MISSING {
                    rle_hybrid::push(&mut compressor.values, key, count);
                }
            }
            compressor.page.extend([0; 4]);
            rle_hybrid::encode(&mut compressor.page, 1, &compressor.levels);
            let length = compressor.page.len() as u32 - 4;
            compressor.page[..4].copy_from_slice(&length.to_le_bytes());
            compressor.page.push(width);
            rle_hybrid::encode(&mut compressor.page, width, &compressor.values);
        }
        self.page(compressor, rows, Encoding::RLE_DICTIONARY)
    }

    /// Adds a page of numbers of a column without missing values.
    pub fn numbers(&mut self, compressor: &mut PageCompressor, numbers: &[i64]) -> Result<()> {
        compressor.page.clear();
        delta::encode(&mut compressor.page, numbers);
        self.page(
            compressor,
            numbers.len() as u32,
            Encoding::DELTA_BINARY_PACKED,
        )
    }

    fn page(
        &mut self,
        compressor: &mut PageCompressor,
        rows: u32,
        encoding: Encoding,
    ) -> Result<()> {
        let bytes = std::mem::take(&mut compressor.page);
        let page = Page::DataPage {
            buf: compressor.pack(&bytes)?,
            num_values: rows,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let page = CompressedPage::new(page, bytes.len());
        compressor.page = bytes;
        self.unpacked += append(&mut self.pages, page)?;
        self.rows += u64::from(rows);
        Ok(())
    }

    /// Returns the bytes of the column with its dictionary, and its metadata.
    pub fn finish(
        self,
        compressor: &mut PageCompressor,
        dictionary: Option<(usize, &[u8])>,
        bounds: Option<Statistics>,
    ) -> Result<(Bytes, ColumnCloseResult)> {
        let (mut bytes, mut unpacked) = (Vec::new(), self.unpacked);
        let mut encodings = vec![Encoding::RLE, Encoding::DELTA_BINARY_PACKED];
        let has_dictionary = dictionary.is_some();
        if let Some((len, values)) = dictionary {
            let page = Page::DictionaryPage {
                buf: compressor.pack(values)?,
                num_values: len as u32,
                encoding: Encoding::PLAIN,
                is_sorted: false,
            };
            unpacked += append(&mut bytes, CompressedPage::new(page, values.len()))?;
            encodings = vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY];
        }
        let data_at = bytes.len();
        bytes.extend_from_slice(&self.pages);
        let mut metadata = ColumnChunkMetaData::builder(self.column)
            .set_compression(compressor.codec)
            .set_encodings(encodings)
            .set_num_values(self.rows as i64)
            .set_total_compressed_size(bytes.len() as i64)
            .set_total_uncompressed_size(unpacked as i64)
            .set_dictionary_page_offset(has_dictionary.then_some(0))
            .set_data_page_offset(data_at as i64);
        if let Some(bounds) = bounds {
            metadata = metadata.set_statistics(bounds);
        }
        let close = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: self.rows,
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok((bytes.into(), close))
    }

    /// Finishes a column with this dictionary.
    pub fn finish_with_dictionary(
        self,
        compressor: &mut PageCompressor,
        dictionary: &Dictionary,
        bounds: Option<Statistics>,
    ) -> Result<(Bytes, ColumnCloseResult)> {
        self.finish(
            compressor,
            Some((dictionary.len(), dictionary.bytes())),
            bounds,
        )
    }
}

/// Appends a page with its header. Returns its uncompressed size.
fn append(bytes: &mut Vec<u8>, page: CompressedPage) -> Result<usize> {
    let mut sink = TrackedWrite::new(bytes);
    let written = SerializedPageWriter::new(&mut sink).write_page(page)?;
    // Flush the remaining bytes.
    sink.into_inner()?;
    Ok(written.uncompressed_size)
}

fn failed(why: std::io::Error) -> ParquetError {
    ParquetError::External(Box::new(why))
}
