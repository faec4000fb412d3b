//! The end of a run, as its last file shows it.

use std::fs::File;

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rutter_events::Missing;

use crate::archive::ArchiveFile;
use crate::archive_rows::Rows;

/// Describes the rows that may be missing at the end of a run, given its last file. Returns `None` after a
/// clean stop.
pub(crate) fn missing_rows(last: &ArchiveFile) -> Option<String> {
    let rest = |from| Missing::RestOfRun {
        run: last.run,
        from,
        doubtful: true,
    };
    match last_row(last) {
        Ok(Some((_, true))) => None,
        Ok(row) => {
            let next = row.map_or(last.seq, |(seq, _)| seq + 1);
            Some(rest(next).because(None, "the collector did not stop cleanly"))
        }
        Err(why) => {
            let why = format!("the end of the run cannot be read: {last}: {why}");
            Some(rest(last.seq).because(None, why))
        }
    }
}

/// Describes the rows that are missing from a run with an unfinished file.
pub(crate) fn unfinished_file(file: &ArchiveFile) -> String {
    let missing = Missing::RestOfRun {
        run: file.run,
        from: file.seq,
        doubtful: false,
    };
    missing.because(
        None,
        "the collector did not stop cleanly and did not complete its file",
    )
}

/// The number of a file's last row, and whether it is a `stop`.
fn last_row(file: &ArchiveFile) -> Result<Option<(u64, bool)>, String> {
    let opened = File::open(&file.path).map_err(|why| why.to_string())?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(opened).map_err(|why| why.to_string())?;
    let rows = usize::try_from(reader.metadata().file_metadata().num_rows()).unwrap_or(0);
    let reader = reader.with_offset(rows.saturating_sub(1)).build();
    let mut last = None;
    for batch in reader.map_err(|why| why.to_string())? {
        let batch = batch.map_err(|why| why.to_string())?;
        let rows = Rows::new(&batch)?;
        last = batch.num_rows().checked_sub(1).map(|row| {
            let (_, seq) = rows.position(row);
            (seq, rows.kind(row) == "stop")
        });
    }
    Ok(last)
}
