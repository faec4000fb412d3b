//! A query over files. MRT files are loaded into a table of this process. DataFusion reads Parquet, CSV and JSON.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use futures::StreamExt as _;
use rutter_ingest::MrtLoader;
use rutter_mrt::{Input, Progress, Reader, find_files};
use rutter_policy::{ExportPolicy, ExportSettings};
use rutter_rib::{Rib, RibConfig};
use rutter_sql::{Database, Format, Limits, Printer, live_database};

use crate::bar::{Bar, Lines};
use crate::cli::SqlArgs;
use crate::failure::Failure;

/// Loads the files, then answers the query.
pub(super) fn ask(args: &SqlArgs, query: &str) -> Result<(), Failure> {
    let (rib, verdict) = load(args)?;
    let report = |error: rutter_sql::QueryError| Failure::text(error.to_string());
    let mut database = live_database(rib, None, &limits()).map_err(report)?;
    if args.files {
        database = database.with_files();
    }
    block_on(answer(&database, query, args.format()))?;
    verdict.map_err(|why| Failure::text(format!("{why}: the answer may lack routes")))
}

/// Returns the limits. The process has no other work, so it may use all the memory.
pub(super) fn limits() -> Limits {
    Limits {
        memory: usize::MAX / 2,
        ..Limits::default()
    }
}

/// Runs a query on threads with a stack for deeply nested queries.
pub(super) fn block_on<T: Send>(
    answer: impl Future<Output = Result<T, Failure>> + Send,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(STACK)
        .enable_all()
        .build()?;
    thread::scope(|scope| {
        let main = thread::Builder::new().stack_size(STACK);
        let main = main.spawn_scoped(scope, || runtime.block_on(answer))?;
        let broken = || Failure::text("the query ended by a defect of this program");
        main.join().unwrap_or_else(|_| Err(broken()))
    })
}

/// The stack of a thread that plans or computes. Only the used part takes memory.
const STACK: usize = 256 << 20;

/// Returns the table of the files, and whether all of them could be read.
fn load(args: &SqlArgs) -> Result<(Arc<Rib>, Result<(), String>), Failure> {
    let rib = Arc::new(Rib::new(RibConfig {
        shards: 16,
        cluster_id: 0,
        log_limit: 1 << 20,
        export: Arc::new(ExportPolicy::new(ExportSettings::default())),
        seed: 1,
        always_compare_med: false,
    }));
    if args.mrt.is_empty() {
        return Ok((rib, Ok(())));
    }
    let all = find_files(&args.mrt)?;
    let progress = Progress::new();
    let bar = Bar::of_files(&all, &progress, Lines::None);
    let report = |line: &str| bar.report(line);
    let mut reader = Reader::new(&progress, &report);
    let mut loader = MrtLoader::new(&rib, "");
    for path in &args.mrt {
        let inputs = find_files(std::slice::from_ref(path))?;
        loader.begin_router(&router_name(path));
        for input in &inputs {
            let read = reader.read(input, |record| loader.take(record));
            read.map_err(|error| Failure::text(format!("{input}: {error}")))?;
        }
    }
    loader.finish();
    let verdict = reader.verdict();
    bar.end();
    Ok((rib, verdict))
}

/// The router of a file, or of all files in a folder.
fn router_name(path: &Path) -> String {
    match path.as_os_str() == "-" {
        true => Input::Stdin.to_string(),
        false => path.display().to_string(),
    }
}

/// Runs the query and prints its rows.
pub(super) async fn answer(
    database: &Database,
    query: &str,
    format: Format,
) -> Result<(), Failure> {
    let report = |error: rutter_sql::QueryError| Failure::text(error.to_string());
    let mut batches = database.query(query).await.map_err(report)?;
    let out = io::BufWriter::new(io::stdout());
    let mut printer = Printer::of(out, format, &batches.schema());
    while let Some(batch) = batches.next().await {
        printer
            .batch(&batch.map_err(|error| report(error.into()))?)
            .map_err(|error| report(error.into()))?;
    }
    Ok(printer.end()?)
}
