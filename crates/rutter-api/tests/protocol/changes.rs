//! The changes of a table over a socket.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::thread;

use rutter_api::{Change, ChangeFilter, ChangesQuery, Client, ErrorReason, Line, Request};

use super::world::World;
use super::{operator, send};

/// Asks for changes and passes the lines of the answer, as a client reads them, until `read` returns.
fn watch(world: &World, query: ChangesQuery, read: impl FnOnce(&mut dyn Iterator<Item = Line>)) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| rutter_api::serve_connection(theirs, world, &operator(), &|| {}));
        let answer = Client::from(ours).call(Request::Changes(query)).unwrap();
        read(&mut answer.map(|line| line.unwrap()));
    });
}

fn kind(line: &Line) -> &'static str {
    match line {
        Line::Change { change } => change.change.kind(),
        Line::ChangesRead { .. } => "read",
        other => panic!("{other:?}"),
    }
}

/// The first lines of an answer, with numbers and times that are the same in every run.
pub fn sample() -> Vec<Line> {
    let world = World::new();
    let mut sample = Vec::new();
    watch(&world, ChangesQuery::default(), |lines| {
        sample.extend(lines.next());
        world.announce(0, &[20_001, 3_333], None, &["185.1.0.0/20"]);
        sample.extend(lines.take(2));
    });
    for (line, at) in sample.iter_mut().zip(1..) {
        match line {
            Line::ChangesRead { number } => *number = at,
            Line::Change { change } => {
                (change.number, change.unix_us) = (at, 1_700_000_000_000_000)
            }
            other => panic!("{other:?}"),
        }
    }
    sample
}

#[test]
fn a_client_receives_each_change_and_continues_where_it_was() {
    let world = World::new();
    let mut numbers = Vec::new();
    watch(&world, ChangesQuery::default(), |lines| {
        assert_eq!(kind(&lines.next().unwrap()), "read");
        world.announce(0, &[20_001, 3_333], None, &["185.1.0.0/20"]);
        for expected in ["announced", "best"] {
            let Some(Line::Change { change }) = lines.next() else {
                panic!("no change");
            };
            assert_eq!(change.change.kind(), expected);
            numbers.push(change.number);
        }
    });
    assert_eq!(numbers[1], numbers[0] + 1);
    world.announce(1, &[20_002], None, &["10.1.0.0/16", "185.2.0.0/20"]);
    let filter = ChangeFilter {
        peer: Some("beta".into()),
        within: "10.0.0.0/8".parse().ok(),
        kinds: vec!["announced".into()],
    };
    let after = Some(numbers[0]);
    watch(&world, ChangesQuery { filter, after }, |lines| {
        assert!(matches!(lines.next(), Some(Line::ChangesRead { number }) if number == numbers[0]));
        let Some(Line::Change { change }) = lines.next() else {
            panic!("no change");
        };
        let Change::Announced { route, verdict, .. } = change.change else {
            panic!("{:?}", change.change);
        };
        assert_eq!(route.prefix.to_string(), "10.1.0.0/16");
        assert_eq!(verdict.rejected.unwrap().name, "bogon");
    });
}

#[test]
fn a_client_that_comes_back_too_late_learns_which_changes_it_missed() {
    let query = ChangesQuery {
        after: Some(7),
        ..ChangesQuery::default()
    };
    let lines = send(&World::new(), Request::Changes(query));
    let Some(Line::Error { message, reason }) = lines.last() else {
        panic!("{lines:?}");
    };
    assert_eq!(*reason, ErrorReason::ChangesLost);
    assert!(message.starts_with("the changes 8 to "), "{message}");
}

#[test]
fn the_answer_ends_when_its_client_disconnects() {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    ours.write_all(b"{\"version\":1,\"request\":{\"changes\":{}}}\n")
        .unwrap();
    drop(ours);
    let _ = rutter_api::serve_connection(theirs, &World::new(), &operator(), &|| {});
}
