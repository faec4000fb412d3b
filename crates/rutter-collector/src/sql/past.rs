//! A query of an archive, of the table as of a time, or of any Parquet files.

use std::path::{Path, PathBuf};
use std::{fs, io};

use rutter_history::{Archive, Part};
use rutter_sql::{Database, QueryError};

use super::files::{answer, block_on, limits};
use crate::cli::SqlArgs;
use crate::failure::Failure;

/// Reads the needed files, then answers the query.
pub(super) fn ask(args: &SqlArgs, query: &str) -> Result<(), Failure> {
    let mut database = rutter_sql::database(&limits()).map_err(query_failure)?;
    if args.files {
        database = database.with_files();
    }
    let answered = block_on(async {
        for path in &args.parquet {
            add(&database, path).await?;
        }
        if let Some(folder) = &args.history {
            add_history(&database, folder, args.at).await?;
        }
        answer(&database, query, args.format()).await
    });
    answered.map_err(|failure| match &failure {
        Failure::Text(said) => broken(args, said).map_or(failure, Failure::Text),
        _ => failure,
    })
}

/// Finds the file that an error is about. DataFusion gives the fault without the file.
fn broken(args: &SqlArgs, said: &str) -> Option<String> {
    let is_of_a_file = ["arquet", "rrow error", "non-nullable"];
    if !is_of_a_file.iter().any(|words| said.contains(words)) {
        return None;
    }
    let archives = args.history.iter().chain(&args.parquet).map(Archive::new);
    let mut known = archives.filter(Archive::exists);
    known.find_map(|archive| {
        let why = archive.unreadable().ok()??;
        Some(format!(
            "{why}\n  move that file away, or bring back a good copy"
        ))
    })
}

fn query_failure(error: QueryError) -> Failure {
    Failure::text(error.to_string())
}

/// Adds a file or folder as a table of its name. The folder of an archive becomes its two tables.
async fn add(database: &Database, path: &Path) -> Result<(), Failure> {
    let archive = Archive::new(path);
    if archive.exists() {
        return add_parts(database, &archive).await;
    }
    let shown = path.display();
    if let Err(why) = std::fs::metadata(path) {
        return Err(Failure::text(format!("cannot read {shown}: {why}")));
    }
    not_empty(&[path.to_owned()])?;
    let name = path.file_stem().map(|stem| stem.to_string_lossy());
    let name = name.unwrap_or("files".into());
    let added = database.add_parquet(&name, path).await;
    added.map_err(|why| Failure::text(format!("cannot read {shown} as Parquet: {why}")))
}

/// Fails if a file is empty. DataFusion skips empty files, and an answer without their rows would look complete.
fn not_empty(paths: &[PathBuf]) -> Result<(), Failure> {
    for path in paths {
        let failed = |why: io::Error| Failure::text(format!("{}: {why}", path.display()));
        let meta = fs::metadata(path).map_err(failed)?;
        if meta.is_dir() {
            let inside = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
            let inside = inside
                .map_err(failed)?
                .into_iter()
                .map(|entry| entry.path());
            let counts = |path: &PathBuf| {
                let name = path
                    .file_name()
                    .map(|name| name.to_string_lossy().into_owned());
                path.is_dir()
                    || name.is_some_and(|n| n.ends_with(".parquet") && !n.starts_with('.'))
            };
            not_empty(&inside.filter(counts).collect::<Vec<_>>())?;
        } else if meta.len() == 0 {
            return Err(Failure::text(format!(
                "{} is empty: no Parquet file has 0 octets\n  remove it, or bring it back",
                path.display()
            )));
        }
    }
    Ok(())
}

async fn add_parts(database: &Database, archive: &Archive) -> Result<(), Failure> {
    let schema = rutter_history::schema();
    for part in [Part::Events, Part::Snapshots] {
        let files = archive.files(part);
        let files = files.map_err(|why| Failure::text(why.to_string()))?;
        not_empty(&files.into_iter().map(|file| file.path).collect::<Vec<_>>())?;
        let foreign = archive.foreign_files(part);
        let foreign = foreign.map_err(|why| Failure::text(why.to_string()))?;
        if let Some(first) = foreign.first() {
            return Err(Failure::text(format!(
                "{} is no file of this archive, by its name or its folder: its rows would be counted, perhaps twice\n  \
                 move it away; --parquet FILE asks one file",
                first.display()
            )));
        }
        let folder = archive.folder().join(part.folder());
        let added = rutter_sql::add_archive(database, part.folder(), &folder, &schema).await;
        added.map_err(query_failure)?;
    }
    Ok(())
}

async fn add_history(database: &Database, folder: &Path, at: Option<u64>) -> Result<(), Failure> {
    let archive = Archive::new(folder);
    if !archive.exists() {
        let folder = folder.display();
        return Err(Failure::text(format!(
            "{folder} is no archive: it has no folder `events` or `snapshots`\n  name the folder of history.path"
        )));
    }
    add_parts(database, &archive).await?;
    let Some(time_us) = at else {
        return Ok(());
    };
    let found = archive.as_of(time_us);
    let found = found.map_err(|why| Failure::text(why.to_string()))?;
    for note in &found.notes {
        rutter_daemon::eprint_line(format_args!("note: {note}"));
    }
    let rows = database.add_rows("routes", rutter_history::schema(), found.routes);
    rows.map_err(query_failure)?;
    database
        .replace("routes", &current_routes_view())
        .await
        .map_err(query_failure)?;
    let events = format!("SELECT * FROM events WHERE time <= to_timestamp_micros({time_us})");
    database
        .replace("events", &events)
        .await
        .map_err(query_failure)
}

/// Returns a query for the table as of a time. It adds the columns that only the live table has, and converts text to
/// lists.
fn current_routes_view() -> String {
    let columns = rutter_events::COLUMNS
        .iter()
        .map(|column| match column.kind {
            "list of text" => format!(
                "string_to_array(coalesce({0}, ''), ' ') AS {0}",
                column.name
            ),
            _ => column.name.to_owned(),
        });
    let columns: Vec<String> = columns.collect();
    let columns = columns.join(", ");
    format!(
        "SELECT {columns}, family(prefix) AS family, masklen(prefix) AS prefix_length, \
         path_len(as_path) AS as_path_length FROM routes"
    )
}
