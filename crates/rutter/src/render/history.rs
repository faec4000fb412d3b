//! The configurations that ran.

use std::io::{self, Write};

use rutter_api::{Done, HistoryRow, Line};
use rutter_net::Date;

use super::View;
use crate::paint::{Paint, Tone};

/// Prints one configuration a line.
pub(crate) struct HistoryView(pub(crate) Paint);

impl View for HistoryView {
    fn row(&mut self, line: Line, out: &mut dyn Write) -> io::Result<()> {
        let Line::History(row) = line else {
            return Ok(());
        };
        let HistoryRow {
            number,
            unix_s,
            by,
            action,
            ..
        } = &row;
        let state = match (row.goes_back_in_s, row.running) {
            (Some(left_s), _) => {
                let text = format!("  in force, goes back in {left_s} s without `rutter confirm`");
                self.0.tone(Tone::Warn, &text)
            }
            (None, true) => self.0.tone(Tone::Good, "  in force"),
            (None, false) => String::new(),
        };
        writeln!(out, "{number:>5}  {}  {by}: {action}{state}", utc(*unix_s))
    }

    fn end(&mut self, done: &Done, out: &mut dyn Write) -> io::Result<()> {
        match done.rows {
            0 => writeln!(out, "no configurations are kept"),
            _ => Ok(()),
        }
    }
}

/// A time in Unix seconds as `2026-11-25 22:31:12 UTC`.
fn utc(unix_s: u64) -> String {
    let of_day = unix_s % 86_400;
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    let date = Date::of_second(unix_s);
    format!("{date} {hour:02}:{minute:02}:{second:02} UTC")
}
