//! The stream over WebSocket: clients receive the messages that they subscribed to, in the form of RIS Live.

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rutter_config::Stream;
use rutter_ingest::MrtLoader;
use rutter_ingest::stream::StreamServer;
use rutter_net::{Asn, Prefix};
use rutter_policy::{ExportPolicy, ExportSettings};
use rutter_rib::{Rib, RibConfig};
use rutter_service::{Context, Service, ShutdownSignal, StatusRegistry};
use rutter_wire::attr::{OPTIONAL, TRANSITIVE, code, write_attr};
use rutter_wire::mrt::{BgpSession, Records, Timestamp, write_message, write_state_change};
use rutter_wire::nlri::write_ipv4;
use rutter_wire::update::{Sections, write};
use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

/// Exceeds the time that any step takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);
const TIME: u64 = 1_700_000_000_250_000;

#[test]
fn web_pages_are_accepted_only_from_configured_sites() {
    use tungstenite::client::IntoClientRequest as _;
    let world = World::start();
    let address = world.server.listen_address();
    let connect = |origin: &'static str| {
        let mut request = format!("ws://{address}/").into_client_request().unwrap();
        let header = tungstenite::http::HeaderValue::from_static(origin);
        request.headers_mut().insert("origin", header);
        let socket = TcpStream::connect(address).unwrap();
        let timeout = Some(TIMEOUT);
        socket.set_read_timeout(timeout).unwrap();
        let connected = tungstenite::client(request, socket);
        connected.map(drop).map_err(|why| why.to_string())
    };
    let refused = connect("http://evil.example").unwrap_err();
    assert!(refused.contains("403"), "{refused}");
    connect("https://lg.example").unwrap();
    // Some programs send the address of the server as their origin.
    connect(format!("http://{address}").leak()).unwrap();
    world.end();
}

/// A process that ends still has it.
#[test]
fn the_address_may_be_freed_after_the_start() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap();
    let world = thread::scope(|scope| {
        let starting = scope.spawn(|| World::on(address, 30, 1_000));
        thread::sleep(Duration::from_millis(200));
        drop(other);
        starting.join().unwrap()
    });
    world.client(&json!({}));
    world.end();
}

struct World {
    context: Context,
    server: StreamServer,
}

impl World {
    fn start() -> Self {
        Self::of(30, 1_000)
    }

    /// A world with at most this many clients, each with a queue of this many messages.
    fn of(max_clients: usize, queue: usize) -> Self {
        Self::on("127.0.0.1:0".parse().unwrap(), max_clients, queue)
    }

    fn on(listen: SocketAddr, max_clients: usize, queue: usize) -> Self {
        let rib = Rib::new(RibConfig {
            shards: 2,
            cluster_id: 1,
            log_limit: 1 << 20,
            export: Arc::new(ExportPolicy::new(ExportSettings::default())),
            seed: 7,
            always_compare_med: false,
        });
        let context = Context {
            rib: Arc::new(rib),
            collector: "here".into(),
            shutdown: ShutdownSignal::new(),
            status: StatusRegistry::default(),
        };
        let settings = Stream {
            listen,
            max_clients,
            queue,
            origins: vec!["https://lg.example".into()],
        };
        let server = StreamServer::start(&context, &settings).unwrap();
        World { context, server }
    }

    /// Loads the records that `write` appends.
    fn receive_update(&self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = Vec::new();
        write(&mut bytes);
        let mut loader = MrtLoader::new(&self.context.rib, "edge1");
        for record in Records::new(&bytes) {
            loader.take(&record.unwrap()).unwrap();
        }
        loader.finish();
    }

    fn client(&self, data: &Value) -> Client {
        let address = self.server.listen_address();
        let socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(TIMEOUT)).unwrap();
        let url = format!("ws://{address}/v1/ws/");
        let (socket, _) = tungstenite::client(url, socket).unwrap();
        let mut client = Client(socket);
        let mut data = data.clone();
        data["socketOptions"] = json!({"acknowledge": true});
        client.send(&json!({"type": "ris_subscribe", "data": data}));
        assert_eq!(client.next()["type"], "ris_subscribe_ok");
        client
    }

    fn end(self) {
        self.context.shutdown.trigger();
        Box::new(self.server).stop();
    }
}

struct Client(WebSocket<TcpStream>);

