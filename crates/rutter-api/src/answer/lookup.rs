//! Answers `lookup` and `table`.

use std::collections::HashMap;
use std::net::IpAddr;

use rutter_net::{Family, Prefix};
use rutter_rib::{PeerSummary, RouteFilter, RouteView};
use rutter_rpki::Vrps;

use super::peers::PeerSelector;
use super::{Failure, RowWriter};
use crate::convert::{Sources, attributes_row};
use crate::{
    Backend, Line, LookupQuery, LookupRow, PrefixText, RouteSelector, TableRoutesRow, TableSetRow,
};

/// Sends a row for each address.
pub(super) fn lookup(
    backend: &dyn Backend,
    query: &LookupQuery,
    rows: &mut RowWriter<'_>,
) -> Result<(), Failure> {
    let peers = backend.peers();
    let sources = Sources::new(&peers);
    let wanted = wanted(&query.routes, &peers)?;
    let mut lookup = backend.rib().lookup();
    let vrps = backend.rib().outside_data().vrps.clone();
    for addr in &query.addresses {
        let found = |prefix, route: RouteView<'_>| {
            let row = found_row(*addr, prefix, &route, &sources);
            let validate = |vrps: &Vrps| vrps.validate(prefix, row.origin_as).name().to_owned();
            LookupRow {
                rov: vrps.as_deref().map(validate),
                ..row
            }
        };
        let row = match &wanted {
            None => lookup.best(*addr, found),
            Some(wanted) => lookup.best_of(*addr, wanted, found),
        };
        let fallback = || {
            let best = wanted.is_some() && query.or_best;
            let row = best.then(|| lookup.best(*addr, found)).flatten()?;
            Some(LookupRow {
                fallback: true,
                ..row
            })
        };
        let row = row.or_else(fallback).unwrap_or_else(|| nothing(*addr));
        rows.send(&Line::Lookup(Box::new(row)))?;
    }
    Ok(())
}

fn found_row(
    address: IpAddr,
    prefix: Prefix,
    route: &RouteView<'_>,
    sources: &Sources<'_>,
) -> LookupRow {
    LookupRow {
        prefix: Some(prefix),
        origin_as: route.attrs.origin_as().map(|asn| asn.0),
        peer: Some(sources.row(route.peer)),
        stale: route.stale,
        attributes: Some(attributes_row(route.attrs)),
        ..nothing(address)
    }
}

fn nothing(address: IpAddr) -> LookupRow {
    LookupRow {
        address,
        prefix: None,
        origin_as: None,
        peer: None,
        rov: None,
        fallback: false,
        stale: false,
        attributes: None,
    }
}

/// Resolves a selector to peers and next hops; `None` selects the best routes.
fn wanted(selector: &RouteSelector, peers: &[PeerSummary]) -> Result<Option<RouteFilter>, Failure> {
    if selector.is_any() {
        return Ok(None);
    }
    let mut of = RouteFilter {
        next_hops: selector.next_hops.clone(),
        ..RouteFilter::default()
    };
    for text in &selector.peers {
        let wanted = PeerSelector::new(text);
        let meant = peers.iter().filter(|peer| is_meant(&wanted, text, peer));
        let known = of.peers.len();
        of.peers.extend(meant.map(|peer| peer.id));
        if of.peers.len() == known {
            return Err(wanted.not_found());
        }
    }
    Ok(Some(of))
}

fn is_meant(wanted: &PeerSelector<'_>, text: &str, peer: &PeerSummary) -> bool {
    let neighbor = &peer.neighbor;
    let monitored = neighbor.monitored.as_ref();
    wanted.matches(&neighbor.name, neighbor.address, neighbor.remote_asn.0)
        || monitored.is_some_and(|m| m.router.eq_ignore_ascii_case(text))
}

/// The number of routes in one row.
const ROUTES: usize = 256;

/// Sends the best selected route of each destination, with each attribute set once.
pub(super) fn table(
    backend: &dyn Backend,
    selector: &RouteSelector,
    rows: &mut RowWriter<'_>,
) -> Result<(), Failure> {
    let snapshot = backend.snapshot();
    let sources = Sources::new(snapshot.peers());
    let wanted = wanted(selector, snapshot.peers())?;
    let mut sets = HashMap::new();
    let mut routes = Vec::with_capacity(ROUTES);
    for family in Family::ALL {
        for destination in snapshot.destinations(family) {
            let accepted = destination.routes.iter().filter(|r| r.reject.is_none());
            let mut accepted = accepted.filter(|r| wanted.as_ref().is_none_or(|w| w.wants(r)));
            let Some(route) = accepted.next() else {
                continue;
            };
            let next = sets.len() as u32;
            // Interned sets are equal if and only if their blocks have the same address.
            let key = (route.attrs.block().as_ptr() as usize, route.peer);
            let set = *sets.entry(key).or_insert(next);
            if set == next {
                rows.send(&Line::TableSet(Box::new(set_row(set, route, &sources))))?;
            }
            routes.push((set, PrefixText(destination.prefix)));
            if routes.len() == ROUTES {
                send_routes(&mut routes, rows)?;
            }
        }
    }
    send_routes(&mut routes, rows)
}

fn send_routes(
    routes: &mut Vec<(u32, PrefixText)>,
    rows: &mut RowWriter<'_>,
) -> Result<(), Failure> {
    if routes.is_empty() {
        return Ok(());
    }
    let full = std::mem::replace(routes, Vec::with_capacity(ROUTES));
    rows.send(&Line::TableRoutes(TableRoutesRow { routes: full }))
}

fn set_row(set: u32, route: &RouteView<'_>, sources: &Sources<'_>) -> TableSetRow {
    TableSetRow {
        set,
        peer: sources.row(route.peer),
        origin_as: route.attrs.origin_as().map(|asn| asn.0),
        attributes: attributes_row(route.attrs),
    }
}
