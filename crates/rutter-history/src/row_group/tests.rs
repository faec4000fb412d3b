//! Parquet's own reader returns the rows that were written: random rows of all shapes.

use std::fs::{self, File};
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType, UInt32Type};
use arrow_array::{Array as _, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rutter_bench::rng::Rng;
use rutter_events::{AttrColumns, COLUMNS, Kind, Row};
use rutter_net::{Asn, Community, LargeCommunity, Prefix};

use crate::archive::{Archive, Part};
use crate::file_writer::{Compression, FileWriter};
use crate::row_page::RowPage;

/// The values of a row.
struct Drawn {
    seq: u64,
    time_us: u64,
    kind: Kind,
    prefix: Option<Prefix>,
    path_id: u32,
    attrs: Option<Arc<AttrColumns>>,
    detail: &'static str,
}

fn set(rng: &mut Rng) -> Arc<AttrColumns> {
    let some = |rng: &mut Rng| rng.chance(50).then(|| rng.next_u64() as u32);
    Arc::new(AttrColumns {
        origin: None,
        as_path: rng.chance(90).then(|| format!("64501 {}", rng.below(500))),
        origin_as: some(rng).map(Asn),
        path_len: 2,
        next_hop: Some([192, 0, 2, rng.below(9) as u8].into()),
        med: some(rng),
        local_pref: None,
        atomic_aggregate: false,
        aggregator: None,
        communities: (0..rng.below(3))
            .map(|low| Community::new(64_500, low as u16))
            .collect(),
        extended_communities: Vec::new(),
        large_communities: (0..rng.below(2))
            .map(|_| LargeCommunity::new(64_500, 1, u32::MAX))
            .collect(),
    })
}

/// Runs of rows that share a set, with lengths that differ from page to page.
fn draw(rng: &mut Rng, rows: usize, longest: u64, prefixes: u64) -> Vec<Drawn> {
    let mut drawn = Vec::new();
    let (mut time_us, mut seq) = (1_795_176_000_000_000, 0);
    while drawn.len() < rows {
        let attrs = rng.chance(90).then(|| set(rng));
        // The clock may be set, also far away.
        time_us = match rng.below(500) {
            0 => rng.next_u64() >> 1,
            _ => time_us + rng.below(1_000),
        };
        for _ in 0..rng.between(1, longest) {
            let bits = rng.below(prefixes) as u128;
            let prefix = match rng.below(3) {
                0 => Prefix::from_addr(
                    ((bits as u32) << 12).to_be_bytes().into(),
                    20 + (bits % 5) as u8,
                ),
                1 => Prefix::from_addr(
                    ((0x2001_u128 << 112) | (bits << 80)).to_be_bytes().into(),
                    48,
                ),
                _ => None,
            };
            drawn.push(Drawn {
                seq,
                time_us,
                kind: if prefix.is_some() {
                    Kind::Announce
                } else {
                    Kind::PeerUp
                },
                prefix,
                path_id: if rng.chance(5) {
                    rng.next_u64() as u32
                } else {
                    0
                },
                attrs: attrs.clone(),
                detail: if rng.chance(2) { "swept" } else { "" },
            });
            seq += rng.below(2);
        }
    }
    drawn
}

fn write(rows: &[Drawn], compression: i32) -> Vec<RecordBatch> {
    let folder = format!(
        "rutter-group-{}-{}-{compression}",
        std::process::id(),
        rows.len()
    );
    let folder = std::env::temp_dir().join(folder);
    let archive = Archive::new(&folder);
    let compression = Compression(compression);
    let mut writing = FileWriter::create(&archive, Part::Events, 0, "n-1-0", compression).unwrap();
    let mut columns = RowPage::new("here", 100);
    for page in rows.chunks(super::PAGE) {
        for row in page {
            columns.push(&Row {
                run: 7,
                seq: row.seq,
                time_us: row.time_us,
                collector: "here",
                peer: None,
                kind: row.kind,
                prefix: row.prefix,
                path_id: row.path_id,
                attrs: row.attrs.as_ref(),
                detail: row.detail,
            });
        }
        writing.write(&mut columns).unwrap();
    }
    writing.finish().unwrap();
    let file = archive.files(Part::Events).unwrap().remove(0);
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(file.path).unwrap()).unwrap();
    assert_eq!(reader.schema(), &crate::schema());
    let batches = reader.build().unwrap().map(Result::unwrap).collect();
    fs::remove_dir_all(folder).unwrap();
    batches
}