impl Client {
    fn send(&mut self, message: &Value) {
        self.0.send(Message::text(message.to_string())).unwrap();
    }

    fn next(&mut self) -> Value {
        loop {
            if let Message::Text(text) = self.0.read().unwrap() {
                return serde_json::from_str(text.as_str()).unwrap();
            }
        }
    }

    /// Returns all UPDATEs queued so far, without the changes of session states.
    fn updates(&mut self) -> Vec<Value> {
        let mut updates = Vec::new();
        self.send(&json!({"type": "ping"}));
        loop {
            let message = self.next();
            match message["type"].as_str().unwrap() {
                "pong" => return updates,
                _ => updates.push(message["data"].clone()),
            }
        }
    }
}

fn session() -> BgpSession {
    BgpSession {
        peer_asn: Asn(64501),
        local_asn: Asn(64500),
        interface: 0,
        peer: "192.0.2.11".parse().unwrap(),
        local: "192.0.2.1".parse().unwrap(),
        as4: true,
    }
}

fn nlri(texts: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    for text in texts {
        if let Prefix::V4(prefix) = text.parse().unwrap() {
            write_ipv4(&mut out, None, prefix);
        }
    }
    out
}

fn update(out: &mut Vec<u8>, withdrawn: &[&str], announced: &[&str]) {
    let mut attributes = Vec::new();
    if !announced.is_empty() {
        // 64501 200000 {64502,64503}
        let path = [
            2, 2, 0, 0, 0xfb, 0xf5, 0, 3, 0x0d, 0x40, 1, 2, 0, 0, 0xfb, 0xf6, 0, 0, 0xfb, 0xf7,
        ];
        write_attr(&mut attributes, TRANSITIVE, code::ORIGIN, &[0]);
        write_attr(&mut attributes, TRANSITIVE, code::AS_PATH, &path);
        write_attr(
            &mut attributes,
            TRANSITIVE,
            code::NEXT_HOP,
            &[192, 0, 2, 11],
        );
        write_attr(
            &mut attributes,
            OPTIONAL,
            code::MULTI_EXIT_DISC,
            &[0, 0, 0, 7],
        );
        let community = [0xfb, 0xf4, 0, 1];
        write_attr(
            &mut attributes,
            OPTIONAL | TRANSITIVE,
            code::COMMUNITIES,
            &community,
        );
    }
    let mut message = Vec::new();
    let sections = Sections {
        withdrawn: &nlri(withdrawn),
        attributes: &attributes,
        nlri: &nlri(announced),
    };
    write(&mut message, &sections);
    write_message(
        out,
        Timestamp::Microseconds(TIME),
        &session(),
        false,
        &message,
    );
}

/// Compares the messages with the documents, or updates the documents.
fn golden(messages: &[Value]) {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/schema/stream.jsonl"
    );
    let lines = messages.iter().map(|message| format!("{message}\n"));
    let text: String = lines.collect();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(file, &text).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(file).unwrap_or_default(),
        text,
        "docs/schema/stream.jsonl"
    );
}

/// Loads more updates than sockets can hold, so the thread of a client that does not read blocks.
fn much(world: &World) {
    let nlri: Vec<String> = (0..900)
        .map(|n| format!("10.{}.{}.0/24", n / 250, n % 250))
        .collect();
    let nlri: Vec<&str> = nlri.iter().map(String::as_str).collect();
    world.receive_update(|out| (0..900).for_each(|_| update(out, &[], &nlri)));
}

#[test]
fn messages_are_those_of_the_documents() {
    let world = World::start();
    let mut client = world.client(&json!({}));
    world.receive_update(|out| {
        update(out, &["192.0.2.0/24"], &["198.51.100.0/24"]);
        write_state_change(out, Timestamp::Microseconds(TIME), &session(), 6, 1);
    });
    let mut messages: Vec<Value> = (0..3).map(|_| client.next()).collect();
    for (number, message) in messages.iter_mut().enumerate() {
        assert!(message["data"]["id"].is_string(), "{message}");
        // The run id contains the time of the test, so a fixed one replaces it.
        message["data"]["id"] = format!("61a8-{number}-0").into();
    }
    world.end();
    let world = World::of(30, 2);
    let mut slow = world.client(&json!({"type": "UPDATE"}));
    much(&world);
    let mut gap = slow.next();
    while gap["type"] != "gap" {
        gap = slow.next();
    }
    assert!(gap["data"]["lost"].as_u64() > Some(0), "{gap}");
    gap["data"]["lost"] = 7.into();
    messages.push(gap);
    golden(&messages);
    let kinds = messages.iter().map(|message| &message["data"]["type"]);
    let kinds: Vec<&Value> = kinds.collect();
    assert_eq!(
        json!(kinds),
        json!(["RIS_PEER_STATE", "UPDATE", "RIS_PEER_STATE", null])
    );
    world.end();
}

