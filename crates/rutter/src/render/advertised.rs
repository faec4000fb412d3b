//! `rutter show routes --advertised-to CLIENT`: what a client is sent, what it is not sent, and the numbers of both.

use std::io::{self, Write};

use rutter_api::{AdvertisedCountRow, AdvertisedList, Done, Line};

use super::routes::{communities, path, text};
use super::{View, message, source, truncated};
use crate::paint::{Paint, Tone};
use crate::text_table::{Cell, Column, TextTable};
use crate::units::{grouped, plural};

/// Returns the view for a list.
pub(super) fn view_of(list: AdvertisedList, paint: Paint) -> Box<dyn View> {
    match list {
        AdvertisedList::Routes => Box::new(ListView::new(SENT, paint)),
        AdvertisedList::Withheld => Box::new(ListView::new(WITHHELD, paint)),
        AdvertisedList::Count => Box::new(CountView(paint)),
    }
}

/// Prints a line for each route.
struct ListView {
    table: TextTable,
    paint: Paint,
}

impl ListView {
    fn new(columns: &'static [Column], paint: Paint) -> Self {
        ListView {
            table: TextTable::new(columns, paint),
            paint,
        }
    }
}

impl View for ListView {
    fn row(&mut self, line: Line, out: &mut dyn Write) -> io::Result<()> {
        let mark = |best: bool| Cell::new(Tone::Good, if best { ">" } else { "" });
        let cells = match line {
            Line::Advertised(row) => vec![
                mark(row.best),
                row.prefix.into(),
                text(&row.attributes.next_hop).into(),
                row.peer.name.as_str().into(),
                text(&row.attributes.multi_exit_disc).into(),
                path(&row.attributes).into(),
                communities(&row.attributes).into(),
            ],
            Line::Withheld(row) => vec![
                mark(row.route.best),
                row.route.prefix.into(),
                row.route.peer.name.as_str().into(),
                path(&row.route.attributes).into(),
                Cell::new(Tone::Warn, row.withheld.name),
                row.withheld.explanation.as_str().into(),
            ],
            _ => return Ok(()),
        };
        self.table.row(out, cells)
    }

    fn end(&mut self, done: &Done, out: &mut dyn Write) -> io::Result<()> {
        self.table.finish(out)?;
        truncated(done, self.paint, out)?;
        writeln!(out, "{}", plural(done.rows, "route"))?;
        message(done, out)
    }
}

/// Prints a paragraph for each client and family.
struct CountView(Paint);

impl View for CountView {
    fn row(&mut self, line: Line, out: &mut dyn Write) -> io::Result<()> {
        let Line::AdvertisedCount(row) = line else {
            return Ok(());
        };
        let AdvertisedCountRow {
            to,
            family,
            prefixes,
            routes,
            withheld,
        } = *row;
        let to = self.0.tone(Tone::Strong, &source(&to));
        writeln!(out, "{to}, {family}")?;
        writeln!(out, "  {:>12} prefixes advertised", grouped(prefixes))?;
        if routes != prefixes {
            writeln!(out, "  {:>12} routes with Add-Path", grouped(routes))?;
        }
        for one in &withheld {
            let (routes, why) = (grouped(one.routes), &one.why);
            writeln!(out, "  {routes:>12} withheld: {}", why.explanation)?;
        }
        Ok(())
    }

    fn end(&mut self, done: &Done, out: &mut dyn Write) -> io::Result<()> {
        message(done, out)
    }
}

const SENT: &[Column] = &[
    Column::Left(""),
    Column::Left("PREFIX"),
    Column::Left("NEXT HOP"),
    Column::Left("FROM"),
    Column::Right("MED"),
    Column::Left("AS PATH"),
    Column::Left("COMMUNITIES"),
];

const WITHHELD: &[Column] = &[
    Column::Left(""),
    Column::Left("PREFIX"),
    Column::Left("FROM"),
    Column::Left("AS PATH"),
    Column::Left("WHY"),
    Column::Left(""),
];
