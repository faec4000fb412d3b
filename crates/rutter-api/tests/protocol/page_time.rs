//! Pages that end because their time is over.

use std::time::Duration;

use rutter_api::{AdvertisedList, AdvertisedQuery, Done, Line, Request, RouteFilter};

use crate::advertised::query;
use crate::send;
use crate::world::World;

/// A daemon whose pages end after one step.
fn hurried() -> World {
    let mut world = World::new();
    world.page_time = Duration::ZERO;
    world
}

/// The rows of all pages as JSON, and the number of pages.
fn pages(world: &World, request: impl Fn(String) -> Request) -> (Vec<String>, usize) {
    let (mut rows, mut pages) = (Vec::new(), 0);
    let mut after = Some(String::new());
    while let Some(place) = after {
        let mut lines = send(world, request(place));
        let Some(Line::Done(Done {
            next, truncated, ..
        })) = lines.pop()
        else {
            panic!("no end");
        };
        assert_eq!(truncated, next.is_some());
        let texts = lines
            .iter()
            .map(|line| serde_json::to_string(line).unwrap());
        rows.extend(texts);
        pages += 1;
        assert!(pages < 1_000, "the list has an end");
        after = next;
    }
    rows.sort();
    (rows, pages)
}

fn page(after: String) -> RouteFilter {
    RouteFilter {
        limit: Some(1_000),
        after: Some(after),
        ..RouteFilter::default()
    }
}

#[test]
fn a_list_has_the_same_routes_however_short_the_time_of_a_page() {
    let list = |after| Request::Routes(page(after));
    let (all, one) = pages(&World::new(), list);
    let (rows, many) = pages(&hurried(), list);
    assert_eq!((rows.len(), one), (4, 1));
    assert_eq!(rows, all);
    // One for each destination.
    assert_eq!(many, 3);
}

#[test]
fn a_page_without_rows_leads_to_the_next() {
    let list = |after| {
        Request::Routes(RouteFilter {
            community: Some("64999:64999".into()),
            ..page(after)
        })
    };
    assert_eq!(pages(&hurried(), list), (Vec::new(), 3));
    let list = |after| {
        Request::Routes(RouteFilter {
            within: "192.0.2.0/24".parse().ok(),
            ..page(after)
        })
    };
    assert_eq!(pages(&hurried(), list), (Vec::new(), 3));
}

#[test]
fn the_routes_of_a_client_and_their_number_continue_too() {
    for list in [
        AdvertisedList::Routes,
        AdvertisedList::Withheld,
        AdvertisedList::Count,
    ] {
        for to in ["alpha", "beta", "gamma"] {
            let request = |after| {
                Request::Advertised(AdvertisedQuery {
                    filter: page(after),
                    ..query(to, list)
                })
            };
            let (all, _) = pages(&World::new(), request);
            let (rows, many) = pages(&hurried(), request);
            assert_eq!(rows, all, "{to}");
            assert!(many > 1, "{many}");
        }
    }
}

#[test]
fn many_clients_are_counted_together_and_page_by_page() {
    let count = |world: &World| {
        world.add_clients(20_100, 80);
        pages(world, |after| {
            Request::Advertised(AdvertisedQuery {
                filter: page(after),
                ..query("AS20100", AdvertisedList::Count)
            })
        })
    };
    let (all, one) = count(&World::new());
    assert_eq!((all.len(), one), (80, 1));
    assert!(
        all.iter().all(|row| row.contains("\"prefixes\":2")),
        "{all:?}"
    );
    let (rows, many) = count(&hurried());
    assert_eq!(rows, all);
    // Two walks for 64 and 16 clients, each with a page for each shard and family at least.
    assert!(many > 4, "{many}");
}

#[test]
fn a_place_that_no_page_named_is_refused() {
    let request = Request::Advertised(AdvertisedQuery {
        filter: page("7.4.0.0".into()),
        ..query("alpha", AdvertisedList::Count)
    });
    let last = send(&World::new(), request).pop();
    assert!(
        matches!(&last, Some(Line::Error { message, .. }) if message.contains("no place in a count")),
        "{last:?}"
    );
}

#[test]
fn a_neighbor_without_such_routes_needs_no_walk() {
    let of = |peer: &str, rejected| {
        let peer = Some(peer.to_owned());
        let list = move |after| {
            Request::Routes(RouteFilter {
                peer: peer.clone(),
                rejected,
                ..page(after)
            })
        };
        pages(&hurried(), list)
    };
    // Alpha has one route, beta's bogon is rejected, and gamma has none.
    assert_eq!(of("alpha", true), (Vec::new(), 1));
    assert_eq!(of("gamma", false), (Vec::new(), 1));
    let (rejected, pages) = of("beta", true);
    assert_eq!((rejected.len(), pages), (1, 3));
}
