//! Shows the progress of the demo: a line that changes on a terminal, otherwise a line for each step.

use std::io::IsTerminal as _;

use rutter_bench::demo::DemoProgress;
use rutter_bench::progress_line::{Mebibytes, ProgressLine};

use crate::cli::CommonOptions;
use crate::failure::Failure;

/// The display of progress.
pub(super) struct Progress {
    terminal: bool,
}

impl Progress {
    /// Shows progress on standard error.
    pub(super) fn new(options: &CommonOptions) -> Self {
        Progress {
            terminal: std::io::stderr().is_terminal() && !options.json,
        }
    }

    /// Shows the name of some work while it is done.
    pub(super) fn during<T>(
        &self,
        what: &'static str,
        work: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let line = ProgressLine::new(what);
        line.show(0, 0, "...");
        let result = work();
        self.end(what, &line);
        result
    }

    /// Shows the number of established sessions.
    pub(super) fn sessions<T>(
        &self,
        count: usize,
        work: impl FnOnce(&dyn Fn(&DemoProgress)) -> T,
    ) -> T {
        let line = ProgressLine::new("sessions");
        let result = work(&|now| {
            let established = now.counters.established;
            let text = format_args!("{established}/{count}");
            line.show(established as u64, count as u64, text);
        });
        self.end("sessions", &line);
        result
    }

    /// Shows the announced bytes and the received routes.
    pub(super) fn routes<T>(
        &self,
        octets: u64,
        work: impl FnOnce(&dyn Fn(&DemoProgress)) -> T,
    ) -> T {
        let line = ProgressLine::new("routes");
        let result = work(&|now| {
            let (counters, owed) = (&now.counters, now.owed);
            let received = counters.prefixes.min(owed);
            let text = format_args!(
                "{received}/{owed} received, {} clients exact, {} of {} announced",
                counters.exact,
                Mebibytes(counters.sent.min(octets)),
                Mebibytes(octets),
            );
            line.show(received, owed, text);
        });
        self.end("routes", &line);
        result
    }

    fn end(&self, what: &str, line: &ProgressLine) {
        line.remove();
        if !self.terminal {
            let seconds = line.elapsed().as_secs_f64();
            rutter_daemon::eprint_line(format_args!("{what}: {seconds:.1}s"));
        }
    }
}
