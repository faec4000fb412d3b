//! `rutter show status`, `rutter show memory`.

use std::io::{self, Write};

use rutter_api::{Done, Line, SelectionDeferralRow};

use super::{View, field};
use crate::paint::{Paint, Tone};
use crate::text_table::{Column, TextTable};
use crate::units::{bytes, duration, grouped, timestamp};

/// Prints the state of the process.
pub(super) struct StatusView(pub(super) Paint);

impl View for StatusView {
    fn row(&mut self, line: Line, out: &mut dyn Write) -> io::Result<()> {
        let Line::Status(s) = line else {
            return Ok(());
        };
        let title = format!("rutter {}, AS{} {}", s.version, s.asn, s.router_id);
        writeln!(out, "{}", self.0.tone(Tone::Strong, &title))?;
        field(
            out,
            "process",
            format_args!("{}, up {}", s.pid, duration(s.uptime_s)),
        )?;
        field(
            out,
            "sessions",
            format_args!("{}, {} established", s.peers, s.established),
        )?;
        field(out, "I/O threads", s.threads)?;
        field(out, "CPU", format_args!("{:.2}s", s.cpu_s))?;
        field(out, "memory", bytes(s.rss_bytes))?;
        if s.table_limit_bytes > 0 {
            let (table, limit) = (bytes(s.table_bytes), bytes(s.table_limit_bytes));
            field(out, "table", format_args!("{table}, at most {limit}"))?;
        }
        field(
            out,
            "configuration",
            format_args!(
                "{}, read {}",
                s.config_file,
                timestamp(s.config_loaded_at.saturating_mul(1_000_000))
            ),
        )?;
        if let Some(deferral) = &s.selection_deferral {
            let text = describe(deferral);
            field(out, "restart", self.0.tone(Tone::Warn, &text))?;
        }
        match &s.last_reload_error {
            Some(error) => field(out, "reload refused", self.0.tone(Tone::Bad, error)),
            None => Ok(()),
        }
    }

    fn end(&mut self, _: &Done, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

/// The neighbors for which Rutter waits after a restart, and how long.
fn describe(deferral: &SelectionDeferralRow) -> String {
    let count = deferral.awaited.len();
    let first = deferral.awaited.iter().take(MOST_AWAITED);
    let mut names: Vec<String> = first.map(|n| n.address.to_string()).collect();
    if count > MOST_AWAITED {
        names.push(format!("{} more", count - MOST_AWAITED));
    }
    format!(
        "nothing is advertised yet; waits for {}, at most {}",
        names.join(", "),
        duration(deferral.remaining_s)
    )
}

/// The awaited neighbors that a line has room for.
const MOST_AWAITED: usize = 5;

/// Prints a table of memory by purpose with a total.
pub(super) struct MemoryView {
    table: TextTable,
    total: u64,
}

impl MemoryView {
    /// An empty table.
    pub(super) fn new(paint: Paint) -> Self {
        MemoryView {
            table: TextTable::new(COLUMNS, paint),
            total: 0,
        }
    }
}

impl View for MemoryView {
    fn row(&mut self, line: Line, out: &mut dyn Write) -> io::Result<()> {
        let Line::Memory(row) = line else {
            return Ok(());
        };
        self.total += row.bytes;
        let each = match row.count {
            0 => String::new(),
            count => format!("{:.1}", row.bytes as f64 / count as f64),
        };
        let cells = vec![
            row.what.into(),
            grouped(row.count).into(),
            bytes(row.bytes).into(),
            each.into(),
        ];
        self.table.row(out, cells)
    }

    fn end(&mut self, _: &Done, out: &mut dyn Write) -> io::Result<()> {
        self.table.finish(out)?;
        writeln!(out, "{} in total", bytes(self.total))
    }
}

const COLUMNS: &[Column] = &[
    Column::Left("WHAT"),
    Column::Right("COUNT"),
    Column::Right("MEMORY"),
    Column::Right("BYTES EACH"),
];
