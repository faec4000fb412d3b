//! A list of routes, page by page.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use rutter_api::{Backend, Failure, Line, Request, RouteRow, RowSink};
use rutter_net::Prefix;

use super::reasons::{OWN_ROUTE, reject_community, withheld_community};
use super::route_row::{ShownRoute, write};
use super::sessions::SessionNames;
use super::{ReasonNumbers, envelope};
use crate::answer_threads::Work;
use crate::json_page::{LONGEST_ANSWER, failed};
use crate::problem::Problem;

/// A list of routes that is being sent, or counted.
pub(crate) struct RouteList {
    request: Request,
    wanted: Wanted,
    numbers: ReasonNumbers,
    state: State,
    /// The routes so far, if only their number is sent.
    count: Option<u64>,
}

/// The rows of the request that belong to the list.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Wanted {
    /// Accepted routes only.
    pub(super) accepted: bool,
    /// Routes to this destination only.
    pub(super) prefix: Option<Prefix>,
    /// Routes of this neighbor only.
    pub(super) from: Option<IpAddr>,
    /// Routes with a large community that begins like this only.
    pub(super) large: Option<String>,
}

enum State {
    New,
    Continues(Box<Context>),
    Complete,
}

struct Context {
    names: SessionNames,
    asn: u32,
    /// No route has been written.
    is_empty: bool,
}

/// The rows of a page. A page ends with a whole destination.
const PAGE: u64 = 500;

impl RouteList {
    pub(super) fn new(request: Request, wanted: Wanted, numbers: ReasonNumbers) -> Self {
        RouteList {
            request: with_place(request, String::new(), Some(PAGE)),
            wanted,
            numbers,
            state: State::New,
            count: None,
        }
    }

    /// Sends the number of routes only.
    pub(super) fn counted(self) -> Self {
        RouteList {
            request: with_place(self.request, String::new(), None),
            count: Some(0),
            ..self
        }
    }

    /// The kind of work of its pages.
    pub(crate) fn work(&self) -> Work {
        Work::of(&self.request)
    }

    /// Returns whether the last page was returned.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self.state, State::Complete)
    }

    /// Computes the next part of the JSON text. A part without a route is a space, so that the client sees progress.
    /// It ends after `longest_page`. Blocks.
    ///
    /// # Errors
    ///
    /// The list cannot begin, or it cannot go on because its neighbor was removed.
    pub(crate) fn next_part(
        &mut self,
        backend: &dyn Backend,
        longest_page: Duration,
    ) -> Result<Vec<u8>, Problem> {
        let mut json = match self.count {
            Some(count) => self.next_count(count, backend, longest_page)?,
            None => self.next_rows(backend, longest_page)?,
        };
        if json.is_empty() && !self.is_complete() {
            json.push(b' ');
        }
        Ok(json)
    }

    fn next_rows(
        &mut self,
        backend: &dyn Backend,
        longest_page: Duration,
    ) -> Result<Vec<u8>, Problem> {
        let mut json = Vec::new();
        let mut context = match std::mem::replace(&mut self.state, State::Complete) {
            State::Complete => return Ok(json),
            State::Continues(context) => context,
            State::New => {
                let mut head = envelope().to_string();
                head.truncate(head.len() - 1);
                json.extend_from_slice(head.as_bytes());
                json.extend_from_slice(b",\"routes\":[");
                Box::new(Context {
                    names: SessionNames::new(backend),
                    asn: backend.status().asn,
                    is_empty: true,
                })
            }
        };
        let mut page = Page {
            list: self,
            context: &mut context,
            json: &mut json,
            longest_page,
        };
        let next = match rutter_api::answer(&self.request, backend, &mut page) {
            Ok(done) => done.next,
            // Nothing is wrong with a destination that has no route.
            Err(Failure::NotFound(_)) if matches!(self.request, Request::Route { .. }) => None,
            Err(failure) => return Err(failed(failure)),
        };
        match next {
            Some(place) => {
                self.request = with_place(self.request.clone(), place, Some(PAGE));
                self.state = State::Continues(context);
            }
            None => json.extend_from_slice(b"]}"),
        }
        Ok(json)
    }

    /// Counts the routes of the next page. The last part is the answer.
    fn next_count(
        &mut self,
        count: u64,
        backend: &dyn Backend,
        longest_page: Duration,
    ) -> Result<Vec<u8>, Problem> {
        let mut counter = Counter {
            wanted: &self.wanted,
            routes: count,
            longest_page,
        };
        let done = rutter_api::answer(&self.request, backend, &mut counter).map_err(failed)?;
        let routes = counter.routes;
        self.count = Some(routes);
        if let Some(place) = done.next {
            self.request = with_place(self.request.clone(), place, None);
            return Ok(Vec::new());
        }
        self.state = State::Complete;
        let mut answer = envelope();
        answer["routes"] = routes.into();
        Ok(answer.to_string().into_bytes())
    }

    /// Returns a row as a route, if the list has it.
    fn shown<'a>(&self, line: &'a Line, asn: u32) -> Option<ShownRoute<'a>> {
        if !self.wanted.has(line) {
            return None;
        }
        match line {
            Line::Route(row) => {
                let reason = row.rejected.as_ref();
                let reason = reason.map(|why| reject_community(self.numbers, why, row.prefix));
                Some(received(row, reason, asn))
            }
            Line::Withheld(row) => {
                let reason = withheld_community(&row.withheld.name);
                Some(received(&row.route, reason, asn))
            }
            Line::Advertised(row) => Some(ShownRoute {
                prefix: row.prefix,
                peer: &row.peer,
                best: row.best,
                attributes: &row.attributes,
                reason: None,
            }),
            _ => None,
        }
    }
}

