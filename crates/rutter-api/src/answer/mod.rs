//! The answers to requests, one module for each group.

mod advertised;
mod changes;
mod collector;
mod control;
mod count_cursor;
mod diff_routes;
mod explain;
mod log;
mod lookup;
mod page_cursor;
mod page_time;
mod peers;
mod route_conditions;
mod routes;
mod row_writer;
mod what_if;

pub use peers::PeerSelector;
pub use row_writer::{Failure, RowSink};

use row_writer::RowWriter;

use rutter_config::ConfigSource;

use crate::{Backend, Done, Line, MemoryRow, ReloadError, Request};

/// Writes the rows of an answer to `sink`, and returns its end. The transport sends the end in a form of its own.
///
/// Blocks for as long as the answer takes, so it needs a thread that may wait.
pub fn answer(
    request: &Request,
    backend: &dyn Backend,
    sink: &mut dyn RowSink,
) -> Result<Done, Failure> {
    let rows = &mut RowWriter::new(sink);
    match request {
        Request::Status => rows.send(&Line::Status(Box::new(backend.status())))?,
        Request::Peers => peers::all(backend, rows)?,
        Request::Peer { peer } => peers::one(backend, peer, rows)?,
        Request::Routes(filter) => return routes::routes(backend, filter, rows),
        Request::Rejected(filter) => return routes::rejected(backend, filter, rows),
        Request::Advertised(query) => return advertised::advertised(backend, query, rows),
        Request::Attributes { limit } => return routes::attribute_sets(backend, *limit, rows),
        Request::Route { target } => explain::route(backend, target, rows)?,
        Request::Explain { target, what_if } => match what_if {
            None => explain::explain(backend, target, rows)?,
            Some(route) => what_if::explain(backend, target, route, rows)?,
        },
        Request::Lookup(query) => lookup::lookup(backend, query, rows)?,
        Request::Table(selector) => lookup::table(backend, selector, rows)?,
        Request::Memory => memory(backend, rows)?,
        Request::Sinks => collector::sinks(backend, rows)?,
        Request::Routers => collector::routers(backend, rows)?,
        Request::Sources => sources(backend, rows)?,
        Request::Stations => stations(backend, rows)?,
        Request::Source { name, action } => {
            return control::source(backend, name, *action);
        }
        Request::Changes(query) => changes::changes(backend, query, rows)?,
        Request::Log { follow } => log::log(backend, *follow, rows)?,
        Request::Clear { peer, how } => return control::clear(backend, peer, *how),
        Request::Apply(order) => return control::applied(backend.apply(order), rows),
        Request::Rollback { number } => return control::applied(backend.rollback(*number), rows),
        Request::Confirm => return control::confirm(backend),
        Request::History => {
            for row in backend.history() {
                rows.send(&Line::History(row))?;
            }
        }
        Request::Reload => return control::reload(backend, rows),
        Request::Diff { file, routes } => {
            let source = file.clone().map(ConfigSource::File);
            return diff(backend, source.as_ref(), *routes, rows);
        }
        Request::DiffText(asked) => {
            let source = ConfigSource::Text {
                name: asked.name.clone(),
                text: asked.text.clone(),
            };
            return diff(backend, Some(&source), asked.routes, rows);
        }
        Request::DiffSources { routes } => {
            let preview =
                |snapshot: &_, note: &mut dyn FnMut(_)| backend.preview_sources(snapshot, note);
            let limits = || Ok(backend.preview_limits_of_sources());
            return diff_routes::send(backend, (preview, limits), *routes, rows);
        }
        Request::Upgrade => return control::upgrade(backend),
        Request::Shutdown { text } => return Ok(control::shutdown(backend, text.as_deref())),
    }
    Ok(Done {
        rows: rows.count(),
        ..Done::default()
    })
}

/// Sends the changes that a reload with this configuration would make, and those of routes.
fn diff(
    backend: &dyn Backend,
    source: Option<&ConfigSource>,
    routes: Option<u64>,
    rows: &mut RowWriter<'_>,
) -> Result<Done, Failure> {
    control::diff(backend, source, rows)?;
    let Some(limit) = routes else {
        return Ok(Done {
            rows: rows.count(),
            ..Done::default()
        });
    };
    let in_words = |error| match error {
        ReloadError::Config(_) => "the configuration has errors".to_owned(),
        ReloadError::Other(text) => text,
    };
    let preview = |snapshot: &_, note: &mut dyn FnMut(_)| {
        let result = backend.preview(source, snapshot, note);
        result.map_err(in_words)
    };
    let limits = || backend.preview_limits(source).map_err(in_words);
    diff_routes::send(backend, (preview, limits), limit, rows)
}

fn stations(backend: &dyn Backend, rows: &mut RowWriter<'_>) -> Result<(), Failure> {
    for station in backend.stations() {
        rows.send(&Line::Station(Box::new(station)))?;
    }
    Ok(())
}

fn sources(backend: &dyn Backend, rows: &mut RowWriter<'_>) -> Result<(), Failure> {
    for source in backend.sources() {
        rows.send(&Line::Source(Box::new(source)))?;
    }
    Ok(())
}

fn memory(backend: &dyn Backend, rows: &mut RowWriter<'_>) -> Result<(), Failure> {
    for row in backend.memory() {
        rows.send(&Line::Memory(MemoryRow {
            what: row.what.to_owned(),
            count: row.count,
            bytes: row.bytes,
        }))?;
    }
    Ok(())
}