#[test]
fn an_update_in_the_form_of_ris_live() {
    let world = World::start();
    let mut client = world.client(&json!({"type": "UPDATE"}));
    world.receive_update(|out| {
        update(
            out,
            &["192.0.2.0/24"],
            &["198.51.100.0/24", "203.0.113.0/24"],
        )
    });
    let mut data = client.next()["data"].clone();
    assert!(data["id"].is_string());
    data["id"] = Value::Null;
    assert_eq!(
        data,
        json!({
            "timestamp": 1_700_000_000.25, "peer": "192.0.2.11", "peer_asn": "64501", "id": null,
            "host": "here", "router": "edge1", "view": "adj-in-pre", "type": "UPDATE",
            "path": [64501, 200_000, [64502, 64503]], "community": [[64500, 1]], "origin": "igp", "med": 7,
            "announcements": [{"next_hop": "192.0.2.11", "prefixes": ["198.51.100.0/24", "203.0.113.0/24"]}],
            "withdrawals": ["192.0.2.0/24"],
        })
    );
    world.end();
}

/// The example subscriptions of docs/collector.md are accepted, and the documented messages answer them.
#[test]
fn the_questions_of_the_documentation_are_answered() {
    let world = World::start();
    let text = include_str!("../../../docs/collector.md");
    let (_, text) = text
        .split_once("## Ten subscriptions to the stream")
        .unwrap();
    let (text, _) = text.split_once("\n## ").unwrap();
    let questions = text.lines().filter(|line| line.contains(". "));
    let questions = questions.filter_map(|line| line.split('`').nth(1));
    let questions = questions.filter_map(|question| serde_json::from_str(question).ok());
    let questions: Vec<Value> = questions.collect();
    assert_eq!(questions.len(), 10);
    let mut clients: Vec<Client> = questions.iter().map(|q| world.client(q)).collect();
    world.receive_update(|out| {
        update(
            out,
            &["192.0.2.0/24"],
            &["198.51.100.0/24", "203.0.113.0/24"],
        )
    });
    for (client, question) in clients.iter_mut().zip(&questions) {
        let mut withdrawals = (0..2).map(|_| client.next()["data"]["withdrawals"].clone());
        let withdrawals = withdrawals.find(|withdrawals| withdrawals.is_array());
        assert_eq!(withdrawals, Some(json!(["192.0.2.0/24"])), "{question}");
    }
    world.end();
}

#[test]
fn sessions_come_and_go() {
    let world = World::start();
    let mut client = world.client(&json!({"type": "RIS_PEER_STATE"}));
    world.receive_update(|out| {
        update(out, &[], &["198.51.100.0/24"]);
        write_state_change(out, Timestamp::Microseconds(TIME), &session(), 6, 1);
    });
    let states = [client.next(), client.next()].map(|message| message["data"]["state"].clone());
    assert_eq!(states, ["connected", "down"]);
    world.end();
}

