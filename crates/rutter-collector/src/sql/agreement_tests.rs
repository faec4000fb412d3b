//! `rutter show`, `rutter mrt` and SQL agree on every file of the fuzz corpora. UPDATEs and NLRI are put into MRT records
//! and into BMP messages.

use std::fs;
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use rutter_api::{Backend, ClearHow, Line, LogReader, ReloadError, Request, RowSink};
use rutter_api::{RouteFilter, SessionRow, StatusRow};
use rutter_config::{Bmp, ConfigSource, Diff};
use rutter_ingest::MrtLoader;
use rutter_ingest::bmp::Station;
use rutter_net::{AfiSafi, Asn, Prefix};
use rutter_policy::{ExportPolicy, ExportSettings};
use rutter_rib::{Explanation, MemoryRow, Rib, RibConfig, Snapshot};
use rutter_service::{Context, Service as _, ShutdownSignal, StatusRegistry};
use rutter_sql::{Format, Printer, live_database};
use rutter_wire::attr::{OPTIONAL, TRANSITIVE, code, write_attr};
use rutter_wire::bmp::{Message, PeerHeader, RibView, next_packet};
use rutter_wire::bmp::{write_peer_up, write_route_monitoring};
use rutter_wire::capability::{AddPathFamily, AddPathMode, Capability};
use rutter_wire::frame::{MAX_EXTENDED_LEN, MessageType, next_frame};
use rutter_wire::mrt::{BgpSession, Records, Timestamp, write_message};
use rutter_wire::open::Open;
use rutter_wire::update::{self, Sections};
use serde_json::Value;

use super::files::{block_on, limits};
use crate::failure::Failure;
use crate::mrt::printed_rows;

/// Exceeds the time that any step takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A route as each reader shows it. Fields that a reader does not have are empty.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Route {
    peer: (String, u64),
    prefix: String,
    path_id: u64,
    attributes: String,
    /// The name of the peer, and whether the route is the best one. `rutter mrt` has no table.
    in_table: (String, bool),
}

impl Route {
    /// Reads a row whose attributes have other names than those of SQL and `rutter mrt`.
    fn of(row: &Value, attributes: &Value, names: [&str; 4]) -> Self {
        let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let [as_path, next_hop, med, local_pref] = names.map(|name| attributes[name].to_string());
        let lists = ["communities", "extended_communities", "large_communities"];
        let lists = lists.map(|name| list(attributes, name));
        let origin = attributes["origin"].to_string();
        Route {
            peer: (
                text("peer_address"),
                row["peer_asn"].as_u64().expect("an AS"),
            ),
            prefix: text("prefix"),
            path_id: row["path_id"].as_u64().unwrap_or_default(),
            attributes: format!("{origin} {as_path} {next_hop} {med} {local_pref} {lists:?}"),
            in_table: (text("peer_name"), row["best"] == Value::Bool(true)),
        }
    }

    /// Without what only a table has.
    fn into_printed(mut self) -> Self {
        self.in_table = (String::new(), false);
        self
    }
}

/// The words of a list, which is absent where it is empty.
fn list(attributes: &Value, name: &str) -> Vec<String> {
    let name = match attributes.get(name) {
        Some(_) => name.to_owned(),
        None => name.replace('_', "-"),
    };
    let values = attributes[&name].as_array().cloned().unwrap_or_default();
    values.iter().map(ToString::to_string).collect()
}

/// The names of SQL and `rutter mrt`.
const NAMES: [&str; 4] = ["as_path", "next_hop", "med", "local_pref"];

/// A daemon that answers `rutter show routes` for a table.
struct Shown(Arc<Rib>);

