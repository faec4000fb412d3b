//! Answers what a client is sent, what it is not sent and why, and how much of both: one walk in slices over the export
//! view.

use std::ops::ControlFlow;

use rutter_net::{Family, Prefix};
use rutter_policy::Class;
use rutter_rib::{
    AttrSet, DestinationPlace, ExportCount, ExportCounts, ExportedDestination, ExportedRoute,
    PeerId, PeerSummary, RouteCondition, RouteView, SentRoute, Withheld,
};

use super::count_cursor::CountCursor;
use super::page_cursor::PageCursor;
use super::page_time::PageTime;
use super::route_conditions::{Filter, selected_peers};
use super::{Failure, RowWriter};
use crate::convert::{Sources, route_row, sent_attributes_row, withheld_row};
use crate::{
    AdvertisedCountRow, AdvertisedList, AdvertisedQuery, AdvertisedRow, Backend, Done, Line,
    RouteFilter, WithheldCountRow, WithheldRouteRow,
};

/// Sends the rows that a query asks for.
pub(super) fn advertised(
    backend: &dyn Backend,
    query: &AdvertisedQuery,
    rows: &mut RowWriter<'_>,
) -> Result<Done, Failure> {
    let peers = backend.peers();
    let clients = match (query.to.as_str(), query.list) {
        // One walk counts for all of them.
        ("all", AdvertisedList::Count) => {
            peers.iter().filter(|one| one.session.is_some()).collect()
        }
        (to, _) => selected_peers(to, &peers)?,
    };
    let walk = Walk::new(backend, query, &peers, clients)?;
    let done = match query.list {
        AdvertisedList::Count => walk.count(rows)?,
        AdvertisedList::Routes | AdvertisedList::Withheld => walk.list(rows)?,
    };
    Ok(Done {
        rows: rows.count(),
        message: walk.without_session(),
        ..done
    })
}

/// The routes in memory at once, but for those of one destination.
const SLICE_ROUTES: usize = 2_048;

/// A walk over the destinations for some clients.
struct Walk<'a> {
    backend: &'a dyn Backend,
    query: &'a AdvertisedQuery,
    filter: Filter,
    /// Only routes that are withheld for this reason.
    reason: Option<Withheld>,
    sources: Sources<'a>,
    clients: Vec<&'a PeerSummary>,
}

/// A route for one client. It is made into a row after the slice, when no lock is held any more.
struct Found {
    to: PeerId,
    prefix: Prefix,
    best: bool,
    outcome: Outcome,
    attrs: AttrSet,
    peer: PeerId,
    path_id: u32,
    stale: bool,
    long_lived_stale: bool,
    class: Class,
}

enum Outcome {
    Sent(SentRoute),
    /// The reason, and the rule of an export filter.
    Withheld(Withheld, Option<String>),
}

impl<'a> Walk<'a> {
    fn new(
        backend: &'a dyn Backend,
        query: &'a AdvertisedQuery,
        peers: &'a [PeerSummary],
        clients: Vec<&'a PeerSummary>,
    ) -> Result<Self, Failure> {
        if query.filter.rejected {
            return Err(Failure::refused(
                "rejected routes are advertised to nobody: ask for them with `rutter show rejected`",
            ));
        }
        let received = RouteFilter {
            reason: None,
            ..query.filter.clone()
        };
        let reason = query.filter.reason.as_deref().map(reason).transpose()?;
        if reason.is_some() && query.list != AdvertisedList::Withheld {
            return Err(Failure::refused(
                "only withheld routes have a reason: ask for them, too",
            ));
        }
        Ok(Walk {
            backend,
            query,
            filter: Filter::new(&received, peers)?,
            reason,
            sources: Sources::new(peers),
            clients,
        })
    }

    /// Sends a row for each route, up to the limit or the end of the page.
    fn list(&self, rows: &mut RowWriter<'_>) -> Result<Done, Failure> {
        let limit = self.query.filter.limit.unwrap_or(u64::MAX);
        let pages = self.query.filter.after.as_deref();
        let start = PageCursor::parse(pages.unwrap_or_default())?;
        let cut = |next: Option<PageCursor>| Done {
            truncated: true,
            next: next.map(|next| next.to_string()),
            ..Done::default()
        };
        let mut time = PageTime::start(self.backend, rows);
        let families = self.filter.families();
        for family in families.filter(|family| self.filter.can_match(*family)) {
            let mut next = start.start(family);
            while let Some(place) = next {
                if pages.is_some() && time.is_over() {
                    return Ok(cut(Some(PageCursor { family, place })));
                }
                let (found, continues) =
                    self.slice(family, place, limit.saturating_sub(rows.count()));
                for one in &found {
                    if pages.is_none() && rows.count() == limit {
                        return Ok(cut(None));
                    }
                    rows.send(&self.row(one))?;
                }
                if let Continues::AfterLimit(place) = continues {
                    let next = PageCursor { family, place };
                    return Ok(cut(pages.map(|_| next)));
                }
                next = continues.place();
            }
        }
        Ok(Done::default())
    }

