//! `rutter log`.

use std::io::{self, Write};

use rutter_api::{Done, Line};

use super::View;
use crate::paint::{Paint, Tone};
use crate::units::timestamp;

/// Prints log lines.
pub(super) struct LogView(pub(super) Paint);

impl View for LogView {
    fn row(&mut self, line: Line, out: &mut dyn Write) -> io::Result<()> {
        let Line::Log(row) = line else {
            return Ok(());
        };
        let tone = match row.level.to_ascii_lowercase().as_str() {
            "error" => Tone::Bad,
            "warn" => Tone::Warn,
            "debug" | "trace" => Tone::Faint,
            _ => Tone::Plain,
        };
        let level = self
            .0
            .tone(tone, &format!("{:<5}", row.level.to_lowercase()));
        let when = self.0.tone(Tone::Faint, &timestamp(row.unix_us));
        match &row.peer {
            Some(peer) => {
                let peer = self.0.tone(Tone::Strong, peer);
                writeln!(out, "{when} {level} {peer}: {}", row.message)
            }
            None => writeln!(out, "{when} {level} {}", row.message),
        }
    }

    fn end(&mut self, _: &Done, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
