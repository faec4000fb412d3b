//! A progress bar on the terminal.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rutter_bench::progress_line::{Mebibytes, ProgressLine};
use rutter_mrt::{Input, Progress};

/// A progress bar on standard error. It is hidden if standard error is no terminal.
pub(crate) struct Bar {
    line: Arc<ProgressLine>,
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The other output while files are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lines {
    /// No other output.
    None,
    /// The contents of the files. On a terminal they replace the bar.
    OnStdout,
}

impl Bar {
    /// Starts a bar that shows how far the files are read.
    pub(crate) fn of_files(inputs: &[Input], progress: &Progress, lines: Lines) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let hides_output = lines == Lines::OnStdout && std::io::stdout().is_terminal();
        if !std::io::stderr().is_terminal() || hides_output {
            return Bar {
                line: Arc::new(ProgressLine::hidden()),
                done,
                thread: None,
            };
        }
        // The length of standard input is unknown.
        let total = match inputs.contains(&Input::Stdin) {
            true => 0,
            false => inputs.iter().map(Input::len).sum(),
        };
        let line = Arc::new(ProgressLine::new("read"));
        let thread = {
            let (line, done, progress) = (Arc::clone(&line), Arc::clone(&done), progress.clone());
            thread::spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    show(&line, &progress, total);
                    thread::sleep(Duration::from_millis(100));
                }
            })
        };
        Bar {
            line,
            done,
            thread: Some(thread),
        }
    }

    /// Prints a line without disturbing the bar.
    pub(crate) fn report(&self, line: &str) {
        self.line.print_above(line);
    }

    /// Removes the bar.
    pub(crate) fn end(self) {
        self.done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread {
            // The thread cannot panic.
            let _ = thread.join();
        }
        self.line.remove();
    }
}

fn show(line: &ProgressLine, progress: &Progress, total: u64) {
    let (bytes, routes) = (progress.bytes(), progress.routes());
    let read = Mebibytes(bytes);
    match line.time_left(bytes, total) {
        Some(left) => {
            let (total_read, left) = (Mebibytes(total), left.as_secs());
            let text = format_args!("{read} of {total_read}, {routes} routes, {left} s left");
            line.show(bytes, total, text);
        }
        None => {
            let elapsed = line.elapsed().as_secs();
            line.show(
                bytes,
                total,
                format_args!("{read}, {routes} routes, {elapsed} s"),
            );
        }
    }
}
