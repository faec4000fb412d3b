//! `rutter shadow` with small dumps: every kind of difference with its reason, and every error.

mod dump;
mod odd_files;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use dump::{Attrs, Rows, of, peer, session, table, update};

const CONFIG: &str = r#"
[exchange]
asn = 64500
router-id = "192.0.2.1"
lan = "192.0.2.0/24"

[rpki]
vrps = ["vrps.json"]

[communities]
not-to-any = "self:0:0"
not-to-peer = "self:0:peer"
to-peer = "self:1:peer"

[[member]]
asn = 3311
address = "192.0.2.11"

[[member]]
asn = 3312
address = "192.0.2.12"

[[member]]
asn = 3313
address = "192.0.2.13"
"#;

const VRPS: &str =
    r#"{"roas": [{"asn": "AS3311", "prefix": "45.66.0.0/16", "maxLength": 24, "ta": "test"}]}"#;

/// A folder with a configuration, removed in the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("rutter-shadow-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let place = Place(folder);
        place.write("rutter.toml", CONFIG.as_bytes());
        place.write("vrps.json", VRPS.as_bytes());
        place.write("received.mrt", &received());
        place
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let file = self.0.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
    }

    /// Runs `rutter shadow rutter.toml` with arguments. Returns exit status, output and error output.
    fn shadow(&self, arguments: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rutter"));
        command.current_dir(&self.0).args(["shadow", "rutter.toml"]);
        let output = command.args(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code().unwrap(),
            text(output.stdout),
            text(output.stderr),
        )
    }

    fn rows(&self, arguments: &[&str]) -> (i32, Vec<Value>) {
        let (code, out, err) = self.shadow(&[arguments, &["--json"]].concat());
        assert!(code < 2, "{err}");
        let rows = out.lines().map(|line| serde_json::from_str(line).unwrap());
        (code, rows.collect())
    }

    /// The error of a command that must fail.
    fn error(&self, arguments: &[&str]) -> String {
        let (code, out, err) = self.shadow(arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        err
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn members() -> [rutter_wire::mrt::PeerEntry; 3] {
    [peer(11, 3311), peer(12, 3312), peer(13, 3313)]
}

/// The routes that the other route server receives. 45.66.0.0/24 is invalid, and 45.3.0.0/24 is not for AS3312.
fn received() -> Vec<u8> {
    let not_to_12 = Attrs {
        large: vec![(64500, 0, 3312)],
        ..of(&[3311])
    };
    let rows: Rows = vec![
        (
            "45.1.0.0/24",
            vec![(0, of(&[3311])), (1, of(&[3312, 3312]))],
        ),
        ("45.3.0.0/24", vec![(0, not_to_12)]),
        ("45.4.0.0/24", vec![(2, of(&[3313]))]),
        ("45.66.0.0/24", vec![(1, of(&[3312]))]),
    ];
    table(&members(), &rows)
}

/// A dump with a peer for each member that agrees with Rutter, in the form of a recorder: with LOCAL_PREF.
fn agreeing() -> Rows {
    let recorded = |path: &[u32]| Attrs {
        local_pref: Some(100),
        ..of(path)
    };
    vec![
        (
            "45.1.0.0/24",
            vec![
                (0, recorded(&[3312, 3312])),
                (1, recorded(&[3311])),
                (2, recorded(&[3311])),
            ],
        ),
        ("45.3.0.0/24", vec![(2, recorded(&[3311]))]),
        (
            "45.4.0.0/24",
            vec![(0, recorded(&[3313])), (1, recorded(&[3313]))],
        ),
    ]
}

fn difference<'r>(rows: &'r [Value], member: &str, prefix: &str) -> &'r Value {
    let is_it = |row: &&Value| {
        row["type"] == "shadow-difference"
            && row["member"]["address"] == member
            && row["prefix"] == prefix
    };
    let mut found = rows.iter().filter(is_it);
    let row = found
        .next()
        .unwrap_or_else(|| panic!("{member} {prefix} in {rows:#?}"));
    assert!(found.next().is_none());
    row
}

