//! A progress bar on the terminal.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use rutter_mrt::{Input, Progress};

/// A progress bar on standard error. It is hidden if standard error is no terminal.
pub(crate) struct Bar {
    bar: ProgressBar,
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
            let bar = ProgressBar::hidden();
            return Bar {
                bar,
                done,
                thread: None,
            };
        }
        let octets: u64 = inputs.iter().map(Input::len).sum();
        // The length of standard input is unknown.
        let (bar, style) = match inputs.contains(&Input::Stdin) {
            true => (
                ProgressBar::no_length(),
                "{spinner} {bytes} {msg} {elapsed}",
            ),
            false => (
                ProgressBar::new(octets),
                "{wide_bar} {bytes}/{total_bytes} {msg} {eta}",
            ),
        };
        let style = ProgressStyle::with_template(style);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        let thread = {
            let (bar, done, progress) = (bar.clone(), Arc::clone(&done), progress.clone());
            thread::spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    bar.set_position(progress.bytes());
                    bar.set_message(format!("{} routes", progress.routes()));
                    thread::sleep(Duration::from_millis(100));
                }
            })
        };
        Bar {
            bar,
            done,
            thread: Some(thread),
        }
    }

    /// Prints a line without disturbing the bar.
    pub(crate) fn report(&self, line: &str) {
        self.bar.suspend(|| rutter_daemon::eprint_line(line));
    }

    /// Removes the bar.
    pub(crate) fn end(self) {
        self.done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread {
            // The thread cannot panic.
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}
