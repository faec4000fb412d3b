//! The interface of birdwatcher, as a looking glass asks it.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rutter_daemon::Handle;
use serde_json::Value;

use crate::support::{Folder, Speaker, member, start};

const ONE: &str = "R64501_127_0_1_1";
const TWO: &str = "R64502_127_0_1_2";

/// Asks as HTTP/1.0, so that a long answer ends with the connection.
fn ask(web: SocketAddr, path: &str) -> (u16, Value) {
    let mut stream = TcpStream::connect(web).expect("connect");
    let timeout = Some(Duration::from_secs(60));
    stream.set_read_timeout(timeout).expect("timeout");
    write!(stream, "GET /birdwatcher{path} HTTP/1.0\r\n\r\n").expect("send");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).expect("a status");
    let json = serde_json::from_str(body).unwrap_or_else(|error| panic!("{path}: {error}: {body}"));
    (status.parse().expect("a number"), json)
}

fn get(web: SocketAddr, path: &str) -> Value {
    let (status, json) = ask(web, path);
    assert_eq!(status, 200, "{path}: {json}");
    assert!(json["api"]["Version"].is_string(), "{path}");
    assert!(json["api"]["result_from_cache"].is_boolean(), "{path}");
    json
}

fn networks(answer: &Value) -> BTreeSet<&str> {
    let routes = answer["routes"].as_array().expect("routes");
    let network = |route: &'_ Value| -> Option<String> { Some(route["network"].as_str()?.into()) };
    assert!(routes.iter().all(|route| network(route).is_some()));
    routes
        .iter()
        .filter_map(|route| route["network"].as_str())
        .collect()
}

/// Two members. The first announces two accepted routes, one of which is kept from the second, and a bogon.
fn exchange(folder: &Folder, more: &str) -> (Handle, SocketAddr, [Speaker; 2]) {
    let members = format!("{}{}", member(1, 64501, ""), member(2, 64502, ""));
    let sections = format!(
        "[web]\nlisten = \"127.0.0.1:0\"\nbirdwatcher = \"/birdwatcher\"\n{more}\
         [communities]\nnot-to-peer = [\"0:peer\"]\n{members}"
    );
    let (daemon, bgp) = start(folder, 1, &sections);
    let mut one = Speaker::establish(1, 64501, bgp);
    let mut two = Speaker::establish(2, 64502, bgp);
    one.announce_with(&["9.9.9.0/24"], &[65010], &[(0, 64502)]);
    one.announce(&["8.8.8.0/24", "10.0.0.0/24"], &[65010]);
    two.expect_table(&["8.8.8.0/24"]);
    let web = daemon.web_address().expect("[web]");
    (daemon, web, [one, two])
}

#[test]
fn sessions_are_protocols_with_pipes_that_filter_nothing() {
    let folder = Folder::new("birds");
    let (_daemon, web, _speakers) = exchange(&folder, "");
    let status = get(web, "/status");
    assert_eq!(status["status"]["router_id"], "192.0.2.1");
    let long = "2026-11-25 22:40:00".len();
    assert_eq!(
        status["status"]["last_reboot"].as_str().map(str::len),
        Some(long)
    );

    let bgp = get(web, "/protocols/bgp");
    assert_eq!(bgp["protocols"].as_object().expect("protocols").len(), 2);
    let one = &bgp["protocols"][ONE];
    assert_eq!(one["bird_protocol"], "BGP");
    assert_eq!(one["state"], "up");
    assert_eq!(one["neighbor_address"], "127.0.1.1");
    assert_eq!(one["neighbor_as"], 64501);
    assert_eq!(one["routes"]["imported"], 2);
    assert_eq!(one["routes"]["filtered"], 1);
    assert_eq!(one["channels"]["ipv4"]["routes_count"]["imported"], 2);

    // Alice-LG with many tables takes the difference of a session and its pipe for filtered routes.
    let all = get(web, "/protocols");
    let table = one["table"].as_str().expect("a table");
    let pipe = &all["protocols"][format!("M{}", &table[1..])];
    assert_eq!(pipe["bird_protocol"], "Pipe");
    assert_eq!(pipe["routes"]["imported"], one["routes"]["imported"]);
    assert_eq!(
        networks(&get(web, "/routes/pipe/filtered?table=T&pipe=M")).len(),
        0
    );

    let short = get(web, "/protocols/short?uncached=true");
    assert_eq!(short["protocols"][TWO]["state"], "up");
    let symbols = get(web, "/symbols/tables");
    assert!(
        symbols["symbols"]
            .as_array()
            .expect("tables")
            .contains(&one["table"])
    );
}

/// A looking glass shows them as ages, which must not flicker.
#[test]
fn times_are_the_same_in_each_answer() {
    let folder = Folder::new("birdtimes");
    let (_daemon, web, _speakers) = exchange(&folder, "");
    let times = || {
        let reboot = get(web, "/status")["status"]["last_reboot"].clone();
        let session = get(web, "/protocols/bgp")["protocols"][ONE]["state_changed"].clone();
        let route = get(web, &format!("/routes/protocol/{ONE}"))["routes"][0]["age"].clone();
        [reboot, session, route]
    };
    let first = times();
    assert!(first.iter().all(Value::is_string), "{first:?}");
    // More than a second, because the times have whole ones.
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(1_200) {
        assert_eq!(times(), first);
        std::thread::sleep(Duration::from_millis(30));
    }
}