#[test]
fn equal_routes_are_no_difference() {
    let place = Place::new("equal");
    place.write("out.mrt", &table(&members(), &agreeing()));
    let arguments = ["--received", "received.mrt", "--advertised", "out.mrt"];
    let (code, out, err) = place.shadow(&arguments);
    assert_eq!(code, 0, "{out}{err}");
    assert!(
        out.starts_with("3 sessions compared: 6 routes the same, no difference\n"),
        "{out}"
    );
    assert!(err.contains("note: rpki: 1 entry"), "{err}");
    let (code, rows) = place.rows(&arguments);
    assert_eq!((code, rows.len()), (0, 3));
    assert_eq!(rows[0]["same"], 2);
}

#[test]
fn every_kind_of_difference_has_its_reason() {
    let place = Place::new("kinds");
    let mut rows = agreeing();
    // AS3313 receives the longer path, AS3312 a route with another community and one that is not for it.
    rows[0].1[2].1 = of(&[3312, 3312]);
    rows[2].1[1].1.communities = vec![(3313, 9)];
    rows[1].1 = vec![(1, of(&[3311]))];
    rows.push(("45.66.0.0/24", vec![(0, of(&[3312]))]));
    rows.push(("45.99.0.0/24", vec![(0, of(&[3313, 65001]))]));
    place.write("out.mrt", &table(&members(), &rows));
    let arguments = ["--received", "received.mrt", "--advertised", "out.mrt"];
    let (code, rows) = place.rows(&arguments);
    assert_eq!(code, 1);
    for (member, prefix, kind, reason, explanation) in [
        (
            "192.0.2.13",
            "45.1.0.0/24",
            "differs",
            "other-route as-path-length",
            "AS path length",
        ),
        (
            "192.0.2.12",
            "45.4.0.0/24",
            "differs",
            "communities",
            "other communities",
        ),
        (
            "192.0.2.12",
            "45.3.0.0/24",
            "missing",
            "withheld communities",
            "its communities keep it",
        ),
        (
            "192.0.2.13",
            "45.3.0.0/24",
            "extra",
            "withheld-there",
            "1 other receives it",
        ),
        (
            "192.0.2.11",
            "45.66.0.0/24",
            "missing",
            "rejected rpki-invalid",
            "AS3311",
        ),
        (
            "192.0.2.11",
            "45.99.0.0/24",
            "missing",
            "not-received",
            "no member announces",
        ),
    ] {
        let row = difference(&rows, member, prefix);
        assert_eq!(
            (&row["kind"], &row["reason"]),
            (&kind.into(), &reason.into()),
            "{row}"
        );
        assert!(
            row["explanation"].as_str().unwrap().contains(explanation),
            "{row}"
        );
    }
    assert_eq!(rows.len(), 6 + 3);
    let row = difference(&rows, "192.0.2.13", "45.1.0.0/24");
    assert_eq!(row["advertised"]["from"]["asn"], 3312);
    assert_eq!(row["rutter"]["from"]["asn"], 3311);
    assert_eq!(row["rutter"]["as-path"], "3311");

    let (_, text, _) = place.shadow(&arguments);
    assert!(
        text.contains("3 routes the same, 3 missing, 1 extra, 2 differ"),
        "{text}"
    );
    assert!(text.contains("missing  rejected rpki-invalid"), "{text}");
    let only = [&arguments[..], &["--member", "AS3313", "--limit", "1"]].concat();
    let (code, text, _) = place.shadow(&only);
    assert_eq!(code, 1);
    assert!(
        text.contains("1 session compared: 0 routes the same, 0 missing, 1 extra, 1 differ"),
        "{text}"
    );
    assert!(text.contains("… and 1 more (--limit)"), "{text}");
}

