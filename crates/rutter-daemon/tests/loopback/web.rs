//! The REST interface and the metrics of a running daemon, asked over HTTP.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rutter_daemon::Handle;
use serde_json::Value;

use crate::support::{Folder, Speaker, member, start, wait_until};

/// An answer: status, head and body.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    fn rows(&self) -> Vec<Value> {
        assert_eq!(self.status, 200, "{}", self.body);
        self.json()["rows"].as_array().expect("rows").clone()
    }
}

fn request(address: SocketAddr, line: &str) -> Answer {
    let mut stream = TcpStream::connect(address).expect("connect");
    let timeout = Some(Duration::from_secs(20));
    stream.set_read_timeout(timeout).expect("timeout");
    write!(
        stream,
        "{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    )
    .expect("send");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).expect("a status");
    Answer {
        status: status.parse().expect("a number"),
        head: head.to_lowercase(),
        body: body.to_owned(),
    }
}

fn get(address: SocketAddr, path: &str) -> Answer {
    request(address, &format!("GET {path}"))
}

/// Two members; the first announces two accepted routes and a bogon.
fn exchange(folder: &Folder, more: &str) -> (Handle, SocketAddr, [Speaker; 2]) {
    let members = format!("{}{}", member(1, 64501, ""), member(2, 64502, ""));
    let web = format!("[web]\nlisten = \"127.0.0.1:0\"\n{more}{members}");
    let (daemon, bgp) = start(folder, 1, &web);
    let mut one = Speaker::establish(1, 64501, bgp);
    let mut two = Speaker::establish(2, 64502, bgp);
    one.announce(&["8.8.8.0/24", "9.9.9.0/24", "10.0.0.0/24"], &[65010]);
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);
    let web = daemon.web_address().expect("[web]");
    (daemon, web, [one, two])
}

#[test]
fn the_interface_answers_like_the_command_line() {
    let folder = Folder::new("web");
    let (_daemon, web, _speakers) = exchange(&folder, "");
    let status = get(web, "/api/v1/status").rows();
    assert_eq!(status[0]["established"], 2);
    let peers = get(web, "/api/v1/peers").rows();
    assert_eq!(peers.len(), 2);
    let sorted = get(web, "/api/v1/peers?sort=accepted").rows();
    assert_eq!(sorted[1]["asn"], 64501);
    let peer = get(web, "/api/v1/peers/AS64501").rows();
    assert_eq!(peer[0]["address"], "127.0.1.1");
    let routes = get(web, "/api/v1/routes?within=8.0.0.0/8&best").rows();
    assert_eq!(routes[0]["prefix"], "8.8.8.0/24");
    let rejected = get(web, "/api/v1/rejected?peer=AS64501").rows();
    assert_eq!(rejected.len(), 1);
    assert_eq!(rejected[0]["prefix"], "10.0.0.0/24");
    assert_eq!(rejected[0]["findings"][0]["name"], "bogon");
    let route = get(web, "/api/v1/route/8.8.8.8").rows();
    assert_eq!(route[0]["attributes"]["as_path"], Value::Null);
    assert_eq!(route[0]["attributes"]["as-path"], "64501 65010");
    let explained = get(web, "/api/v1/explain/9.9.9.0%2F24").rows();
    assert_eq!(
        explained[0]["clients"].as_array().expect("clients").len(),
        2
    );
    let found = get(web, "/api/v1/lookup/8.8.8.8,1.1.1.1").rows();
    assert_eq!(found.len(), 2);
}

/// The description, with its rows and their parts closed: they have no field that it does not name.
struct Described(boon::Compiler);

impl Described {
    fn new(document: &Value) -> Self {
        let mut closed = document.clone();
        let mut rows = BTreeSet::new();
        close_rows(&mut closed["paths"], &mut rows);
        let schemas = closed["components"]["schemas"].as_object_mut();
        for (name, schema) in schemas.expect("schemas") {
            if !rows.contains(name) {
                schema["unevaluatedProperties"] = false.into();
            }
        }
        let mut compiler = boon::Compiler::new();
        compiler
            .add_resource(DESCRIPTION, closed)
            .expect("a description");
        Described(compiler)
    }

