//! The stream of changes over HTTP.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rutter_api::{Client, Line, Request};
use serde_json::Value;

use crate::support::{Folder, Speaker, member, start, text};

/// An event as a browser has it.
#[derive(Debug)]
struct Event {
    id: String,
    kind: String,
    data: Value,
}

/// A client of the stream.
struct Events(BufReader<TcpStream>);

impl Events {
    /// Connects as HTTP/1.0, so that the body has no chunks, and reads the head and the first id.
    fn open(web: SocketAddr, query: &str, last_id: Option<&str>) -> (Self, String) {
        let mut stream = TcpStream::connect(web).expect("connect");
        let timeout = Some(Duration::from_secs(60));
        stream.set_read_timeout(timeout).expect("timeout");
        let header = last_id.map_or(String::new(), |id| format!("Last-Event-ID: {id}\r\n"));
        write!(stream, "GET /api/v1/events{query} HTTP/1.0\r\n{header}\r\n").expect("send");
        let mut events = Events(BufReader::new(stream));
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(events.0.read_line(&mut head).expect("a head") > 0, "{head}");
        }
        assert!(head.starts_with("HTTP/1.0 200"), "{head}");
        assert!(head.contains("text/event-stream"), "{head}");
        let mut id = String::new();
        events.0.read_line(&mut id).expect("an id");
        let id = id.trim().strip_prefix("id: ").expect("an id").to_owned();
        (events, id)
    }

    /// Returns the next event. `None` at the end of the stream.
    fn next(&mut self) -> Option<Event> {
        let mut event = Event {
            id: String::new(),
            kind: String::new(),
            data: Value::Null,
        };
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).expect("a line") == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("id", id)) => event.id = id.to_owned(),
                Some(("event", kind)) => event.kind = kind.to_owned(),
                Some(("data", data)) => event.data = serde_json::from_str(data).expect("JSON"),
                _ if event.kind.is_empty() => {}
                _ => return Some(event),
            }
        }
    }

    fn expect(&mut self, kind: &str) -> Event {
        let event = self.next().expect("an event");
        assert_eq!(event.kind, kind, "{event:?}");
        if kind != "lagged" {
            assert_eq!(event.data["kind"], kind);
            assert_eq!(event.data["number"].to_string(), event.id);
        }
        event
    }
}

fn members(black_list: &str) -> String {
    let web = "[web]\nlisten = \"127.0.0.1:0\"\n";
    format!(
        "{web}{}{}",
        member(1, 64501, black_list),
        member(2, 64502, "")
    )
}

#[test]
fn a_client_sees_routes_and_verdicts_change_and_continues_where_it_was() {
    let folder = Folder::new("events");
    let (daemon, bgp) = start(&folder, 2, &members(""));
    let web = daemon.web_address().expect("[web]");
    let (mut all, _) = Events::open(web, "", None);
    let (mut verdicts, begin) = Events::open(
        web,
        "?kind=verdict,best&within=9.0.0.0/8&peer=AS64501",
        None,
    );
    let mut one = Speaker::establish(1, 64501, bgp);
    let up = all.expect("session-up");
    assert_eq!(up.data["peer"]["asn"], 64501);
    let mut two = Speaker::establish(2, 64502, bgp);
    all.expect("session-up");
    one.announce(&["8.8.8.0/24"], &[65010]);
    two.expect_table(&["8.8.8.0/24"]);
    let route = all.expect("announced").data;
    assert_eq!(route["prefix"], "8.8.8.0/24");
    assert_eq!(route["attributes"]["as-path"], "64501 65010");
    assert!(route["unix-us"].as_u64().is_some_and(|time| time > 0));
    let best = all.expect("best").data;
    assert_eq!(best["after"]["address"], "127.0.1.1");
    one.announce(&["9.9.9.0/24"], &[65010]);
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);

    // A changed policy rejects a route that stays as it was.
    let text = text(&folder, 2, &members("black-list = [\"9.9.9.0/24\"]"));
    std::fs::write(folder.0.join("rutter.toml"), text).expect("write");
    let client = Client::connect(&folder.0.join("ctl")).expect("control socket");
    let lines: Vec<_> = client.call(Request::Reload).expect("reload").collect();
    assert!(matches!(lines.last(), Some(Ok(Line::Done(_)))), "{lines:?}");
    verdicts.expect("best");
    let verdict = verdicts.expect("verdict");
    assert_eq!(verdict.data["prefix"], "9.9.9.0/24");
    assert_eq!(verdict.data["before"], serde_json::json!({}));
    assert_eq!(
        verdict.data["after"]["rejected"]["name"],
        "client-black-list"
    );
    let best = verdicts.expect("best").data;
    assert_eq!(best["after"], Value::Null);
    drop(verdicts);

    // A client that comes back continues after the last event that it had, with or without the header.
    one.withdraw(&["8.8.8.0/24"]);
    two.expect_table(&[]);
    let (mut back, _) = Events::open(web, "?kind=best", Some(&verdict.id));
    assert_eq!(back.expect("best").data["prefix"], "9.9.9.0/24");
    let gone = back.expect("best").data;
    assert_eq!(gone["prefix"], "8.8.8.0/24");
    assert_eq!(gone["before"]["asn"], 64501);
    let (mut from_begin, _) = Events::open(web, &format!("?kind=session-up&after={begin}"), None);
    from_begin.expect("session-up");
}

#[test]
fn a_client_that_lost_changes_is_told_and_ended() {
    let folder = Folder::new("eventslost");
    let (daemon, _bgp) = start(&folder, 1, &members(""));
    let web = daemon.web_address().expect("[web]");
    // The id of a daemon that ran before this one.
    let (mut events, _) = Events::open(web, "", Some("1000"));
    let lagged = events.expect("lagged").data;
    assert!(
        lagged["detail"]
            .as_str()
            .is_some_and(|text| text.contains("Read the table again"))
    );
    assert!(events.next().is_none(), "the stream ends");
}

/// A client that reads nothing while more changes than the log keeps. Routing does not wait for it.
#[test]
fn a_client_that_reads_nothing_costs_its_place_only() {
    let folder = Folder::new("eventsslow");
    let (daemon, bgp) = start(&folder, 1, &members(""));
    let web = daemon.web_address().expect("[web]");
    let (mut slow, _) = Events::open(web, "", None);
    let mut one = Speaker::establish(1, 64501, bgp);
    let mut two = Speaker::establish(2, 64502, bgp);
    let many: Vec<String> = (0..10_000)
        .map(|i| format!("20.{}.{}.0/24", i / 250, i % 250))
        .collect();
    for round in 0..5 {
        for part in many.chunks(500) {
            let part: Vec<&str> = part.iter().map(String::as_str).collect();
            one.announce(&part, &[65010 + round]);
        }
        let last = Some(65010 + round);
        two.receive_until(|two| {
            two.table.len() == many.len()
                && two
                    .table
                    .values()
                    .all(|path| path.last().map(|asn| asn.0) == last)
        });
    }
    // It has what its socket and one part took, then it learns that it is too late.
    let last = std::iter::from_fn(|| slow.next()).last().expect("events");
    assert_eq!(last.kind, "lagged");
}