/// Updates follow a dump, and both sides have been recorded as messages.
#[test]
fn updates_are_replayed_and_two_runs_agree() {
    let place = Place::new("updates");
    let mut log = Vec::new();
    let (from_11, from_13) = (
        session((11, 3311), (1, 64500)),
        session((13, 3313), (1, 64500)),
    );
    update(&mut log, &from_13, "45.4.0.0/24", None);
    update(&mut log, &from_11, "45.5.0.0/24", Some(&of(&[3311])));
    place.write("updates/1.mrt", &log);
    // Recorded at AS3312: the peer is the route server.
    let mut at_member = Vec::new();
    let from_server = session((1, 64500), (12, 3312));
    for (prefix, path) in [
        ("45.1.0.0/24", &[3311][..]),
        ("45.4.0.0/24", &[3313]),
        ("45.5.0.0/24", &[3311]),
    ] {
        update(&mut at_member, &from_server, prefix, Some(&of(path)));
    }
    place.write("at-12.mrt", &at_member);
    let arguments = [
        "--received",
        "received.mrt",
        "updates",
        "--advertised",
        "AS3312=at-12.mrt",
    ];
    let (code, rows) = place.rows(&arguments);
    assert_eq!(code, 1, "{rows:#?}");
    assert_eq!(
        difference(&rows, "192.0.2.12", "45.4.0.0/24")["reason"],
        "not-received"
    );
    assert_eq!((rows.len(), &rows[1]["same"]), (2, &2.into()));
    for form in [&[][..], &["--json"]] {
        let arguments = [&arguments[..], form].concat();
        assert_eq!(place.shadow(&arguments), place.shadow(&arguments));
    }
}

