//! Reads MRT files to their end, with a progress line.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;

use rutter_bench::progress_line::{Mebibytes, ProgressLine};
use rutter_mrt::{Input, Progress, Reader, RecordOutcome, find_files};
use rutter_wire::mrt::Record;

use crate::failure::Failure;

/// The number of records between two changes of the progress line.
const STEP: u64 = 4_096;

/// Finds the files of paths. A path without a file is an error.
pub(super) fn find(paths: &[PathBuf]) -> Result<Vec<Input>, Failure> {
    let inputs = find_files(paths)?;
    for path in paths {
        let of_path = |input: &&Input| match input {
            Input::File(file) => file.starts_with(path),
            Input::Stdin => path.as_os_str() == "-",
        };
        if !inputs.iter().any(|input| of_path(&input)) {
            let path = path.display();
            return Err(Failure::text(format!("{path}: the folder has no files")));
        }
    }
    Ok(inputs)
}

/// Reads a single file as text, if its first bytes are those of one; `None` for MRT files.
pub(super) fn text(
    inputs: &[Input],
    is_text: fn(&[u8]) -> bool,
) -> Result<Option<String>, Failure> {
    let [Input::File(path)] = inputs else {
        return Ok(None);
    };
    let failed = |why: io::Error| Failure::text(format!("{}: {why}", path.display()));
    let mut file = File::open(path).map_err(failed)?;
    let mut first = Vec::new();
    file.by_ref()
        .take(FIRST)
        .read_to_end(&mut first)
        .map_err(failed)?;
    if !is_text(&first) {
        return Ok(None);
    }
    let mut text = first;
    // One byte more shows that the file is too long.
    let rest = (MAX_TEXT + 1).saturating_sub(text.len() as u64);
    let is_long = file.metadata().map_err(failed)?.len() > MAX_TEXT;
    if !is_long {
        file.take(rest).read_to_end(&mut text).map_err(failed)?;
    }
    if is_long || text.len() as u64 > MAX_TEXT {
        let path = path.display();
        return Err(Failure::text(format!(
            "{path}: the text has more than {MAX_TEXT} bytes: use an MRT file"
        )));
    }
    let not_text = |_| Failure::text(format!("{}: not UTF-8", path.display()));
    String::from_utf8(text).map(Some).map_err(not_text)
}

/// The number of bytes that decide whether a file is text.
const FIRST: u64 = 16;

/// The longest text, in bytes: two million routes with ten lines each.
const MAX_TEXT: u64 = 1 << 30;

/// The largest number of peers in the files of one option.
const MAX_PEERS: usize = 100_000;

/// Refuses files with too many peers, because each of them takes memory.
pub(super) fn check_peers(option: &str, peers: usize) -> Result<(), Failure> {
    match peers > MAX_PEERS {
        true => Err(Failure::text(format!(
            "{option}: the files have more than {MAX_PEERS} peers"
        ))),
        false => Ok(()),
    }
}

/// Calls `process` with each record of the files, up to its first error. A file that is damaged, or has no record, is an error: then a comparison
/// would not be exact.
pub(super) fn read(
    what: &'static str,
    inputs: &[Input],
    mut process: impl FnMut(&Record<'_>) -> Result<RecordOutcome, Failure>,
) -> Result<(), Failure> {
    let progress = Progress::new();
    let total = inputs.iter().map(Input::len).sum();
    let line = ProgressLine::new(what);
    let errors = RefCell::new(Vec::new());
    let report = |line: &str| {
        if line.starts_with("error: ") {
            errors
                .borrow_mut()
                .push(line.trim_start_matches("error: ").to_owned());
        }
    };
    let mut reader = Reader::new(&progress, &report);
    for input in inputs {
        let mut records = 0_u64;
        reader.read(input, |record| {
            records += 1;
            if records.is_multiple_of(STEP) {
                let bytes = progress.bytes();
                let text = format_args!("{} of {}", Mebibytes(bytes), Mebibytes(total));
                line.show(bytes, total, text);
            }
            process(record)
        })?;
        if let Some(first) = errors.borrow().first() {
            return Err(Failure::text(first.clone()));
        }
        if records == 0 {
            return Err(Failure::text(format!("{input}: no MRT record")));
        }
    }
    Ok(())
}