impl Backend for Shown {
    fn status(&self) -> StatusRow {
        unreachable!("no question about the process")
    }
    fn snapshot(&self) -> Snapshot {
        self.0.snapshot()
    }
    fn rib(&self) -> &Rib {
        &self.0
    }
    fn explain(&self, prefix: Prefix) -> Option<Explanation> {
        self.0.explain(prefix)
    }
    fn memory(&self) -> Vec<MemoryRow> {
        self.0.memory()
    }
    fn sessions(&self) -> Vec<SessionRow> {
        Vec::new()
    }
    fn clear(&self, _: &[IpAddr], _: ClearHow) -> Result<(), String> {
        Ok(())
    }
    fn reload(&self) -> Result<Diff, ReloadError> {
        Ok(Diff::default())
    }
    fn diff(&self, _: Option<&ConfigSource>) -> Result<Diff, ReloadError> {
        Ok(Diff::default())
    }
    fn shutdown(&self, _: Option<&str>) {}
    fn log(&self) -> Box<dyn LogReader> {
        unreachable!("no question about the log")
    }
}

/// Keeps the rows of an answer.
#[derive(Default)]
struct Kept(Vec<Route>);

impl RowSink for Kept {
    fn write_row(&mut self, line: &Line) -> io::Result<()> {
        let row = serde_json::to_value(line)?;
        let (peer, attributes) = (&row["peer"], &row["attributes"]);
        let flat = serde_json::json!({
            "peer_name": peer["name"],
            "peer_address": peer["address"],
            "peer_asn": peer["asn"],
            "prefix": row["prefix"],
            "path_id": row["path-id"],
            "best": row["best"],
        });
        let names = ["as-path", "next-hop", "multi-exit-disc", "local-pref"];
        self.0.push(Route::of(&flat, attributes, names));
        Ok(())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn client_has_disconnected(&self) -> bool {
        false
    }
}

fn shown(rib: &Arc<Rib>) -> Vec<Route> {
    let mut kept = Kept::default();
    let request = Request::Routes(RouteFilter::default());
    let answer = rutter_api::answer(&request, &Shown(Arc::clone(rib)), &mut kept);
    assert!(answer.is_ok());
    kept.0.sort();
    kept.0
}

fn asked(rib: &Arc<Rib>) -> Vec<Route> {
    let database = live_database(Arc::clone(rib), None, &limits()).expect("a database");
    let answer = block_on(async {
        let query = "SELECT peer_name, peer_address, peer_asn, prefix, path_id, best, origin, as_path, next_hop, med, \
            local_pref, communities, extended_communities, large_communities FROM routes";
        let failed = |error: rutter_sql::QueryError| Failure::text(error.to_string());
        let mut batches = database.query(query).await.map_err(failed)?;
        let mut out = Vec::new();
        let mut printer = Printer::of(&mut out, Format::Json, &batches.schema());
        while let Some(batch) = batches.next().await {
            let printed = printer.batch(&batch.map_err(|error| failed(error.into()))?);
            printed.map_err(|error| failed(error.into()))?;
        }
        printer.end()?;
        Ok(String::from_utf8(out).expect("UTF-8"))
    });
    let answer = answer.unwrap_or_else(|_| panic!("no answer"));
    let rows = answer.lines().map(|line| {
        let row: Value = serde_json::from_str(line).expect("JSON");
        Route::of(&row, &row, NAMES)
    });
    let mut rows: Vec<Route> = rows.collect();
    rows.sort();
    rows
}

/// The routes that remain after the lines of `rutter mrt`.
fn printed(bytes: &[u8]) -> Vec<Route> {
    let rows = printed_rows(bytes);
    let mut rows: Vec<Route> = rows.iter().map(|row| Route::of(row, row, NAMES)).collect();
    rows.sort();
    rows
}

fn rib() -> Arc<Rib> {
    Arc::new(Rib::new(RibConfig {
        shards: 2,
        cluster_id: 1,
        log_limit: 1 << 20,
        export: Arc::new(ExportPolicy::new(ExportSettings::default())),
        seed: 7,
        always_compare_med: false,
    }))
}

/// Loads an MRT file. All readers must agree about it. Returns the routes.
fn load(name: &str, bytes: &[u8]) -> Vec<Route> {
    let rib = rib();
    let mut loader = MrtLoader::new(&rib, "a file");
    for record in Records::new(bytes).map_while(Result::ok) {
        loader.take(&record).expect("room for the peer");
    }
    loader.finish();
    let (shown, asked) = (shown(&rib), asked(&rib));
    assert_eq!(shown, asked, "{name}");
    let mut bare: Vec<Route> = shown.into_iter().map(Route::into_printed).collect();
    bare.sort();
    assert_eq!(bare, printed(bytes), "{name}");
    bare
}

/// The name and the bytes of each file of a corpus.
fn corpus(name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus");
    let files = fs::read_dir(format!("{folder}/{name}")).expect("the corpus");
    let files = files.map(|file| file.expect("a file").path());
    let mut files: Vec<_> = files
        .map(|path| {
            let bytes = fs::read(&path).expect("a readable file");
            (path.display().to_string(), bytes)
        })
        .collect();
    files.sort();
    files
}

/// An UPDATE of a corpus, with its header.
struct Update {
    file: String,
    as4: bool,
    add_path: bool,
    message: Vec<u8>,
    /// The address of the peer that sends it.
    peer: IpAddr,
}

impl Update {
    fn as_mrt(&self) -> Vec<u8> {
        let session = BgpSession {
            peer_asn: Asn(64_501),
            local_asn: Asn(64_500),
            interface: 0,
            peer: self.peer,
            local: Ipv4Addr::new(192, 0, 2, 1).into(),
            as4: self.as4,
        };
        let (mut out, time) = (Vec::new(), Timestamp::Seconds(1_700_000_000));
        write_message(&mut out, time, &session, self.add_path, &self.message);
        out
    }

