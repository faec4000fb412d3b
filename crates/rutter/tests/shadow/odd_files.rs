//! Files that are not what they seem: with several paths of a prefix, several dumps, faults, or far too much.

use std::fs::File;
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::process::Command;

use rutter_net::Asn;
use rutter_wire::mrt::{PeerEntry, Timestamp, write_peer_index_table, write_state_change};

use crate::dump::{
    Rows, of, peer, session, table, table_at, update, update_of_both, update_with_path,
};
use crate::{CONFIG, Place, agreeing, difference, members};

const RECEIVED: [&str; 3] = ["--received", "received.mrt", "--advertised"];

/// A member that is sent all paths.
const ADD_PATH: &str =
    "\n[[member]]\nasn = 3314\naddress = \"192.0.2.14\"\nadd-path = { send = true }\n";

/// BIRD's output for routes, each with a prefix or none, an AS path, and a community or none.
fn bird(routes: &[(&str, &str, &str)]) -> String {
    let mut text = "BIRD 2.0.12 ready.\nTable members:\n".to_owned();
    for (prefix, path, community) in routes {
        let last = &path[2..4];
        text.push_str(&format!(
            "{prefix:<20} unicast [AS{path}] * (100)\n\tBGP.origin: IGP\n\tBGP.as_path: {path}\n\
             \tBGP.next_hop: 192.0.2.{last}\n\tBGP.community: {community}\n"
        ));
    }
    text
}

#[test]
fn differences_fail_although_nobody_reads_them() {
    let place = Place::new("closed");
    let rows: Rows = vec![("45.1.0.0/24", vec![(1, of(&[3311]))])];
    place.write("out.mrt", &table(&members(), &rows));
    for form in [&[][..], &["--json"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rutter"));
        command.current_dir(&place.0);
        command.args(["shadow", "rutter.toml"]).args(RECEIVED);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        command.arg("out.mrt").args(form).stdout(writer);
        assert_eq!(command.status().unwrap().code(), Some(1), "{form:?}");
    }
}

#[test]
fn bird_prints_several_paths_of_a_prefix() {
    let place = Place::new("paths");
    place.write("rutter.toml", format!("{CONFIG}{ADD_PATH}").as_bytes());
    let same = bird(&[
        ("45.1.0.0/24", "3311", ""),
        ("", "3312 3312", ""),
        ("45.3.0.0/24", "3311", ""),
        ("45.4.0.0/24", "3313", ""),
    ]);
    place.write("out.txt", same.as_bytes());
    let arguments = [&RECEIVED[..], &["AS3314=out.txt"]].concat();
    let (code, out, err) = place.shadow(&arguments);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("4 routes the same, no difference"), "{out}");
    // The other order, with another community: each differs from its own form, not from the other route.
    let other = bird(&[
        ("45.1.0.0/24", "3312 3312", "(1,2)"),
        ("", "3311", "(1,2)"),
        ("45.3.0.0/24", "3311", "(1,2)"),
        ("45.4.0.0/24", "3313", "(1,2)"),
    ]);
    place.write("out.txt", other.as_bytes());
    let (code, rows) = place.rows(&arguments);
    assert_eq!((code, rows.len()), (1, 4 + 1), "{rows:#?}");
    for row in &rows[..4] {
        assert_eq!(row["reason"], "communities", "{row}");
    }
}

#[test]
fn faults_of_advertised_routes_are_told() {
    let place = Place::new("faults");
    let arguments = [&RECEIVED[..], &["AS3312=out.txt"]].concat();
    // Attributes of more than 65535 octets, and one of them alone.
    let path = vec!["3311"; 500].join(" ");
    for (communities, expected) in [
        (
            16_000,
            "out.txt: 45.1.0.0/24: the lengths inside its UPDATE",
        ),
        (17_000, "out.txt: line 7: unreadable value"),
    ] {
        let communities = vec!["(3311,9)"; communities].join(" ");
        let text = bird(&[("45.1.0.0/24", &path, &communities)]);
        place.write("out.txt", text.as_bytes());
        let error = place.error(&arguments);
        assert!(error.contains(expected), "{error:.300}");
    }
    let text = bird(&[("45.1.0.0/24", "3311", "")]).replace("\tBGP.origin: IGP\n", "");
    place.write("out.txt", text.as_bytes());
    let (_, _, err) = place.shadow(&arguments);
    let note = "1 UPDATEs that it is sent are malformed, and are read as they stand";
    assert!(err.contains(note), "{err}");
}

#[test]
fn a_later_dump_takes_the_place_of_the_one_before() {
    let place = Place::new("dumps");
    let mut rows = vec![
        ("45.1.0.0/24", vec![(0, of(&[3311]))]),
        (
            "45.4.0.0/24",
            vec![(2, of(&[3313])), (0, of(&[3311, 3313]))],
        ),
    ];
    place.write("1.mrt", &table_at(1, &members(), &rows));
    rows.remove(0);
    place.write("2.mrt", &table_at(2, &members(), &rows));
    let one = &vec![(
        "45.4.0.0/24",
        vec![(0, of(&[3313])), (1, of(&[3313])), (2, of(&[3311, 3313]))],
    )];
    place.write("out.mrt", &table_at(2, &members(), one));
    let both = ["--received", "1.mrt", "2.mrt", "--advertised", "out.mrt"];
    let (code, out, err) = place.shadow(&both);
    assert_eq!(code, 0, "{out}{err}");
    assert!(!err.contains("earlier one"), "{err}");
    // A peer that the later dump lacks keeps its routes.
    let only_13 = vec![("45.4.0.0/24", vec![(2, of(&[3313]))])];
    place.write("2.mrt", &table_at(2, &members(), &only_13));
    let (code, _, err) = place.shadow(&both);
    assert_eq!(code, 1, "{err}");
    let note = "note: the latest table dump has no ipv4-unicast routes of some neighbors, so those of an earlier \
                one count: AS3311 192.0.2.11\n";
    assert!(err.contains(note), "{err}");
    // Files of one time are parts of one dump.
    place.write("2.mrt", &table_at(1, &members(), &rows));
    let (code, rows) = place.rows(&both);
    assert_eq!(code, 1);
    assert_eq!(
        difference(&rows, "192.0.2.12", "45.1.0.0/24")["kind"],
        "extra"
    );
}