#[test]
fn every_filter_of_ris_live() {
    let world = World::start();
    // For each filter: whether its client receives the first, the second and the third update.
    let expected = [
        (json!({}), [true, true, true]),
        (json!({"peer": "192.0.2.11"}), [true, true, true]),
        (json!({"peer": "192.0.2.12"}), [false, false, false]),
        (json!({"host": "here"}), [true, true, true]),
        (json!({"host": "rrc00"}), [false, false, false]),
        (json!({"router": "edge1"}), [true, true, true]),
        (json!({"require": "announcements"}), [true, true, false]),
        (json!({"require": "withdrawals"}), [false, false, true]),
        (json!({"prefix": "198.51.100.0/24"}), [true, true, false]),
        (
            json!({"prefix": "198.51.100.0/24", "moreSpecific": false}),
            [true, false, false],
        ),
        (
            json!({"prefix": "198.51.100.128/25", "lessSpecific": true}),
            [true, true, false],
        ),
        (
            json!({"prefix": ["203.0.113.0/24", "10.0.0.0/8"]}),
            [false, false, true],
        ),
        (json!({"path": "64501,200000"}), [true, true, false]),
        (json!({"path": "^200000"}), [false, false, false]),
        (json!({"path": "64502,64503$"}), [true, true, false]),
        (json!({"path": 200_000}), [true, true, false]),
    ];
    let mut clients: Vec<Client> = expected
        .iter()
        .map(|(filter, _)| {
            let mut filter = filter.clone();
            filter["type"] = "UPDATE".into();
            world.client(&filter)
        })
        .collect();
    let mut all = world.client(&json!({"type": "UPDATE"}));
    world.receive_update(|out| {
        update(out, &[], &["198.51.100.0/24"]);
        update(out, &[], &["198.51.100.128/25"]);
        update(out, &["203.0.113.0/24"], &[]);
    });
    // The client that subscribed last has received all updates, so every client has.
    (0..3).for_each(|_| drop(all.next()));
    for ((filter, wanted), client) in expected.iter().zip(&mut clients) {
        let updates = client.updates();
        let first = |prefix: &str| updates.iter().any(|data| data.to_string().contains(prefix));
        let withdrawals = [
            first("198.51.100.0/24"),
            first("198.51.100.128/25"),
            first("203.0.113.0/24"),
        ];
        assert_eq!(withdrawals, *wanted, "{filter}");
    }
    world.end();
}

#[test]
fn connections_without_websocket_disturb_no_client() {
    use std::io::{Read as _, Write as _};
    let world = World::start();
    let mut socket = TcpStream::connect(world.server.listen_address()).unwrap();
    socket.write_all(b"HELLO\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    let mut client = world.client(&json!({}));
    client.send(&json!({"type": "ris_subscribe", "data": {"peer": "nobody"}}));
    assert_eq!(client.next()["type"], "ris_error");
    world.end();
}

#[test]
fn silent_connections_take_no_place_of_a_client() {
    use std::io::Read as _;
    // The connections exceed the limit of clients.
    let world = World::of(1, 1_000);
    let address = world.server.listen_address();
    let silent: Vec<TcpStream> = (0..40)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect();
    // Each address has a limit: the server closes the last connections at once.
    let mut last = &silent[39];
    last.set_read_timeout(Some(TIMEOUT)).unwrap();
    let closed = last.read(&mut [0]).unwrap();
    assert_eq!(closed, 0);
    let elsewhere = connect_from("127.0.0.2", address);
    let (_client, _) = tungstenite::client(format!("ws://{address}/"), elsewhere).unwrap();
    let other = connect_from("127.0.0.2", address);
    let refused = tungstenite::client(format!("ws://{address}/"), other);
    let why = refused.map(drop).map_err(|why| why.to_string());
    assert!(why.unwrap_err().contains("503"));
    world.end();
}

/// Connects from one of the machine's own addresses.
fn connect_from(from: &str, to: std::net::SocketAddr) -> TcpStream {
    use socket2::{Domain, Socket, Type};
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let from = std::net::SocketAddr::new(from.parse().unwrap(), 0);
    socket.bind(&from.into()).unwrap();
    socket.connect(&to.into()).unwrap();
    let stream = TcpStream::from(socket);
    let timeout = Some(TIMEOUT);
    stream.set_read_timeout(timeout).unwrap();
    stream
}

/// Clients that send nothing, that never complete the handshake, or that never read.
#[test]
fn no_client_delays_the_shutdown() {
    let world = World::start();
    let address = world.server.listen_address();
    let silent = TcpStream::connect(address).unwrap();
    let mut greeting = TcpStream::connect(address).unwrap();
    greeting.write_all(b"GET / HTTP/1.1\r\n").unwrap();
    let unsubscribed = world.client(&json!({}));
    let mut subscribed = world.client(&json!({"type": "RIS_PEER_STATE"}));
    // The thread of this client blocks in a write.
    much(&world);
    // All messages are queued now.
    subscribed.updates();
    let begun = Instant::now();
    world.end();
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
    drop((silent, greeting, unsubscribed));
}
