//! Requests over a real socket pair, answered from a real table.

mod advertised;
mod changes;
mod page_time;
mod world;

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::thread;

use rutter_api::{
    Access, AdvertisedList, Backend as _, Caller, ClearHow, Line, LookupQuery, Request,
    RouteFilter, RouteSelector, SourceAction, WhatIf, serve_connection,
};

use serde_json::{Value, json};
use world::World;

fn operator() -> Caller {
    Caller {
        access: Access::Control,
        who: "operator".to_owned(),
    }
}

/// Sends a request over a socket pair and reads all lines.
fn send_text(world: &World, request: &str) -> Vec<Line> {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| serve_connection(theirs, world, &operator(), &|| {}).unwrap());
        ours.write_all(request.as_bytes()).unwrap();
        ours.write_all(b"\n").unwrap();
        let mut text = String::new();
        ours.read_to_string(&mut text).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    })
}

fn send(world: &World, request: Request) -> Vec<Line> {
    let envelope = rutter_api::Envelope::new(request);
    send_text(world, &serde_json::to_string(&envelope).unwrap())
}

fn routes(world: &World, filter: RouteFilter) -> Vec<(String, String, bool)> {
    send(world, Request::Routes(filter))
        .into_iter()
        .filter_map(|line| match line {
            Line::Route(r) => Some((r.prefix.to_string(), r.peer.name, r.best)),
            _ => None,
        })
        .collect()
}

#[test]
fn routes_have_a_neighbor_and_one_is_best() {
    let world = World::new();
    let mut all = routes(&world, RouteFilter::default());
    all.sort();
    let text = |p: &str, n: &str, b| (p.to_owned(), n.to_owned(), b);
    assert_eq!(
        all,
        [
            text("10.0.0.0/8", "beta", false),
            text("193.0.0.0/21", "alpha", true),
            text("193.0.0.0/21", "beta", false),
            text("193.0.8.0/22", "beta", true),
        ]
    );
}

#[test]
fn a_route_must_meet_all_conditions() {
    let world = World::new();
    let count = |filter| routes(&world, filter).len();
    let peer = |name: &str| Some(name.to_owned());
    let base = RouteFilter::default;
    assert_eq!(
        count(RouteFilter {
            peer: peer("AS65002"),
            ..base()
        }),
        0
    );
    assert_eq!(
        count(RouteFilter {
            peer: peer("AS20002"),
            ..base()
        }),
        3
    );
    assert_eq!(
        count(RouteFilter {
            peer: peer("127.0.0.1"),
            best: true,
            ..base()
        }),
        1
    );
    assert_eq!(
        count(RouteFilter {
            rejected: true,
            ..base()
        }),
        1
    );
    assert_eq!(
        count(RouteFilter {
            reason: Some("bogon".into()),
            ..base()
        }),
        1
    );
    assert_eq!(
        count(RouteFilter {
            reason: Some("13".into()),
            ..base()
        }),
        0
    );
    let within = "193.0.0.0/16".parse().ok();
    assert_eq!(count(RouteFilter { within, ..base() }), 3);
    assert_eq!(
        count(RouteFilter {
            origin_as: Some(3333),
            ..base()
        }),
        1
    );
    assert_eq!(
        count(RouteFilter {
            path_as: Some(20002),
            within,
            ..base()
        }),
        2
    );
    assert_eq!(
        count(RouteFilter {
            community: Some("20001:7".into()),
            ..base()
        }),
        1
    );
    assert_eq!(
        count(RouteFilter {
            limit: Some(2),
            ..base()
        }),
        2
    );
}

#[test]
fn a_truncated_list_is_marked() {
    let lines = send_text(
        &World::new(),
        r#"{"version":1,"request":{"routes":{"limit":1}}}"#,
    );
    assert!(matches!(lines.last(), Some(Line::Done(done)) if done.truncated && done.rows == 1));
}

#[test]
fn rejected_routes_have_evidence() {
    let lines = send(&World::new(), Request::Rejected(RouteFilter::default()));
    let Line::Rejected(row) = &lines[0] else {
        panic!("{lines:?}");
    };
    assert_eq!(row.route.rejected.as_ref().unwrap().name, "bogon");
    assert!(
        row.findings
            .iter()
            .any(|f| f.reason.code == 2 && !f.evidence.is_empty())
    );
}