    /// The routes of one slice. Stops before a destination with more routes once there are `most`.
    fn slice(&self, family: Family, from: DestinationPlace, most: u64) -> (Vec<Found>, Continues) {
        let mut found = Vec::new();
        let mut is_full = false;
        let next = self.visit(family, from, |destination| {
            let before = found.len();
            for client in &self.clients {
                let routes = destination.to(client.id).filter(|route| self.wants(route));
                found.extend(routes.filter_map(|route| of(destination.prefix, client.id, &route)));
            }
            // One row more tells whether the list goes on.
            is_full = before as u64 >= most && found.len() > before;
            if is_full || before > 0 && found.len() > SLICE_ROUTES {
                found.truncate(before);
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        match (is_full, next) {
            (true, Some(place)) => (found, Continues::AfterLimit(place)),
            (_, Some(place)) => (found, Continues::At(place)),
            (_, None) => (found, Continues::Never),
        }
    }

    fn visit(
        &self,
        family: Family,
        from: DestinationPlace,
        each: impl FnMut(&ExportedDestination<'_>) -> ControlFlow<()>,
    ) -> Option<DestinationPlace> {
        let wanted = |prefix| self.filter.wants(prefix);
        self.backend.rib().visit_exports(family, from, wanted, each)
    }

    fn wants(&self, route: &ExportedRoute<'_>) -> bool {
        let is_listed = match (self.query.list, route.withheld) {
            (AdvertisedList::Count, _) => true,
            (AdvertisedList::Routes, withheld) => withheld.is_none(),
            (AdvertisedList::Withheld, None) => false,
            (AdvertisedList::Withheld, Some(why)) => self.reason.is_none_or(|only| only == why),
        };
        is_listed && self.filter.matches(&route.route, route.best)
    }

    fn row(&self, found: &Found) -> Line {
        match &found.outcome {
            Outcome::Sent(sent) => Line::Advertised(Box::new(AdvertisedRow {
                to: self.sources.row(found.to),
                prefix: found.prefix,
                peer: self.sources.row(found.peer),
                path_id: sent.path_id,
                best: found.best,
                stale: found.stale,
                attributes: sent_attributes_row(sent),
            })),
            Outcome::Withheld(why, rule) => Line::Withheld(Box::new(WithheldRouteRow {
                to: self.sources.row(found.to),
                withheld: withheld_row(*why, rule.clone()),
                route: route_row(found.prefix, &found.view(), found.best, &self.sources),
            })),
        }
    }

    /// Counts the routes of each client and family, and sends the counts that are complete when the page ends. One walk counts
    /// for many clients.
    fn count(&self, rows: &mut RowWriter<'_>) -> Result<Done, Failure> {
        let pages = self.query.filter.after.as_deref();
        let mut cursor = CountCursor::parse(pages.unwrap_or_default())?;
        let mut time = PageTime::start(self.backend, rows);
        // The cursor of a page has the numbers of all clients of its walk.
        let most = pages.map_or(usize::MAX, |_| CountCursor::MOST_CLIENTS);
        let mut rest = &self.clients[..];
        while !rest.is_empty() {
            let clients: Vec<&PeerSummary>;
            (clients, rest) = match &cursor {
                None => {
                    let (first, others) = rest.split_at(rest.len().min(most));
                    (first.to_vec(), others)
                }
                Some(cursor) => {
                    // A neighbor that came after the first page is not counted.
                    let is_counted = |one: &&&PeerSummary| cursor.clients().any(|id| id == one.id);
                    let end = cursor.clients().max();
                    let end = rest.partition_point(|one| Some(one.id) <= end);
                    let (first, others) = rest.split_at(end);
                    (first.iter().filter(is_counted).copied().collect(), others)
                }
            };
            if let Some(next) = self.count_for(&clients, cursor.take(), &mut time, rows)? {
                return Ok(Done {
                    truncated: true,
                    next: Some(next.to_string()),
                    ..Done::default()
                });
            }
        }
        Ok(Done::default())
    }

    /// Counts for some clients, from a cursor or the start. Returns the cursor if the page ends before.
    fn count_for(
        &self,
        clients: &[&PeerSummary],
        mut cursor: Option<CountCursor>,
        time: &mut PageTime,
        rows: &mut RowWriter<'_>,
    ) -> Result<Option<CountCursor>, Failure> {
        let has_pages = self.query.filter.after.is_some();
        let wanted = |prefix| self.filter.wants(prefix);
        let matches: RouteCondition<'_> = &|route, best| self.filter.matches(route, best);
        let condition = self.filter.has_conditions_on_routes().then_some(matches);
        for family in self.filter.families() {
            let mut next = match &cursor {
                Some(cursor) => cursor.place.start(family),
                None => Some(DestinationPlace::default()),
            };
            if next.is_none() {
                continue;
            }
            let mut counts = match cursor.take().filter(|one| one.place.family == family) {
                Some(cursor) => ExportCounts::continued(cursor.counts),
                None => ExportCounts::new(clients.iter().map(|client| client.id)),
            };
            while let Some(place) = next {
                if has_pages && time.is_over() {
                    let of = |client: &&PeerSummary| (client.id, counts.of(client.id));
                    return Ok(Some(CountCursor {
                        place: PageCursor { family, place },
                        counts: clients.iter().map(of).collect(),
                    }));
                }
                let rib = self.backend.rib();
                next = rib.count_exports(family, place, wanted, condition, &mut counts);
            }
            for client in clients {
                let session = client.session.as_ref();
                if session.is_some_and(|session| session.family(family).is_some()) {
                    let row = count_row(self.sources.row(client.id), family, counts.of(client.id));
                    rows.send(&Line::AdvertisedCount(Box::new(row)))?;
                }
            }
        }
        Ok(None)
    }

    /// Names the clients that are sent nothing because they have no session.
    fn without_session(&self) -> Option<String> {
        let down = self.clients.iter().filter(|one| one.session.is_none());
        let names: Vec<&str> = down.map(|one| &*one.neighbor.name).collect();
        match names.as_slice() {
            [] => None,
            [name] => Some(format!("{name} is not established: it is sent nothing")),
            names => Some(format!(
                "{} are not established: they are sent nothing",
                names.join(", ")
            )),
        }
    }
}

/// Where a list continues after a slice.
enum Continues {
    At(DestinationPlace),
    /// The limit is reached, and this destination has more.
    AfterLimit(DestinationPlace),
    Never,
}

impl Continues {
    fn place(&self) -> Option<DestinationPlace> {
        match self {
            Continues::At(place) | Continues::AfterLimit(place) => Some(*place),
            Continues::Never => None,
        }
    }
}

fn of(prefix: Prefix, to: PeerId, exported: &ExportedRoute<'_>) -> Option<Found> {
    let route = &exported.route;
    Some(Found {
        to,
        prefix,
        best: exported.best,
        outcome: match exported.withheld {
            Some(why) => Outcome::Withheld(why, exported.filter_evidence()),
            None => Outcome::Sent(exported.sent()?),
        },
        attrs: route.attrs.clone(),
        peer: route.peer,
        path_id: route.path_id,
        stale: route.stale,
        long_lived_stale: route.long_lived_stale,
        class: route.class,
    })
}

impl Found {
    fn view(&self) -> RouteView<'_> {
        RouteView {
            peer: self.peer,
            path_id: self.path_id,
            attrs: &self.attrs,
            stale: self.stale,
            long_lived_stale: self.long_lived_stale,
            reject: None,
            class: self.class,
        }
    }
}

fn count_row(to: crate::RouteSource, family: Family, count: ExportCount) -> AdvertisedCountRow {
    let withheld = count.reasons().map(|(why, routes)| WithheldCountRow {
        routes,
        why: withheld_row(why, None),
    });
    AdvertisedCountRow {
        to,
        family: family.to_string(),
        prefixes: count.prefixes,
        routes: count.routes,
        withheld: withheld.collect(),
    }
}

fn reason(text: &str) -> Result<Withheld, Failure> {
    let found = Withheld::ALL.into_iter().find(|why| why.name() == text);
    found.ok_or_else(|| {
        let names = Withheld::ALL.map(Withheld::name);
        Failure::refused(format!(
            "`{text}` is no reason to withhold a route: write one of {}",
            names.join(", ")
        ))
    })
}
