//! `rutter show peers`.

use std::io::{self, Write};

use rutter_api::{Done, Line, PeerRow, SessionState};

use super::View;
use crate::paint::{Paint, Tone};
use crate::text_table::{Cell, Column, TextTable};
use crate::units::{bytes, duration, grouped, plural};

/// Prints a table of sessions with totals.
pub(super) struct PeersView {
    table: TextTable,
    up: u64,
    accepted: u64,
    rejected: u64,
}

impl PeersView {
    /// An empty table.
    pub(super) fn new(paint: Paint) -> Self {
        PeersView {
            table: TextTable::new(COLUMNS, paint),
            up: 0,
            accepted: 0,
            rejected: 0,
        }
    }
}

impl View for PeersView {
    fn row(&mut self, line: Line, out: &mut dyn Write) -> io::Result<()> {
        let Line::Peer(peer) = line else {
            return Ok(());
        };
        let session = &peer.session;
        let accepted = peer.families.iter().map(|f| f.accepted).sum();
        let rejected = peer.families.iter().map(|f| f.rejected).sum();
        self.up += u64::from(session.state == SessionState::Established);
        self.accepted += accepted;
        self.rejected += rejected;
        let cells = vec![
            session.address.into(),
            session.asn.into(),
            state(&peer),
            duration(session.state_for_s).into(),
            grouped(accepted).into(),
            Cell::new(
                if rejected > 0 {
                    Tone::Warn
                } else {
                    Tone::Plain
                },
                grouped(rejected),
            ),
            grouped(session.received.messages.update).into(),
            bytes(session.sent.bytes).into(),
            session.name.as_str().into(),
        ];
        self.table.row(out, cells)
    }

    fn end(&mut self, done: &Done, out: &mut dyn Write) -> io::Result<()> {
        self.table.finish(out)?;
        writeln!(
            out,
            "{}, {} established; {} accepted, {} rejected",
            plural(done.rows, "session"),
            grouped(self.up),
            plural(self.accepted, "route"),
            grouped(self.rejected)
        )
    }
}

/// Formats the state with a note.
fn state(peer: &PeerRow) -> Cell {
    let session = &peer.session;
    let text = match (&session.shutdown, session.catching_up) {
        (Some(_), _) => format!("{} (shutdown)", session.state),
        (None, true) => format!("{} (catching up)", session.state),
        (None, false) => session.state.to_string(),
    };
    let tone = match session.state {
        SessionState::Established => Tone::Good,
        _ if session.shutdown.is_some() => Tone::Faint,
        SessionState::Idle => Tone::Bad,
        _ => Tone::Warn,
    };
    Cell::new(tone, text)
}

const COLUMNS: &[Column] = &[
    Column::Left("NEIGHBOR"),
    Column::Right("AS"),
    Column::Left("STATE"),
    Column::Right("FOR"),
    Column::Right("ACCEPTED"),
    Column::Right("REJECTED"),
    Column::Right("UPDATES"),
    Column::Right("SENT"),
    Column::Left("NAME"),
];
