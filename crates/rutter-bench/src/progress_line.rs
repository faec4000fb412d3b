//! A line on the terminal that shows the progress of some work.

use std::fmt::{self, Display, Write as _};
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::termios::tcgetwinsize;

/// A line on standard error with a bar. Nothing is shown if standard error is no terminal.
///
/// Dropping it removes the line.
pub struct ProgressLine {
    label: String,
    begun: Instant,
    /// The time when the line was last drawn; `None` if it is not on the terminal.
    drawn: Mutex<Option<Instant>>,
    visible: bool,
}

/// The least time between two drawings of a line.
const INTERVAL: Duration = Duration::from_millis(100);

/// The widest bar, in columns.
const WIDEST_BAR: usize = 40;

impl ProgressLine {
    /// A line that begins with a label.
    pub fn new(label: impl Into<String>) -> Self {
        ProgressLine {
            label: label.into(),
            begun: Instant::now(),
            drawn: Mutex::new(None),
            visible: io::stderr().is_terminal(),
        }
    }

    /// A line that is never shown.
    pub fn hidden() -> Self {
        let mut line = Self::new("");
        line.visible = false;
        line
    }

    /// Shows that `done` of `total` is done, followed by a text. A total of 0 is unknown, and shown without a bar. Most calls
    /// do nothing, because the line changes only a few times a second.
    pub fn show(&self, done: u64, total: u64, text: impl Display) {
        if !self.visible {
            return;
        }
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        if drawn.is_none_or(|at| at.elapsed() >= INTERVAL) {
            let fraction = fraction(done, total);
            let line = line(&self.label, fraction, &text.to_string(), columns());
            write_raw(format_args!("\r{line}\x1b[K"));
            *drawn = Some(Instant::now());
        }
    }

    /// Prints a line above this one.
    pub fn print_above(&self, text: impl Display) {
        self.replace_with(format_args!("{text}\n"));
    }

    /// Removes the line from the terminal, until it is shown again.
    pub fn remove(&self) {
        self.replace_with("");
    }

    fn replace_with(&self, text: impl Display) {
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        match drawn.take() {
            Some(_) => write_raw(format_args!("\r\x1b[K{text}")),
            None => write_raw(text),
        }
    }

    /// Returns the time since the line was made.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Returns the time that the rest of the work takes if its speed stays the same.
    pub fn time_left(&self, done: u64, total: u64) -> Option<Duration> {
        let fraction = fraction(done, total)?;
        let left = self.elapsed().as_secs_f64() * (1.0 / fraction - 1.0);
        Duration::try_from_secs_f64(left).ok()
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.remove();
    }
}

/// A number of bytes, shown in MiB.
pub struct Mebibytes(pub u64);

impl Display for Mebibytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} MiB", self.0 as f64 / f64::from(1 << 20))
    }
}

fn fraction(done: u64, total: u64) -> Option<f64> {
    (total > 0).then(|| (done as f64 / total as f64).min(1.0))
}

/// Returns a line that is shorter than the terminal is wide, so that it never wraps.
fn line(label: &str, fraction: Option<f64>, text: &str, columns: usize) -> String {
    let mut line = label.to_owned();
    let room = columns.saturating_sub(label.chars().count() + text.chars().count() + 5);
    if let Some(fraction) = fraction.filter(|_| room > 0) {
        let width = room.min(WIDEST_BAR);
        let filled = (fraction * width as f64) as usize;
        // Writing to a string cannot fail.
        let _ = write!(line, " [{:width$}]", "#".repeat(filled));
    }
    line.push(' ');
    line.push_str(text);
    line.chars().take(columns.saturating_sub(1)).collect()
}

/// Returns the width of the terminal.
fn columns() -> usize {
    match tcgetwinsize(io::stderr()) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col),
        _ => 80,
    }
}

/// Writes to standard error. An error means that nobody sees the progress.
fn write_raw(text: impl Display) {
    let mut stderr = io::stderr().lock();
    let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_takes_the_room_beside_the_texts() {
        let half = line("read", Some(0.5), "1/2", 40);
        assert_eq!(half, format!("read [{:28}] 1/2", "#".repeat(14)));
        assert_eq!(half.len(), 39);
        let full = line("read", Some(1.0), "2/2", 200);
        assert_eq!(full, format!("read [{}] 2/2", "#".repeat(WIDEST_BAR)));
    }

    #[test]
    fn a_line_never_reaches_the_last_column() {
        for columns in 0..60 {
            let long = line("received", Some(0.3), "30 of 100 routes, 1 client", columns);
            assert!(long.chars().count() < columns.max(1), "{columns}: {long}");
        }
    }

    #[test]
    fn work_of_an_unknown_amount_has_no_bar() {
        assert_eq!(line("read", None, "1.0 MiB", 80), "read 1.0 MiB");
        assert_eq!(ProgressLine::new("read").time_left(1, 0), None);
    }

    #[test]
    fn the_time_left_follows_from_the_speed() {
        let mut line = ProgressLine::new("read");
        line.begun -= Duration::from_secs(60);
        let left = line.time_left(25, 100).unwrap().as_secs_f64();
        assert!((180.0..240.0).contains(&left), "{left}");
        assert_eq!(line.time_left(100, 100), Some(Duration::ZERO));
        assert_eq!(line.time_left(0, 100), None);
    }

    #[test]
    fn bytes_are_shown_in_mebibytes() {
        assert_eq!(Mebibytes(3 << 19).to_string(), "1.5 MiB");
    }
}
