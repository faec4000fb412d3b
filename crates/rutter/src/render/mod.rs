//! Prints answers as text: one view for each request.

mod advertised;
mod collector;
mod diff;
mod explain;
mod history;
mod log;
mod lookup;
mod peer;
mod peers;
mod process;
mod route;
mod routes;
mod sources;
mod stations;

use std::io::{self, Write};

use rutter_api::{Done, Line, Request};

use crate::paint::{Paint, Tone};

pub(crate) use diff::DiffView;

/// Prints rows as they arrive.
pub(crate) trait View {
    /// Prints a row.
    fn row(&mut self, line: Line, out: &mut dyn Write) -> io::Result<()>;
    /// Prints the end.
    fn end(&mut self, done: &Done, out: &mut dyn Write) -> io::Result<()>;
}

/// Returns the view for the answer to a request.
pub(crate) fn view_of(request: &Request, paint: Paint) -> Box<dyn View> {
    match request {
        Request::Status => Box::new(process::StatusView(paint)),
        Request::Peers => Box::new(peers::PeersView::new(paint)),
        Request::Peer { .. } => Box::new(peer::PeerView::new(paint)),
        Request::Routes(_) => Box::new(routes::RoutesView::new(paint)),
        Request::Advertised(query) => advertised::view_of(query.list, paint),
        Request::Route { .. } => Box::new(route::RouteView::new(paint)),
        Request::Rejected(_) => Box::new(routes::RejectedView::new(paint)),
        Request::Attributes { .. } => Box::new(routes::AttributesView::new(paint)),
        Request::Sinks => Box::new(collector::SinksView::new(paint)),
        Request::Sources => Box::new(sources::SourcesView::new(paint)),
        Request::Stations => Box::new(stations::StationsView::new(paint)),
        Request::Routers => Box::new(collector::RoutersView::new(paint)),
        Request::Memory => Box::new(process::MemoryView::new(paint)),
        Request::Explain { .. } => Box::new(explain::ExplainView(paint)),
        Request::Log { .. } => Box::new(log::LogView(paint)),
        Request::Reload
        | Request::Apply(_)
        | Request::Rollback { .. }
        | Request::Diff { .. }
        | Request::DiffText(_)
        | Request::DiffSources { .. } => Box::new(DiffView(paint)),
        Request::History => Box::new(history::HistoryView(paint)),
        Request::Lookup(_) => Box::new(lookup::LookupView::new(paint)),
        Request::Clear { .. }
        | Request::Confirm
        | Request::Source { .. }
        | Request::Upgrade
        | Request::Shutdown { .. }
        | Request::Table(_)
        | Request::Changes(_) => Box::new(MessageView),
    }
}

/// Prints only the result.
struct MessageView;

impl View for MessageView {
    fn row(&mut self, _: Line, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, done: &Done, out: &mut dyn Write) -> io::Result<()> {
        message(done, out)
    }
}

/// Prints the message of the daemon, if any.
fn message(done: &Done, out: &mut dyn Write) -> io::Result<()> {
    match &done.message {
        Some(text) => writeln!(out, "{text}"),
        None => Ok(()),
    }
}

/// Marks a truncated list.
fn truncated(done: &Done, paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    match done.truncated {
        true => writeln!(out, "{}", paint.tone(Tone::Faint, "… and more (--limit)")),
        false => Ok(()),
    }
}

/// Formats `name (AS64511, 192.0.2.11)`, or only AS and address if the name is the address.
fn source(peer: &rutter_api::RouteSource) -> String {
    match peer.name == peer.address.to_string() {
        true => format!("AS{} {}", peer.asn, peer.address),
        false => format!("{} (AS{}, {})", peer.name, peer.asn, peer.address),
    }
}

/// Prints a labelled line.
fn field(out: &mut dyn Write, label: &str, value: impl std::fmt::Display) -> io::Result<()> {
    writeln!(out, "  {label:<18} {value}")
}
