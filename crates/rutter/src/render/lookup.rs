//! `rutter lookup`.

use std::io::{self, Write};

use rutter_api::{Done, Line, LookupRow};

use super::View;
use crate::paint::{Paint, Tone};
use crate::text_table::{Cell, Column, TextTable};

/// Prints a line for each address.
pub(super) struct LookupView(TextTable);

impl LookupView {
    /// An empty table.
    pub(super) fn new(paint: Paint) -> Self {
        LookupView(TextTable::new(COLUMNS, paint))
    }
}

const COLUMNS: &[Column] = &[
    Column::Left("Address"),
    Column::Left("Prefix"),
    Column::Left("Origin"),
    Column::Left("Next hop"),
    Column::Left("From"),
    Column::Left("AS path"),
];

impl View for LookupView {
    fn row(&mut self, line: Line, out: &mut dyn Write) -> io::Result<()> {
        match line {
            Line::Lookup(row) => self.0.row(out, cells(&row)),
            _ => Ok(()),
        }
    }

    fn end(&mut self, _: &Done, out: &mut dyn Write) -> io::Result<()> {
        self.0.finish(out)
    }
}

fn cells(row: &LookupRow) -> Vec<Cell> {
    let Some(prefix) = row.prefix else {
        let nothing = || Cell::from("");
        return vec![
            row.address.into(),
            Cell::new(Tone::Bad, "no route"),
            nothing(),
            nothing(),
            nothing(),
            nothing(),
        ];
    };
    let attributes = row.attributes.clone().unwrap_or_default();
    let next_hop = attributes.next_hop.map(|addr| addr.to_string());
    let (tone, mark) = match (row.fallback, row.stale) {
        (false, false) => (Tone::Plain, ""),
        (true, false) => (Tone::Warn, " (best of all)"),
        (false, true) => (Tone::Warn, " (stale)"),
        (true, true) => (Tone::Warn, " (best of all, stale)"),
    };
    let from = row.peer.as_ref().map(|peer| format!("{}{mark}", peer.name));
    vec![
        row.address.into(),
        prefix.into(),
        origin(row),
        next_hop.unwrap_or_default().into(),
        Cell::new(tone, from.unwrap_or_default()),
        attributes.as_path.unwrap_or_default().into(),
    ]
}

/// Formats the origin AS, with its RPKI state if known.
fn origin(row: &LookupRow) -> Cell {
    let asn = row.origin_as.map(|asn| format!("AS{asn}"));
    let parts = asn.into_iter().chain(row.rov.clone());
    let tone = match row.rov.as_deref() {
        Some("invalid") => Tone::Bad,
        _ => Tone::Plain,
    };
    Cell::new(tone, parts.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fallback_and_stale_routes_are_marked_without_colors() {
        let shown = |fallback, stale| {
            let row = serde_json::json!({
                "kind": "lookup", "address": "192.0.2.1", "prefix": "192.0.2.0/24",
                "peer": {"name": "as64500", "address": "192.0.2.9", "asn": 64500},
                "fallback": fallback, "stale": stale,
            });
            let mut out = Vec::new();
            let mut view = LookupView::new(Paint::OFF);
            let line = serde_json::from_value(row).unwrap();
            view.row(line, &mut out).unwrap();
            view.end(&Done::default(), &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert!(shown(true, false).contains("  as64500 (best of all)  "));
        assert!(shown(false, true).contains("  as64500 (stale)  "));
        assert!(!shown(false, false).contains('('));
    }
}