/// The daemon reads the part of an UPDATE that its session carries.
#[test]
fn an_update_of_two_families_counts_for_the_one_that_is_carried() {
    let place = Place::new("families");
    let mut log = Vec::new();
    let from_11 = session((11, 3311), (1, 64500));
    update_of_both(&mut log, &from_11, "45.5.0.0/24", &of(&[3311]));
    place.write("received.mrt", &log);
    let rows = vec![("45.5.0.0/24", vec![(0, of(&[3311]))])];
    place.write("out.mrt", &table(&[peer(12, 3312)], &rows));
    let (code, out, err) = place.shadow(&[&RECEIVED[..], &["out.mrt"]].concat());
    assert_eq!(code, 0, "{out}{err}");
    assert!(
        err.contains("1 UPDATEs or entries have routes of a family"),
        "{err}"
    );
}

#[test]
fn routes_with_and_without_path_identifiers_do_not_mix() {
    let place = Place::new("mixed");
    let mut log = Vec::new();
    let from_11 = session((11, 3311), (1, 64500));
    update_with_path(&mut log, &from_11, "45.1.0.0/24", &of(&[3311]));
    place.write("more.mrt", &log);
    place.write("out.mrt", &table(&members(), &agreeing()));
    let arguments = [
        "--received",
        "received.mrt",
        "more.mrt",
        "--advertised",
        "out.mrt",
    ];
    let error = place.error(&arguments);
    assert!(
        error.contains("some of its ipv4-unicast routes have path identifiers"),
        "{error}"
    );
    // A new session may have Add-Path.
    let mut ended = Vec::new();
    write_state_change(&mut ended, Timestamp::Seconds(2), &from_11, 6, 1);
    place.write("more.mrt", &[ended, log].concat());
    let (code, rows) = place.rows(&arguments);
    assert_eq!(code, 1, "{rows:#?}");
    assert_eq!(
        difference(&rows, "192.0.2.13", "45.3.0.0/24")["reason"],
        "not-received"
    );
}

#[test]
fn an_attempt_to_connect_ends_no_session() {
    let place = Place::new("attempt");
    let from_11 = session((11, 3311), (1, 64500));
    let mut log = Vec::new();
    update(&mut log, &from_11, "45.5.0.0/24", Some(&of(&[3311])));
    write_state_change(&mut log, Timestamp::Seconds(2), &from_11, 4, 1);
    place.write("received.mrt", &log);
    let rows = vec![("45.5.0.0/24", vec![(0, of(&[3311]))])];
    place.write("out.mrt", &table(&[peer(12, 3312)], &rows));
    let arguments = [&RECEIVED[..], &["out.mrt"]].concat();
    assert_eq!(place.rows(&arguments).0, 0);
    write_state_change(&mut log, Timestamp::Seconds(2), &from_11, 6, 1);
    place.write("received.mrt", &log);
    assert_eq!(place.rows(&arguments).0, 1);
}

#[test]
fn far_too_much_is_refused_or_left_out() {
    let place = Place::new("much");
    place.write("out.mrt", &table(&members(), &agreeing()));
    let strangers: Vec<PeerEntry> = (101..=112)
        .map(|last| peer(last, 4_000 + u32::from(last)))
        .collect();
    let routes = (0..12)
        .map(|at| (at, of(&[4_101 + u32::from(at)])))
        .collect();
    place.write(
        "strangers.mrt",
        &table(&strangers, &vec![("45.9.0.0/24", routes)]),
    );
    let (_, _, err) = place.shadow(&[
        "--received",
        "received.mrt",
        "strangers.mrt",
        "--advertised",
        "out.mrt",
    ]);
    assert_eq!(
        err.matches("no neighbor of the configuration").count(),
        8,
        "{err}"
    );
    assert!(
        err.contains("note: 4 more peers have no neighbor; 4 UPDATEs"),
        "{err}"
    );

    let mut crowd = Vec::new();
    for table in 0..2_u32 {
        let entry = |at: u32| PeerEntry {
            bgp_id: 1,
            address: Ipv4Addr::from_bits(table << 24 | at).into(),
            asn: Asn(at),
        };
        let peers: Vec<PeerEntry> = (1..=60_000).map(entry).collect();
        write_peer_index_table(&mut crowd, 1, 1, "", &peers);
    }
    place.write("crowd.mrt", &crowd);
    let error = place.error(&["--received", "crowd.mrt", "--advertised", "out.mrt"]);
    assert!(
        error.contains("--received: the files have more than 100000 peers"),
        "{error}"
    );
    let error = place.error(&[&RECEIVED[..], &["crowd.mrt"]].concat());
    assert!(
        error.contains("the files have more than 100000 peers"),
        "{error}"
    );

    let mut text = File::create(place.0.join("out.txt")).unwrap();
    text.write_all(b"BIRD 2.0.12 ready.\n").unwrap();
    text.set_len((1 << 30) + 1).unwrap();
    let error = place.error(&[&RECEIVED[..], &["AS3312=out.txt"]].concat());
    assert!(error.contains("out.txt: the text has more than"), "{error}");
}