#[test]
fn routes_are_listed_by_protocol_table_and_destination_with_reasons() {
    let folder = Folder::new("birdroutes");
    let (_daemon, web, _speakers) = exchange(&folder, "");
    let accepted = BTreeSet::from(["8.8.8.0/24", "9.9.9.0/24"]);
    for path in [
        format!("/routes/protocol/{ONE}"),
        "/routes/peer/127.0.1.1".to_owned(),
        "/routes/table/master4".to_owned(),
        "/routes/table/master".to_owned(),
        "/routes/table/T64501_127_0_1_1/peer/127.0.1.1".to_owned(),
    ] {
        assert_eq!(networks(&get(web, &path)), accepted, "{path}");
    }
    assert_eq!(networks(&get(web, "/routes/table/master6")).len(), 0);
    let count = get(web, &format!("/routes/count/protocol/{ONE}"));
    assert_eq!(count["routes"], 2);
    assert_eq!(get(web, "/routes/count/table/master4")["routes"], 2);

    for path in [
        format!("/routes/filtered/{ONE}"),
        "/routes/table/master4/filtered".to_owned(),
    ] {
        let filtered = get(web, &path);
        assert_eq!(
            networks(&filtered),
            BTreeSet::from(["10.0.0.0/24"]),
            "{path}"
        );
        let route = &filtered["routes"][0];
        assert_eq!(
            route["bgp"]["large_communities"],
            serde_json::json!([[64500, 65520, 2]])
        );
        assert_eq!(route["learnt_from"], "127.0.1.1");
        assert_eq!(route["from_protocol"], ONE);
    }

    let sent = get(web, &format!("/routes/export/{TWO}"));
    assert_eq!(networks(&sent), BTreeSet::from(["8.8.8.0/24"]));
    // One table, and many: Alice-LG asks for a protocol or for its pipe.
    for name in [TWO, "M64502_127_0_1_2"] {
        let withheld = get(web, &format!("/routes/noexport/{name}"));
        assert_eq!(networks(&withheld), BTreeSet::from(["9.9.9.0/24"]));
        let route = &withheld["routes"][0]["bgp"];
        assert_eq!(
            route["large_communities"],
            serde_json::json!([[64500, 65521, 2]])
        );
        assert_eq!(route["communities"], serde_json::json!([[0, 64502]]));
        assert_eq!(route["as_path"], serde_json::json!(["64501", "65010"]));
    }

    // BIRD does not list a client's own routes among those that it is not sent.
    let own = get(web, &format!("/routes/noexport/{ONE}"));
    assert_eq!(networks(&own).len(), 0);

    for path in [
        "/routes/prefix?prefix=8.8.8.0/24",
        "/routes/net/8.8.8.8",
        "/route/net/8.8.8.0/mask/24",
        "/route/8.8.8.0%2F24/table/master4",
        "/route/8.8.8.0%2F24/protocol/R64501_127_0_1_1",
        "/route/8.8.8.0%2F24/export/R64502_127_0_1_2",
    ] {
        assert_eq!(
            networks(&get(web, path)),
            BTreeSet::from(["8.8.8.0/24"]),
            "{path}"
        );
    }
    assert_eq!(networks(&get(web, "/routes/net/1.1.1.1")).len(), 0);
}

#[test]
fn the_reasons_of_ixp_manager_have_its_numbers() {
    let folder = Folder::new("birdixp");
    let more = "birdwatcher-reasons = \"ixp-manager\"\n";
    let (_daemon, web, _speakers) = exchange(&folder, more);
    let filtered = get(web, &format!("/routes/filtered/{ONE}"));
    let communities = &filtered["routes"][0]["bgp"]["large_communities"];
    assert_eq!(*communities, serde_json::json!([[64500, 1101, 3]]));
    // Its looking glass lists routes with large communities that begin with two numbers.
    let none = get(web, &format!("/routes/lc-zwild/protocol/{ONE}/64500/1101"));
    assert_eq!(networks(&none).len(), 0);
}

#[test]
fn a_long_list_comes_in_parts_and_is_whole() {
    let folder = Folder::new("birdlong");
    let (_daemon, web, [mut one, mut two]) = exchange(&folder, "");
    let many: Vec<String> = (0..3_000)
        .map(|i| format!("20.{}.{}.0/24", i / 250, i % 250))
        .collect();
    for part in many.chunks(500) {
        let part: Vec<&str> = part.iter().map(String::as_str).collect();
        one.announce(&part, &[]);
    }
    two.receive_until(|two| two.table.len() == 3_001);
    let all = get(web, &format!("/routes/protocol/{ONE}"));
    assert_eq!(all["routes"].as_array().expect("routes").len(), 3_002);
    assert_eq!(networks(&all).len(), 3_002);
    assert_eq!(
        get(web, &format!("/routes/count/primary/{ONE}"))["routes"],
        3_002
    );
}

#[test]
fn errors_have_the_form_that_looking_glasses_show() {
    let folder = Folder::new("birdbad");
    let (_daemon, web, _speakers) = exchange(&folder, "");
    for (path, status, error) in [
        ("/routes/protocol/R1_1_1_1_1", 404, "no protocol or table"),
        ("/routes/noexport/X", 404, "no protocol or table"),
        ("/nothing", 404, "no such path"),
        ("/routes/prefix", 400, "?prefix="),
        ("/routes/prefix?prefix=8.8.8.8/24", 400, "8.8.8.8/24"),
    ] {
        let (got, json) = ask(web, path);
        assert_eq!(got, status, "{path}: {json}");
        let text = json["error"].as_str().expect("an error");
        assert!(text.contains(error), "{path}: {text}");
    }
}