#[test]
fn a_file_with_one_peer_needs_no_matching_address() {
    let place = Place::new("one");
    // A recorder of another network, with an AS of its own.
    let rows = vec![
        ("45.1.0.0/24", vec![(0, of(&[3311]))]),
        ("45.4.0.0/24", vec![(0, of(&[3313]))]),
    ];
    place.write("copy.mrt", &table(&[peer(77, 65077)], &rows));
    let arguments = [
        "--received",
        "received.mrt",
        "--advertised",
        "192.0.2.12=copy.mrt",
    ];
    let (code, out, err) = place.shadow(&arguments);
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn the_routes_that_bird_prints_are_read() {
    let place = Place::new("bird");
    let text = "BIRD 2.0.12 ready.\nTable members:\n\
        45.1.0.0/24          unicast [AS3311 03:00:20.233] * (100) [AS3311i]\n\
        \tType: BGP univ\n\tBGP.origin: IGP\n\tBGP.as_path: 3311\n\tBGP.next_hop: 192.0.2.11\n\
        \tBGP.local_pref: 100\n\tBGP.large_community: \n\
        45.4.0.0/24          unicast [AS3313 03:00:20.233] * (100) [AS3313i]\n\
        \tBGP.origin: IGP\n\tBGP.as_path: 3313\n\tBGP.next_hop: 192.0.2.13\n\tBGP.0x63 [t]: ab\n";
    place.write("out.txt", text.as_bytes());
    let received = ["--received", "received.mrt", "--advertised"];
    let (code, out, err) = place.shadow(&[&received[..], &["AS3312=out.txt"]].concat());
    assert_eq!(code, 0, "{out}{err}");
    assert!(
        err.contains("note: out.txt: the attribute 0x63 [t] is not compared"),
        "{err}"
    );
    let error = place.error(&[&received[..], &["out.txt"]].concat());
    assert!(error.contains("write MEMBER=PATH"), "{error}");
    place.write("out.txt", b"BIRD 2.0.12 ready.\nnonsense\n");
    let error = place.error(&[&received[..], &["AS3312=out.txt"]].concat());
    assert!(
        error.contains("out.txt: line 2: no prefix: nonsense"),
        "{error}"
    );
}

/// Two routers of AS3312: a dump without local addresses may be of either.
#[test]
fn a_member_with_two_sessions_is_named_by_address() {
    let place = Place::new("twins");
    let second = "\n[[member]]\nasn = 3312\naddress = \"192.0.2.22\"\n";
    place.write("rutter.toml", format!("{CONFIG}{second}").as_bytes());
    let rows = vec![
        ("45.1.0.0/24", vec![(0, of(&[3311]))]),
        ("45.4.0.0/24", vec![(0, of(&[3313]))]),
    ];
    place.write("at-12.mrt", &table(&[peer(1, 64500)], &rows));
    let received = ["--received", "received.mrt", "--advertised"];
    let error = place.error(&[&received[..], &["AS3312=at-12.mrt"]].concat());
    assert!(
        error.contains("several sessions of one family: name one by its address"),
        "{error}"
    );
    let (code, out, err) = place.shadow(&[&received[..], &["192.0.2.22=at-12.mrt"]].concat());
    assert_eq!(code, 0, "{out}{err}");
    assert!(
        out.starts_with("1 session compared: 2 routes the same, no difference"),
        "{out}"
    );
}

#[test]
fn peers_without_a_neighbor_are_named() {
    let place = Place::new("unmatched");
    let rows = vec![("45.1.0.0/24", vec![(0, of(&[3311])), (1, of(&[3399]))])];
    place.write("more.mrt", &table(&[peer(11, 3311), peer(99, 3399)], &rows));
    place.write(
        "out.mrt",
        &table(
            &[peer(12, 3312)],
            &vec![("45.1.0.0/24", vec![(0, of(&[3311]))])],
        ),
    );
    let (code, _, err) = place.shadow(&["--received", "more.mrt", "--advertised", "out.mrt"]);
    assert_eq!(code, 0, "{err}");
    let note = "note: 192.0.2.99 AS3399: no neighbor of the configuration; 1 UPDATEs or entries of it are left out";
    assert!(err.contains(note), "{err}");
}

#[test]
fn errors_say_what_to_do() {
    let place = Place::new("errors");
    place.write("out.mrt", &table(&members(), &agreeing()));
    place.write("empty.mrt", b"");
    place.write(
        "text.mrt",
        b"this is no MRT file, but a text with some more words",
    );
    let cut = received();
    place.write("cut.mrt", &cut[..cut.len() - 5]);
    fs::create_dir_all(place.0.join("nothing")).unwrap();
    place.write(
        "two.mrt",
        &table(
            &[peer(77, 65077), peer(78, 65078)],
            &vec![("45.1.0.0/24", vec![(0, of(&[3311])), (1, of(&[3312]))])],
        ),
    );
    for (received, advertised, expected) in [
        ("absent.mrt", "out.mrt", "absent.mrt: No such file"),
        (
            "received.mrt",
            "AS3312=absent.mrt",
            "absent.mrt: No such file",
        ),
        ("empty.mrt", "out.mrt", "empty.mrt: no MRT record"),
        ("nothing", "out.mrt", "nothing: the folder has no files"),
        ("text.mrt", "out.mrt", "text.mrt: this is not an MRT file"),
        ("cut.mrt", "out.mrt", "cut.mrt: "),
        (
            "received.mrt",
            "AS9=out.mrt",
            "`AS9` is no name, address or AS number of a neighbor",
        ),
        (
            "received.mrt",
            "AS3312=two.mrt",
            "neither the route server (AS64500) nor the member is a peer",
        ),
        (
            "received.mrt",
            "two.mrt",
            "no peer of the file is a neighbor",
        ),
        (
            "received.mrt",
            "two.mrt",
            "peers with routes: 192.0.2.77 AS65077, 192.0.2.78 AS65078",
        ),
    ] {
        let error = place.error(&["--received", received, "--advertised", advertised]);
        assert!(error.contains(expected), "{received} {advertised}: {error}");
    }
    let one = [
        "--received",
        "received.mrt",
        "--advertised",
        "AS3312=out.mrt",
    ];
    let error = place.error(&[&one[..], &["--member", "AS3313"]].concat());
    assert!(
        error.contains("--member AS3313: no file of --advertised"),
        "{error}"
    );
    place.write("rutter.toml", b"[exchange]\nasn = 0\n");
    let error = place.error(&one);
    assert!(error.contains("rutter.toml:2"), "{error}");
}
