//! `rutter mrt`: prints what MRT files hold, a route a line.

mod attributes;
mod number;
mod printer;

use std::io::{self, Write};

use rutter_collector::mrt::{Input, Progress, ReadError, Stream, find};

use crate::bar::Bar;
use crate::cli::MrtArgs;
use crate::failure::Failure;
use printer::Printer;

/// Prints every route of the files, in order.
pub(crate) fn mrt(args: &MrtArgs) -> Result<(), Failure> {
    let inputs = find(&args.files)?;
    let progress = Progress::new();
    let bar = Bar::of_files(&inputs, &progress);
    let mut out = io::stdout().lock();
    let mut broken = 0;
    for input in &inputs {
        let printer = Printer::new(args.json);
        if let Err(why) = print(input, &progress, printer, args.count, &mut out)? {
            bar.say(&format!("error: {why}"));
            broken += 1;
        }
    }
    bar.end();
    out.flush()?;
    if args.count {
        let (records, routes) = (progress.records(), progress.routes());
        writeln!(out, "{records} records, {routes} routes")?;
    }
    match broken {
        0 => Ok(()),
        n => Err(Failure::text(format!(
            "{n} of {} files could not be read to the end",
            inputs.len()
        ))),
    }
}

/// Octets that are written at once.
const FLUSH_AT: usize = 256 * 1024;

/// The outer error is of the output, the inner one of the file.
fn print(
    input: &Input,
    progress: &Progress,
    mut printer: Printer,
    count: bool,
    out: &mut dyn Write,
) -> io::Result<Result<(), ReadError>> {
    let mut stream = match Stream::open(input, progress) {
        Ok(stream) => stream,
        Err(error) => return Ok(Err(error)),
    };
    let result = loop {
        match stream.next_record() {
            Ok(Some(record)) => printer.record(&record),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
        if printer.text().len() >= FLUSH_AT {
            progress.add_routes(printer.take_routes());
            if !count {
                out.write_all(printer.text())?;
            }
            printer.clear();
        }
    };
    progress.add_routes(printer.take_routes());
    if !count {
        out.write_all(printer.text())?;
    }
    Ok(result)
}