impl Wanted {
    fn has(&self, line: &Line) -> bool {
        let (prefix, from, is_rejected, attributes) = match line {
            Line::Route(row) => (
                row.prefix,
                &row.peer,
                row.rejected.is_some(),
                &row.attributes,
            ),
            // BIRD does not list a client's own routes.
            Line::Withheld(row) if row.withheld.name == OWN_ROUTE => return false,
            Line::Withheld(row) => {
                let route = &row.route;
                (route.prefix, &route.peer, false, &route.attributes)
            }
            Line::Advertised(row) => (row.prefix, &row.peer, false, &row.attributes),
            _ => return false,
        };
        let has_large = |start: &String| {
            let mut all = attributes.large_communities.iter();
            all.any(|one| one.starts_with(start.as_str()))
        };
        !(self.accepted && is_rejected)
            && self.prefix.is_none_or(|wanted| wanted == prefix)
            && self.from.is_none_or(|wanted| wanted == from.address)
            && self.large.as_ref().is_none_or(has_large)
    }
}

fn received(row: &RouteRow, reason: Option<(u32, u32)>, asn: u32) -> ShownRoute<'_> {
    ShownRoute {
        prefix: row.prefix,
        peer: &row.peer,
        best: row.best,
        attributes: &row.attributes,
        reason: reason.map(|(function, number)| [asn, function, number]),
    }
}

/// Returns the request for the page from this place on, with so many rows or as many as its time allows.
fn with_place(mut request: Request, place: String, rows: Option<u64>) -> Request {
    if let Request::Routes(filter) = &mut request {
        (filter.limit, filter.after) = (rows, Some(place));
    } else if let Request::Advertised(query) = &mut request {
        (query.filter.limit, query.filter.after) = (rows, Some(place));
    }
    request
}

struct Page<'a> {
    list: &'a RouteList,
    context: &'a mut Context,
    json: &'a mut Vec<u8>,
    longest_page: Duration,
}

impl RowSink for Page<'_> {
    fn write_row(&mut self, line: &Line) -> io::Result<()> {
        if self.json.len() > LONGEST_ANSWER {
            return Err(io::Error::other("the destination has too many routes"));
        }
        let Some(route) = self.list.shown(line, self.context.asn) else {
            return Ok(());
        };
        if !std::mem::replace(&mut self.context.is_empty, false) {
            self.json.push(b',');
        }
        write(&route, &self.context.names, self.json)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn client_has_disconnected(&self) -> bool {
        false
    }

    fn longest_page(&self) -> Duration {
        self.longest_page
    }
}

struct Counter<'a> {
    wanted: &'a Wanted,
    routes: u64,
    longest_page: Duration,
}

impl RowSink for Counter<'_> {
    fn write_row(&mut self, line: &Line) -> io::Result<()> {
        self.routes += u64::from(self.wanted.has(line));
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn client_has_disconnected(&self) -> bool {
        false
    }

    fn longest_page(&self) -> Duration {
        self.longest_page
    }
}