    /// Holds an answer against the schema at a place of the description.
    fn check(&mut self, place: &str, answer: &Value) {
        let mut schemas = boon::Schemas::new();
        let url = format!(
            "{DESCRIPTION}#{}",
            place.replace('{', "%7B").replace('}', "%7D")
        );
        let schema = self.0.compile(&url, &mut schemas);
        let schema = schema.unwrap_or_else(|error| panic!("{place}: {error:#}"));
        if let Err(error) = schemas.validate(answer, schema) {
            panic!("{place}: {error:#}\n{answer:#}");
        }
    }
}

const DESCRIPTION: &str = "http://localhost/openapi.json";

/// Closes the rows of pages, which are references with a `kind` beside them. Adds the names of their schemas.
fn close_rows(value: &mut Value, rows: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if let (Some(Value::String(place)), true) =
                (fields.get("$ref"), fields.contains_key("properties"))
            {
                rows.extend(place.rsplit('/').next().map(str::to_owned));
                fields.insert("unevaluatedProperties".to_owned(), false.into());
            }
            let inner = fields.values_mut();
            inner.for_each(|value| close_rows(value, rows));
        }
        Value::Array(all) => all.iter_mut().for_each(|value| close_rows(value, rows)),
        _ => {}
    }
}

/// The description names each path, and each path without a parameter answers as described.
#[test]
fn the_description_fits_the_answers() {
    let folder = Folder::new("openapi");
    let (_daemon, web, [mut one, mut two]) = exchange(&folder, "");
    two.announce(&["1.1.1.0/24"], &[]);
    one.expect_table(&["1.1.1.0/24"]);
    let document = get(web, "/api/v1/openapi.json").json();
    let mut described = Described::new(&document);
    let paths = document["paths"].as_object().expect("paths");
    assert!(paths.len() > 10);
    for (path, item) in paths {
        let content = &item["get"]["responses"]["200"]["content"];
        // The stream of changes has no end.
        if content["text/event-stream"].is_object() {
            assert_eq!(path, "/api/v1/events");
            continue;
        }
        let target = match path.rsplit_once('/').expect("a path").1 {
            "{peer}" | "{client}" => "AS64501",
            "{target}" | "{addresses}" => "8.8.8.8",
            _ => "",
        };
        let asked = path.split('{').next().expect("a start").to_owned() + target;
        let answer = get(web, &asked);
        // Only a collector has sinks and routers.
        if asked.ends_with("/sinks") || asked.ends_with("/routers") {
            assert_eq!(answer.status, 404, "{asked}");
            assert!(answer.head.contains("application/problem+json"));
            assert!(answer.json()["detail"].is_string());
            continue;
        }
        let place = format!("/paths/{}/get", path.replace('/', "~1"));
        let place = format!("{place}/responses/200/content/application~1json/schema");
        described.check(&place, &answer.json());
        if path.contains("{client}") {
            assert!(!answer.rows().is_empty(), "{asked}");
        }
        for parameter in item["get"]["parameters"].as_array().expect("parameters") {
            assert!(parameter["description"].is_string(), "{path}");
        }
    }
}

#[test]
fn pages_hold_each_destination_once_while_the_table_changes() {
    let folder = Folder::new("pages");
    let (_daemon, web, [mut one, mut two]) = exchange(&folder, "");
    let kept: Vec<String> = (0..150).map(|i| format!("20.{i}.0.0/16")).collect();
    let kept: Vec<&str> = kept.iter().map(String::as_str).collect();
    let passing: Vec<String> = (0..100).map(|i| format!("30.{i}.0.0/16")).collect();
    let passing: Vec<&str> = passing.iter().map(String::as_str).collect();
    one.announce(&passing, &[]);
    one.announce(&kept, &[]);
    two.receive_until(|two| two.table.len() == 252);
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let answer = get(web, &format!("/api/v1/routes?limit=20&after={after}"));
        let rows = answer.rows();
        assert!(rows.len() <= 21, "{}", rows.len());
        seen.extend(rows.into_iter().map(|row| row["prefix"].to_string()));
        match answer.json()["next"].as_str() {
            Some(next) => after = next.to_owned(),
            None => break,
        }
        if seen.len() == 40 {
            one.withdraw(&passing);
            two.receive_until(|two| two.table.len() == 152);
        }
    }
    let all: BTreeSet<&String> = seen.iter().collect();
    assert_eq!(all.len(), seen.len(), "no route is on two pages");
    for prefix in kept {
        assert!(
            all.contains(&format!("\"{prefix}\"")),
            "{prefix} is missing"
        );
    }
}

