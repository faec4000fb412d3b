//! Prints the routes in files of updates: `cargo run -p rutter-mrt --example updates -- FILE…`.

use std::io::{self, Write};
use std::path::PathBuf;

use rutter_mrt::{
    Progress, Reader, RecordOutcome, Unreadable, UpdateForm, UpdateReader, find_files, update,
};
use rutter_wire::mrt::{Content, Record};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let report = |line: &str| eprintln!("{line}");
    let mut reader = Reader::new(&Progress::default(), &report);
    let mut updates = UpdateReader::default();
    let mut text = Vec::new();
    for input in find_files(&paths)? {
        reader.read(&input, |record| {
            text.clear();
            let outcome = match routes(record, &mut updates, &mut text) {
                Ok(outcome) => outcome,
                Err(why) => why.into(),
            };
            io::stdout().write_all(&text).map(|()| outcome)
        })?;
    }
    // An error if a file could not be read to its end.
    reader.verdict()?;
    Ok(())
}

/// Writes a line for each route of a record. A record that is no UPDATE has none.
fn routes(
    record: &Record<'_>,
    updates: &mut UpdateReader,
    out: &mut Vec<u8>,
) -> Result<RecordOutcome, Unreadable> {
    let Content::Message(message) = record.decode()? else {
        return Ok(RecordOutcome::READ);
    };
    let (body, outcome) = update(&message);
    let Some(body) = body else {
        return Ok(outcome);
    };
    let form = UpdateForm {
        as4: message.session.as4,
        add_path: message.add_path,
    };
    let found = updates.read(body, form);
    let peer = message.session.peer;
    for (prefix, _) in found.withdrawn {
        let _ = writeln!(out, "{peer} withdraws {prefix}");
    }
    let path = found.attributes.as_path();
    let path = path.map_or_else(String::new, |path| path.to_string());
    for (prefix, _) in found.announced.iter().chain(found.mp_announced) {
        let _ = writeln!(out, "{peer} announces {prefix}, path {path}");
    }
    Ok(outcome.and(found.outcome))
}
