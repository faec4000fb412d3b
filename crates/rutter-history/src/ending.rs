//! How a run ended, as far as its last file tells.

use std::fs::File;

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::archive::ArchiveFile;
use crate::rows::Rows;

/// What is missing of the run whose last file this is, in words; nothing, where the run ended in order.
pub(crate) fn missing(last: &ArchiveFile) -> Option<String> {
    let run = last.run;
    match last_row(last) {
        Ok(Some((_, true))) => None,
        Ok(row) => {
            let next = row.map_or(last.seq, |(seq, _)| seq + 1);
            Some(format!(
                "{ENDED} without a word: rows of run {run} from {next} on are missing, if there were any"
            ))
        }
        Err(why) => Some(format!(
            "{ENDED}, and how is not known: rows of run {run} from {} on may be missing: {last}: {why}",
            last.seq
        )),
    }
}

/// What is missing of a run that left an unfinished file.
pub(crate) fn unfinished(file: &ArchiveFile) -> String {
    let ArchiveFile { run, seq, .. } = file;
    format!("{ENDED} without completing its file: rows of run {run} from {seq} on are missing")
}

/// Whether a gap is that of a run before: the table begins anew with each run.
pub(crate) fn is_of_a_run_before(detail: &str) -> bool {
    detail.starts_with(ENDED)
}

/// How gaps between runs begin.
const ENDED: &str = "the collector ended";

/// The number of a file's last row, and whether it says that the collector stops.
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