#[test]
fn explain_has_the_decision_and_the_clients() {
    let lines = send(
        &World::new(),
        Request::Explain {
            target: "193.0.1.2".into(),
            what_if: None,
        },
    );
    let Line::Explain(row) = &lines[0] else {
        panic!("{lines:?}");
    };
    assert_eq!(row.prefix.to_string(), "193.0.0.0/21");
    assert_eq!(row.candidates.len(), 2);
    assert!(row.candidates[0].route.best && row.candidates[0].lost_at.is_none());
    assert!(row.candidates[1].lost_at.is_some());
    let advertised = |name: &str| {
        let client = row.clients.iter().find(|c| c.client.name == name).unwrap();
        client.advertised.clone()
    };
    assert_eq!(advertised("alpha"), [2]);
    assert_eq!(advertised("beta"), [1]);
    assert_eq!(advertised("gamma"), [1]);
}

#[test]
fn explain_assumes_a_route_and_changes_nothing() {
    let world = World::new();
    let assume = |target: &str, what_if: WhatIf| {
        let request = Request::Explain {
            target: target.into(),
            what_if: Some(what_if),
        };
        send(&world, request).remove(0)
    };
    let from = |peer: &str| WhatIf {
        from: peer.into(),
        as_path: Vec::new(),
        communities: Vec::new(),
        next_hop: None,
    };
    let Line::Explain(row) = assume("185.0.0.0/20", from("gamma")) else {
        panic!("a new destination");
    };
    assert!(row.candidates[0].route.best);
    assert_eq!(row.candidates[0].route.peer.name, "gamma");
    let advertised: Vec<&str> = row
        .clients
        .iter()
        .filter(|client| client.advertised == [1])
        .map(|client| client.client.name.as_str())
        .collect();
    assert_eq!(advertised, ["alpha", "beta"]);
    let Line::Explain(row) = assume("185.0.0.0/28", from("gamma")) else {
        panic!("a route that fails a check");
    };
    let rejected = row.candidates[0].route.rejected.as_ref();
    assert_eq!(rejected.map(|reason| reason.code), Some(13));
    assert!(row.candidates[0].findings[0].evidence.contains("28"));
    let Line::Error { message, .. } = assume("185.0.0.0/20", from("nobody")) else {
        panic!("a neighbor that does not exist");
    };
    assert!(message.contains("nobody"), "{message}");
    let bad = WhatIf {
        communities: vec!["x".into()],
        ..from("gamma")
    };
    let Line::Error { message, .. } = assume("185.0.0.0/20", bad) else {
        panic!("no community");
    };
    assert!(message.contains("64500:1"), "{message}");
    assert!(world.explain("185.0.0.0/20".parse().unwrap()).is_none());
}

#[test]
fn sources_are_listed_and_accept_actions() {
    let world = World::new();
    let lines = send(&world, Request::Sources);
    let Line::Source(row) = &lines[0] else {
        panic!("{lines:?}");
    };
    assert_eq!((row.name.as_str(), row.entries), ("rpki", 3));
    let act = |name: &str| {
        let request = Request::Source {
            name: name.into(),
            action: SourceAction::Accept,
        };
        send(&world, request).remove(0)
    };
    assert!(matches!(act("rpki"), Line::Done(done) if done.message.is_some()));
    assert!(matches!(act("moon"), Line::Error { message, .. } if message.contains("moon")));
}

#[test]
fn peers_have_their_counts() {
    let lines = send(
        &World::new(),
        Request::Peer {
            peer: "beta".into(),
        },
    );
    let Line::Peer(row) = &lines[0] else {
        panic!("{lines:?}");
    };
    let v4 = &row.families[0];
    assert_eq!((v4.received, v4.accepted, v4.rejected), (3, 2, 1));
    assert_eq!(lines.len(), 2);
}

#[test]
fn attribute_sets_are_counted() {
    let lines = send(&World::new(), Request::Attributes { limit: None });
    let counts: Vec<_> = lines
        .iter()
        .filter_map(|line| match line {
            Line::AttributeSet(set) => Some(set.routes),
            _ => None,
        })
        .collect();
    assert_eq!(counts, [3, 1]);
}