#[test]
fn bad_requests_are_explained_and_change_nothing() {
    let folder = Folder::new("webbad");
    let (_daemon, web, _speakers) = exchange(&folder, "");
    for (line, status, detail) in [
        ("GET /api/v1/routes?bset=true", 400, "`bset` is unknown"),
        ("GET /api/v1/routes?within=8.0.0.0/99", 400, "within"),
        ("GET /api/v1/routes?limit=0", 400, "from 1 to 1000"),
        ("GET /api/v1/routes?limit=-1", 400, "write a number"),
        ("GET /api/v1/routes?origin-as=x", 400, "write an AS number"),
        ("GET /api/v1/routes?limit=1&limit=2", 400, "stands twice"),
        (
            "GET /api/v1/routes?after=9.9.9",
            400,
            "no place in the table",
        ),
        ("GET /api/v1/peers/AS1", 404, "AS1"),
        ("GET /api/v1/route/1.1.1.1", 404, "no route"),
        ("GET /api/v1/peers?sort=x", 400, "no row has the field"),
        (
            "GET /api/v1/routes?sort=prefix",
            400,
            "the order of the table",
        ),
        ("GET /api/v1/lookup/no", 400, "not an IP address"),
        ("GET /api/v1/events?kind=worst", 400, "no kind of change"),
        ("GET /api/v1/events?after=x", 400, "after"),
        ("GET /api/v2/routes", 404, "openapi.json"),
        ("POST /api/v1/status", 405, "only reads"),
        ("DELETE /api/v1/peers/AS64501", 405, "only reads"),
    ] {
        let answer = request(web, line);
        assert_eq!(answer.status, status, "{line}: {}", answer.body);
        let text = answer.json()["detail"].to_string();
        assert!(text.contains(detail), "{line}: {text}");
        assert!(
            answer
                .head
                .contains("content-security-policy: default-src 'none'")
        );
    }
    assert_eq!(get(web, "/api/v1/status").rows()[0]["established"], 2);
}

#[test]
fn an_address_that_asks_too_often_is_told_to_wait() {
    let folder = Folder::new("webrate");
    let (_daemon, web, _speakers) = exchange(&folder, "requests-per-second = 1\n");
    let refused = (0..50)
        .map(|_| get(web, "/api/v1/status"))
        .find(|answer| answer.status != 200);
    let refused = refused.expect("a limit");
    assert_eq!(refused.status, 429);
    assert!(refused.head.contains("retry-after: 1"));
}

/// The first sample is taken at the start, of all sessions and of each.
#[test]
fn the_history_begins_with_the_server() {
    let folder = Folder::new("webhistory");
    let (_daemon, web, _speakers) = exchange(&folder, "");
    wait_until("a sample", || {
        !get(web, "/api/v1/history").rows().is_empty()
    });
    let sample = &get(web, "/api/v1/history").rows()[0];
    assert_eq!(sample["kind"], "sample");
    assert!(sample["unix-s"].as_u64() > Some(1_700_000_000));
    let own = get(web, "/api/v1/history?neighbor=AS64502").rows();
    assert_eq!(own.len(), 1);
    assert_eq!(own[0]["kind"], "neighbor-sample");
    assert_eq!(own[0]["address"], "127.0.1.2");
    assert_eq!(get(web, "/api/v1/history?neighbor=AS1").status, 404);
    assert_eq!(get(web, "/api/v1/history?peer=AS64502").status, 400);
}

#[test]
fn metrics_have_a_site_of_their_own() {
    let folder = Folder::new("webmetrics");
    let (daemon, _, _speakers) = exchange(&folder, "[metrics]\nlisten = \"127.0.0.1:0\"\n");
    let metrics = daemon.metrics_address().expect("[metrics]");
    let answer = get(metrics, "/metrics");
    assert_eq!(answer.status, 200);
    assert!(answer.head.contains("text/plain; version=0.0.4"));
    assert!(answer.body.contains("rutter_"));
    assert_eq!(get(metrics, "/api/v1/status").status, 404);
    // The table is counted on a thread of its own.
    wait_until("the advertised routes are counted", || {
        let text = get(metrics, "/metrics").body;
        let is_of = |line: &str, name: &str| line.starts_with(name) && line.ends_with(" 2");
        let advertised = text
            .lines()
            .filter(|line| is_of(line, "rutter_peer_advertised_routes{"));
        let withheld = text
            .lines()
            .filter(|line| is_of(line, "rutter_peer_withheld_routes{"));
        advertised.count() == 1 && withheld.count() == 1
    });
}