    fn as_bmp(&self) -> Vec<u8> {
        let mut capabilities = vec![Capability::FourOctetAs(Asn(64_501))];
        if self.add_path {
            let families = [AfiSafi::IPV4_UNICAST, AfiSafi::IPV6_UNICAST];
            let families = families.map(|afi_safi| AddPathFamily {
                afi_safi,
                mode: AddPathMode::Both,
            });
            capabilities.push(Capability::AddPath(families.to_vec()));
        }
        let (mut open, mut out) = (Vec::new(), Vec::new());
        Open::new(Asn(64_501), 90, 9, capabilities).encode(&mut open);
        let view = RibView::AdjRibInPre;
        let header = PeerHeader::global(self.peer, Asn(64_501), 9, view).with_as4(self.as4);
        let local = Ipv4Addr::new(192, 0, 2, 1).into();
        write_peer_up(&mut out, &header, local, (179, 179), &open, &open, &[]);
        write_route_monitoring(&mut out, &header, &self.message);
        out
    }
}

/// The UPDATEs of all corpora. The first octet of a file says how it is read (`fuzz/checks.rs`).
fn updates() -> Vec<Update> {
    let mut all: Vec<(String, bool, bool, Vec<u8>)> = Vec::new();
    for (file, bytes) in corpus("update") {
        let (choice, body) = bytes.split_first().expect("an octet");
        let mut message = vec![0xff; 16];
        message.extend((body.len() as u16 + 19).to_be_bytes());
        message.push(2);
        message.extend(body);
        all.push((file, choice & 1 != 0, choice & 8 != 0, message));
    }
    for (file, bytes) in corpus("nlri") {
        let (choice, nlri) = bytes.split_first().expect("an octet");
        for message in with_nlri(nlri) {
            all.push((file.clone(), true, choice & 1 != 0, message));
        }
    }
    for (file, bytes) in corpus("message") {
        let mut rest = &bytes[..];
        while let Ok(Some(frame)) = next_frame(rest, MAX_EXTENDED_LEN) {
            if frame.kind == MessageType::Update {
                all.push((file.clone(), true, false, frame.wire.to_vec()));
            }
            rest = &rest[frame.wire.len()..];
        }
    }
    let numbered = all.into_iter().zip(1..);
    let all = numbered.map(|((file, as4, add_path, message), number)| Update {
        file,
        as4,
        add_path,
        message,
        peer: Ipv4Addr::new(198, 18, 0, number).into(),
    });
    all.collect()
}

/// UPDATEs that announce NLRI as IPv4 and as IPv6 routes.
fn with_nlri(nlri: &[u8]) -> [Vec<u8>; 2] {
    let message = |next_hop: &dyn Fn(&mut Vec<u8>), nlri: &[u8]| {
        let mut attributes = Vec::new();
        write_attr(&mut attributes, TRANSITIVE, code::ORIGIN, &[0]);
        let path = [2, 1, 0, 0, 0xfb, 0xf5];
        write_attr(&mut attributes, TRANSITIVE, code::AS_PATH, &path);
        next_hop(&mut attributes);
        let sections = Sections {
            attributes: &attributes,
            nlri,
            ..Sections::default()
        };
        let mut out = Vec::new();
        update::write(&mut out, &sections);
        out
    };
    let own = |out: &mut Vec<u8>| write_attr(out, TRANSITIVE, code::NEXT_HOP, &[192, 0, 2, 1]);
    let mut reach = vec![0, 2, 1, 16, 0x20, 1, 0x0d, 0xb8];
    reach.extend([0; 13]);
    reach.extend(nlri);
    let reach = |out: &mut Vec<u8>| write_attr(out, OPTIONAL, code::MP_REACH_NLRI, &reach);
    [message(&own, nlri), message(&reach, &[])]
}

/// The messages before a Termination, after which the routes would go, and their number.
fn lasting(bytes: &[u8]) -> (&[u8], u64) {
    let (mut end, mut count) = (0, 0);
    while let Ok(Some(packet)) = next_packet(&bytes[end..], 1 << 20) {
        if matches!(packet.decode(), Ok(Message::Termination(_))) {
            break;
        }
        end += packet.len;
        count += 1;
    }
    (&bytes[..end], count)
}

#[test]
fn show_printer_and_sql_agree_on_every_mrt_file() {
    for (file, bytes) in corpus("mrt") {
        assert!(!load(&file, &bytes).is_empty(), "{file}");
    }
}

#[test]
fn show_and_sql_agree_on_every_bmp_stream_and_with_mrt_on_every_update() {
    let context = Context {
        rib: rib(),
        collector: "here".into(),
        shutdown: ShutdownSignal::new(),
        status: StatusRegistry::default(),
    };
    let settings = Bmp::new(vec!["127.0.0.1:0".parse().expect("an address")]);
    let station = Station::with_name_wait(&context, &settings, Duration::ZERO).expect("a station");
    let updates = updates();
    let mut streams: Vec<Vec<u8>> = updates.iter().map(Update::as_bmp).collect();
    streams.extend(corpus("bmp").into_iter().map(|(_, bytes)| bytes));
    let (mut sockets, mut expected) = (Vec::new(), Vec::new());
    for stream in &streams {
        let (bytes, messages) = lasting(stream);
        let mut socket = TcpStream::connect(station.listen_addresses()[0]).expect("a connection");
        socket.write_all(bytes).expect("a station that reads");
        sockets.push(socket);
        expected.push(messages);
    }
    expected.sort_unstable();
    let begun = Instant::now();
    loop {
        let routers = station.routers();
        let received = routers.iter().map(|router| router.messages + router.faults);
        let mut received: Vec<u64> = received.collect();
        received.sort_unstable();
        if received == expected {
            break;
        }
        assert!(begun.elapsed() < TIMEOUT, "{received:?}, not {expected:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    // All messages are in the table then.
    drop(station.handle().hold(TIMEOUT).expect("a moment"));
    let shown = shown(&context.rib);
    assert_eq!(shown, asked(&context.rib));
    let mut routes = 0;
    for update in &updates {
        let peer = update.peer.to_string();
        let of_bmp = shown.iter().filter(|route| route.peer.0 == peer);
        let mut of_bmp: Vec<Route> = of_bmp.cloned().map(Route::into_printed).collect();
        of_bmp.sort();
        assert_eq!(
            of_bmp,
            load(&update.file, &update.as_mrt()),
            "{}",
            update.file
        );
        routes += of_bmp.len();
    }
    // The UPDATEs have routes, and so have the BMP streams.
    assert!(routes > 15, "{routes}");
    assert!(shown.len() > routes, "{} of {routes}", shown.len());
    drop(sockets);
    context.shutdown.trigger();
    Box::new(station).stop();
}