#[test]
fn invalid_requests_are_refused_with_a_message() {
    let world = World::new();
    let refusal = |request| match send(&world, request).pop() {
        Some(Line::Error { message, .. }) => message,
        other => panic!("{other:?}"),
    };
    let peer = refusal(Request::Peer {
        peer: "nobody".into(),
    });
    assert!(peer.contains("rutter show peers"), "{peer}");
    let route = refusal(Request::Route {
        target: "8.8.8.8".into(),
    });
    assert_eq!(route, "the table has no route to 8.8.8.8");
    let prefix = refusal(Request::Explain {
        target: "193.0.0.1/21".into(),
        what_if: None,
    });
    assert!(prefix.contains("193.0.0.1/21"), "{prefix}");
    let clear = refusal(Request::Clear {
        peer: "gamma".into(),
        how: ClearHow::Hard,
    });
    assert_eq!(clear, "no");
    let long = format!("{{\"version\":1,{}}}", " ".repeat(rutter_api::MAX_REQUEST));
    assert!(matches!(
        send_text(&world, &long).pop(),
        Some(Line::Error { .. })
    ));
}

#[test]
fn an_answer_ends_when_its_client_disconnects() {
    let world = World::new();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    ours.write_all(b"{\"version\":1,\"request\":{\"log\":{\"follow\":true}}}\n")
        .unwrap();
    drop(ours);
    // Without the check of the connection this would not return.
    let _ = serve_connection(theirs, &world, &operator(), &|| {});
}

fn of(peer: &str) -> RouteSelector {
    RouteSelector {
        peers: vec![peer.into()],
        ..RouteSelector::default()
    }
}

#[test]
fn addresses_are_looked_up_in_all_routes_and_in_those_of_one_neighbor() {
    let world = World::new();
    let ask = |of, or_best| {
        let query = LookupQuery {
            addresses: vec![[193, 0, 0, 1].into(), [10, 0, 0, 1].into()],
            routes: of,
            or_best,
        };
        let rows = send(&world, Request::Lookup(query)).into_iter();
        let found = |line| match line {
            Line::Lookup(row) => Some((row.peer.map(|peer| peer.name), row.fallback)),
            Line::Done(_) => None,
            other => panic!("{other:?}"),
        };
        rows.filter_map(found).collect::<Vec<_>>()
    };
    let name = |name: &str| Some(name.to_owned());
    // The route of beta to 10.0.0.0/8 is rejected.
    assert_eq!(
        ask(RouteSelector::default(), false),
        [(name("alpha"), false), (None, false)]
    );
    assert_eq!(
        ask(of("beta"), false),
        [(name("beta"), false), (None, false)]
    );
    let next_hop = |last| RouteSelector {
        next_hops: vec![[127, 0, 0, last].into()],
        ..RouteSelector::default()
    };
    assert_eq!(ask(next_hop(2), false)[0], (name("beta"), false));
    assert_eq!(ask(next_hop(9), false)[0], (None, false));
    assert_eq!(ask(next_hop(9), true)[0], (name("alpha"), true));
}

#[test]
fn a_table_names_each_set_before_its_routes() {
    let world = World::new();
    let mut sets = 0;
    let mut routes = 0;
    for line in send(&world, Request::Table(RouteSelector::default())) {
        match line {
            Line::TableSet(set) => {
                assert_eq!(set.set, sets);
                sets += 1;
            }
            Line::TableRoutes(row) => {
                assert!(row.routes.iter().all(|(set, _)| *set < sets));
                routes += row.routes.len();
            }
            other => assert!(matches!(other, Line::Done(_)), "{other:?}"),
        }
    }
    let best = RouteFilter {
        best: true,
        ..RouteFilter::default()
    };
    assert_eq!(routes, self::routes(&world, best).len());
}

/// `UPDATE_GOLDEN=1` updates the sample.
#[test]
fn rows_match_the_sample() {
    let world = World::new();
    let mut text = String::new();
    for request in [
        Request::Status,
        Request::Peer {
            peer: "beta".into(),
        },
        Request::Route {
            target: "193.0.0.0/21".into(),
        },
        Request::Rejected(RouteFilter::default()),
        Request::Attributes { limit: Some(1) },
        Request::Advertised(advertised::query("alpha", AdvertisedList::Routes)),
        Request::Advertised(advertised::query("beta", AdvertisedList::Withheld)),
        Request::Advertised(advertised::query("beta", AdvertisedList::Count)),
        Request::Explain {
            target: "193.0.0.0/21".into(),
            what_if: None,
        },
        Request::Lookup(LookupQuery {
            addresses: vec![[193, 0, 0, 1].into(), [8, 8, 8, 8].into()],
            ..LookupQuery::default()
        }),
        Request::Table(of("beta")),
        Request::Sources,
        Request::Sinks,
        Request::Routers,
        Request::Reload,
        Request::History,
        Request::Peer {
            peer: "nobody".into(),
        },
    ] {
        for line in send(&world, request) {
            text.push_str(&serde_json::to_string(&line).unwrap());
            text.push('\n');
        }
    }
    for line in changes::sample() {
        text.push_str(&serde_json::to_string(&line).unwrap());
        text.push('\n');
    }
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/samples/management.jsonl"
    );
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(file, &text).unwrap();
    }
    let stored = std::fs::read_to_string(file).unwrap();
    assert!(
        stored == text,
        "docs/samples/management.jsonl differs:\n{text}"
    );
}

