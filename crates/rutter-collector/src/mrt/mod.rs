//! `rutter mrt`: prints the routes of MRT files, one a line.

mod attributes;
mod number;
mod printer;

use std::io::{self, Write};

use rutter_mrt::{Progress, Reader, find_files};

use crate::bar::{Bar, Lines};
use crate::cli::MrtArgs;
use crate::failure::Failure;
use printer::Printer;

/// Prints every route of the files, in order.
pub(crate) fn mrt(args: &MrtArgs) -> Result<(), Failure> {
    let inputs = find_files(&args.files)?;
    let progress = Progress::new();
    let lines = match args.count {
        true => Lines::None,
        false => Lines::OnStdout,
    };
    let bar = Bar::of_files(&inputs, &progress, lines);
    let mut output = Output {
        out: io::stdout().lock(),
        progress: progress.clone(),
        quiet: args.count,
    };
    let report = |line: &str| bar.report(line);
    let mut reader = Reader::new(&progress, &report);
    let mut printer = Printer::new(args.json);
    for input in &inputs {
        reader.read(input, |record| {
            let outcome = printer.record(record);
            if printer.text().len() >= FLUSH_AT {
                output.write(&mut printer)?;
            }
            Ok::<_, io::Error>(outcome)
        })?;
        output.write(&mut printer)?;
    }
    let verdict = reader.verdict();
    bar.end();
    if args.count {
        let (records, routes) = (progress.records(), progress.routes());
        writeln!(output.out, "{records} records, {routes} routes")?;
    }
    output.out.flush()?;
    verdict.map_err(Failure::text)
}

/// The buffer size in bytes at which the output is written.
const FLUSH_AT: usize = 256 * 1024;

/// The output of the lines.
struct Output<'a> {
    out: io::StdoutLock<'a>,
    progress: Progress,
    quiet: bool,
}

impl Output<'_> {
    /// Writes the printed lines.
    fn write(&mut self, printer: &mut Printer) -> io::Result<()> {
        self.progress.add_routes(printer.take_routes());
        if !self.quiet {
            self.out.write_all(printer.text())?;
        }
        printer.clear();
        Ok(())
    }
}

#[cfg(test)]
mod agreement_tests;
#[cfg(test)]
pub(crate) use agreement_tests::printed_rows;