fn text(batch: &RecordBatch, name: &str, row: usize) -> Option<String> {
    let column = batch.column_by_name(name).unwrap();
    if column.is_null(row) {
        return None;
    }
    Some(match column.as_dictionary_opt::<Int32Type>() {
        Some(column) => {
            let key = column.keys().value(row) as usize;
            column.values().as_string::<i32>().value(key).to_owned()
        }
        None => column.as_string::<i32>().value(row).to_owned(),
    })
}

fn number(batch: &RecordBatch, name: &str, row: usize) -> Option<u32> {
    let column = batch
        .column_by_name(name)
        .unwrap()
        .as_primitive::<UInt32Type>();
    column.is_valid(row).then(|| column.value(row))
}

fn compare(batch: &RecordBatch, row: usize, drawn: &Drawn) {
    let place = |name| {
        COLUMNS
            .iter()
            .position(|column| column.name == name)
            .unwrap()
    };
    let long = |name| {
        batch
            .column(place(name))
            .as_primitive::<Int64Type>()
            .value(row)
    };
    let time = batch
        .column(place("time"))
        .as_primitive::<TimestampMicrosecondType>();
    assert_eq!((long("run"), long("seq")), (7, drawn.seq as i64));
    assert_eq!(time.value(row) as u64, drawn.time_us);
    assert_eq!(text(batch, "collector", row).unwrap(), "here");
    assert_eq!(text(batch, "kind", row).unwrap(), drawn.kind.name());
    assert_eq!(text(batch, "peer_name", row), None);
    assert_eq!(
        text(batch, "prefix", row),
        drawn.prefix.map(|prefix| prefix.to_string())
    );
    assert_eq!(
        number(batch, "path_id", row),
        drawn.prefix.map(|_| drawn.path_id)
    );
    assert_eq!(text(batch, "detail", row).unwrap_or_default(), drawn.detail);
    let set = drawn.attrs.as_deref();
    assert_eq!(
        text(batch, "as_path", row),
        set.and_then(|set| set.as_path.clone())
    );
    assert_eq!(number(batch, "med", row), set.and_then(|set| set.med));
    assert_eq!(number(batch, "local_pref", row), None);
    assert_eq!(
        number(batch, "origin_as", row),
        set.and_then(|set| set.origin_as).map(|asn| asn.0)
    );
    let hop = set.and_then(|set| set.next_hop).map(|hop| hop.to_string());
    assert_eq!(text(batch, "next_hop", row), hop);
    for (name, wanted) in [
        ("communities", set.map(AttrColumns::communities_text)),
        (
            "large_communities",
            set.map(AttrColumns::large_communities_text),
        ),
    ] {
        assert_eq!(
            text(batch, name, row).unwrap_or_default(),
            wanted.unwrap_or_default()
        );
    }
}

#[test]
fn every_row_is_read_as_it_was_written() {
    let mut rng = Rng::new(3);
    for (rows, longest, prefixes, compression) in [
        (1, 1, 1, 3),
        (7, 1, 5, 0),
        (3_000, 1, 4_000, 0),
        (3_000, 6, 100, 3),
        (70_000, 300, 2, 1),
        (70_000, 3, 60_000, 3),
    ] {
        let drawn = draw(&mut rng, rows, longest, prefixes);
        let batches = write(&drawn, compression);
        let all: usize = batches.iter().map(RecordBatch::num_rows).sum();
        assert_eq!(all, drawn.len());
        let places = batches
            .iter()
            .flat_map(|batch| (0..batch.num_rows()).map(move |row| (batch, row)));
        for ((batch, row), drawn) in places.zip(&drawn) {
            compare(batch, row, drawn);
        }
    }
}