/// The schemas describe every row of the sample, and a row has no field that its schema does not name.
#[test]
fn rows_fit_their_schemas() {
    let document: Value = serde_json::from_str(rutter_api::ROW_SCHEMAS).unwrap();
    let mut compiler = boon::Compiler::new();
    let place = "http://localhost/schemas.json";
    let root = json!({"components": {"schemas": document["schemas"]}});
    let kinds = document["kinds"].as_object().unwrap();
    compiler.add_resource(place, root).unwrap();
    let mut checked = BTreeSet::new();
    for line in include_str!("../../../../docs/samples/management.jsonl").lines() {
        let mut row: Value = serde_json::from_str(line).unwrap();
        let kind = row["kind"].as_str().unwrap().to_owned();
        let Some(name) = kinds.get(&kind).and_then(Value::as_str) else {
            continue;
        };
        // A change has a `kind` of its own, which is part of the row.
        if let Some(change) = row.get_mut("change").map(Value::take) {
            row = change;
        }
        let closed = json!({
            "$ref": format!("{place}#/components/schemas/{name}"),
            "properties": {"kind": {"type": "string"}},
            "unevaluatedProperties": false,
        });
        let row_place = format!("http://localhost/{kind}.json");
        compiler.add_resource(&row_place, closed).unwrap();
        let mut schemas = boon::Schemas::new();
        let schema = compiler.compile(&row_place, &mut schemas).unwrap();
        if let Err(error) = schemas.validate(&row, schema) {
            panic!("{kind}: {error:#}\n{row:#}");
        }
        checked.insert(kind);
    }
    // BMP stations and samples of the history are no rows of this sample.
    let missing: Vec<&String> = kinds
        .keys()
        .filter(|kind| !checked.contains(*kind))
        .collect();
    assert_eq!(missing, ["memory", "neighbor-sample", "sample", "station"]);
}

#[test]
fn metrics_follow_the_sessions() {
    let (world, counts) = (World::new(), rutter_api::TableCounts::default());
    let text = rutter_api::prometheus::render(&world, &counts);
    assert!(!text.contains("rutter_peer_rejected_routes{"), "{text}");
    counts.count(&world);
    let text = rutter_api::prometheus::render(&world, &counts);
    assert!(
        text.contains("rutter_peers{state=\"Established\"} 3\n"),
        "{text}"
    );
    assert!(
        text.contains(
            "rutter_peer_routes{peer=\"beta\",address=\"127.0.0.2\",asn=\"20002\",\
             family=\"ipv4-unicast\",verdict=\"rejected\"} 1\n"
        ),
        "{text}"
    );
    let beta = "peer=\"beta\",address=\"127.0.0.2\",asn=\"20002\"";
    let sample = format!("rutter_peer_rejected_routes{{{beta},reason=\"bogon\"}} 1\n");
    assert!(text.contains(&sample), "{sample}: {text}");
    assert_eq!(text.matches("rutter_peer_rejected_routes{").count(), 1);
    let gamma = "peer=\"gamma\",address=\"127.0.0.3\",asn=\"20003\",family=\"ipv4-unicast\"";
    for sample in [
        format!("rutter_peer_advertised_routes{{{gamma}}} 2\n"),
        format!("rutter_peer_advertised_routes{{{beta},family=\"ipv4-unicast\"}} 1\n"),
        format!(
            "rutter_peer_withheld_routes{{{beta},family=\"ipv4-unicast\",reason=\"own-route\"}} 1\n"
        ),
    ] {
        assert!(text.contains(&sample), "{sample}: {text}");
    }
    assert_eq!(text.matches("rutter_peer_withheld_routes{").count(), 2);
    assert_eq!(
        text.matches("\nrutter_routes_counted_timestamp_seconds ")
            .count(),
        1
    );
    assert!(text.contains("rutter_dynamic_members 3\n"), "{text}");
    assert!(
        text.contains("rutter_dynamic_members_limit 1000\n"),
        "{text}"
    );
}
