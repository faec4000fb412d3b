//! Shows the progress of the demo: bars on a terminal, otherwise a line for each step.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use rutter_bench::demo::DemoProgress;

use crate::cli::CommonOptions;
use crate::failure::Failure;

/// The display of progress.
pub(super) struct Progress {
    bars: MultiProgress,
    terminal: bool,
}

impl Progress {
    /// Shows progress on standard error.
    pub(super) fn new(options: &CommonOptions) -> Self {
        Progress {
            bars: MultiProgress::new(),
            terminal: std::io::stderr().is_terminal() && !options.json,
        }
    }

    /// Removes the bars.
    pub(super) fn clear(&self) {
        // Fails only if the terminal is closed.
        let _ = self.bars.clear();
    }

    /// Shows a spinner during some work.
    pub(super) fn during<T>(
        &self,
        what: &'static str,
        work: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let begun = Instant::now();
        let bar = self.bars.add(ProgressBar::new_spinner());
        bar.set_style(style("{spinner} {msg}"));
        bar.set_message(what);
        bar.enable_steady_tick(Duration::from_millis(100));
        let result = work();
        bar.finish_and_clear();
        self.note(what, begun);
        result
    }

    /// Shows the number of established sessions.
    pub(super) fn sessions<T>(
        &self,
        count: usize,
        work: impl FnOnce(&dyn Fn(&DemoProgress)) -> T,
    ) -> T {
        let begun = Instant::now();
        let bar = self.bar("sessions", count as u64, "{pos}/{len}");
        let result = work(&|now| bar.set_position(now.counters.established as u64));
        bar.finish();
        self.note("sessions", begun);
        result
    }

    /// Shows the announced bytes and the received routes.
    pub(super) fn routes<T>(
        &self,
        octets: u64,
        work: impl FnOnce(&dyn Fn(&DemoProgress)) -> T,
    ) -> T {
        let begun = Instant::now();
        let announced = self.bar("announced", octets, "{bytes}/{total_bytes}");
        let received = self.bar("received", 0, "{human_pos} routes, {msg}");
        let result = work(&|now| {
            announced.set_position(now.counters.sent.min(octets));
            received.set_length(now.owed);
            received.set_position(now.counters.prefixes.min(now.owed));
            received.set_message(format!("{} clients exact", now.counters.exact));
        });
        announced.finish();
        received.finish();
        self.note("routes", begun);
        result
    }

    fn bar(&self, what: &'static str, len: u64, rest: &str) -> ProgressBar {
        let bar = self.bars.add(ProgressBar::new(len));
        bar.set_style(style(&format!("{{prefix:10}} {{wide_bar}} {rest}")));
        bar.set_prefix(what);
        bar
    }

    fn note(&self, what: &str, begun: Instant) {
        if !self.terminal {
            let seconds = begun.elapsed().as_secs_f64();
            rutter_daemon::eprint_line(format_args!("{what}: {seconds:.1}s"));
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
