//! What a client is sent, and what it is not sent.

use rutter_api::{AdvertisedList, AdvertisedQuery, Done, Line, Request, RouteFilter};

use crate::send;
use crate::world::World;

/// The question without conditions.
pub fn query(to: &str, list: AdvertisedList) -> AdvertisedQuery {
    AdvertisedQuery {
        to: to.into(),
        list,
        filter: RouteFilter::default(),
    }
}

/// Prefix, sender and reason of each row, and the end.
fn ask(world: &World, query: AdvertisedQuery) -> (Vec<(String, String, String)>, Done) {
    let mut lines = send(world, Request::Advertised(query));
    let Some(Line::Done(done)) = lines.pop() else {
        panic!("no end");
    };
    let row = |line| match line {
        Line::Advertised(row) => (row.prefix.to_string(), row.peer.name, String::new()),
        Line::Withheld(row) => (
            row.route.prefix.to_string(),
            row.route.peer.name,
            row.withheld.name,
        ),
        other => panic!("{other:?}"),
    };
    let mut rows: Vec<_> = lines.into_iter().map(row).collect();
    rows.sort();
    (rows, done)
}

fn row(prefix: &str, from: &str, why: &str) -> (String, String, String) {
    (prefix.into(), from.into(), why.into())
}

#[test]
fn each_client_is_sent_the_best_route_that_is_not_its_own() {
    let world = World::new();
    let sent = |to| ask(&world, query(to, AdvertisedList::Routes)).0;
    let beta = row("193.0.8.0/22", "beta", "");
    assert_eq!(
        sent("alpha"),
        [row("193.0.0.0/21", "beta", ""), beta.clone()]
    );
    assert_eq!(sent("beta"), [row("193.0.0.0/21", "alpha", "")]);
    assert_eq!(sent("gamma"), [row("193.0.0.0/21", "alpha", ""), beta]);
}

#[test]
fn better_routes_that_are_not_sent_have_a_reason() {
    let world = World::new();
    let withheld = |to| ask(&world, query(to, AdvertisedList::Withheld)).0;
    assert_eq!(
        withheld("alpha"),
        [row("193.0.0.0/21", "alpha", "own-route")]
    );
    // Its route to 193.0.0.0/21 is worse than the one that it is sent.
    assert_eq!(withheld("beta"), [row("193.0.8.0/22", "beta", "own-route")]);
    assert_eq!(withheld("gamma"), []);
    let because = |why: &str| {
        let mut query = query("alpha", AdvertisedList::Withheld);
        query.filter.reason = Some(why.into());
        ask(&world, query).0.len()
    };
    assert_eq!((because("own-route"), because("communities")), (1, 0));
}

#[test]
fn counts_are_those_of_the_lists() {
    let world = World::new();
    for to in ["alpha", "beta", "gamma"] {
        let lines = send(
            &world,
            Request::Advertised(query(to, AdvertisedList::Count)),
        );
        let [Line::AdvertisedCount(counts), Line::Done(_)] = &lines[..] else {
            panic!("{lines:?}");
        };
        let rows = |list| ask(&world, query(to, list)).0.len() as u64;
        assert_eq!(counts.routes, rows(AdvertisedList::Routes), "{to}");
        assert_eq!(counts.prefixes, counts.routes);
        let withheld: u64 = counts.withheld.iter().map(|one| one.routes).sum();
        assert_eq!(withheld, rows(AdvertisedList::Withheld), "{to}");
    }
}

#[test]
fn all_clients_are_counted_in_one_answer() {
    let world = World::new();
    let count = |to: &str| {
        let mut lines = send(
            &world,
            Request::Advertised(query(to, AdvertisedList::Count)),
        );
        lines.pop();
        lines
    };
    let each: Vec<Line> = ["alpha", "beta", "gamma"]
        .into_iter()
        .flat_map(count)
        .collect();
    assert_eq!(each.len(), 3);
    assert_eq!(count("all"), each);
    // A list names its client.
    let list = send(
        &world,
        Request::Advertised(query("all", AdvertisedList::Routes)),
    );
    assert!(matches!(&list[..], [Line::Error { .. }]), "{list:?}");
}

#[test]
fn conditions_compare_the_route_as_received() {
    let world = World::new();
    let count = |filter| {
        let query = AdvertisedQuery {
            filter,
            ..query("gamma", AdvertisedList::Routes)
        };
        ask(&world, query).0.len()
    };
    let from = |peer: &str| RouteFilter {
        peer: Some(peer.into()),
        ..RouteFilter::default()
    };
    assert_eq!((count(from("beta")), count(from("alpha"))), (1, 1));
    let community = |text: &str| RouteFilter {
        community: Some(text.into()),
        ..RouteFilter::default()
    };
    assert_eq!(count(community("20001:7")), 1);
    let within = RouteFilter {
        within: "193.0.8.0/21".parse().ok(),
        ..RouteFilter::default()
    };
    assert_eq!(count(within), 1);
}

#[test]
fn pages_have_each_route_once() {
    let world = World::new();
    let mut rows = Vec::new();
    let mut after = Some(String::new());
    let mut pages = 0;
    while let Some(place) = after {
        let mut query = query("gamma", AdvertisedList::Routes);
        query.filter.limit = Some(1);
        query.filter.after = Some(place);
        let (page, done) = ask(&world, query);
        assert_eq!(done.truncated, done.next.is_some());
        rows.extend(page);
        after = done.next;
        pages += 1;
    }
    rows.sort();
    assert_eq!(rows, ask(&world, query("gamma", AdvertisedList::Routes)).0);
    assert_eq!(pages, 2);
    let mut limited = query("gamma", AdvertisedList::Routes);
    limited.filter.limit = Some(1);
    let (page, done) = ask(&world, limited);
    assert_eq!((page.len(), done.truncated, done.next), (1, true, None));
}

#[test]
fn a_question_that_makes_no_sense_is_refused() {
    let world = World::new();
    let refusal = |query| match send(&world, Request::Advertised(query)).pop() {
        Some(Line::Error { message, .. }) => message,
        other => panic!("{other:?}"),
    };
    let mut rejected = query("gamma", AdvertisedList::Routes);
    rejected.filter.rejected = true;
    assert!(refusal(rejected).contains("rutter show rejected"));
    let mut why = query("gamma", AdvertisedList::Withheld);
    why.filter.reason = Some("bogon".into());
    assert!(refusal(why).contains("own-route"));
    let mut without = query("gamma", AdvertisedList::Routes);
    without.filter.reason = Some("own-route".into());
    assert!(refusal(without).contains("withheld"));
    assert!(refusal(query("nobody", AdvertisedList::Count)).contains("nobody"));
}
