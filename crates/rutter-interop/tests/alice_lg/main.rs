//! Alice-LG's own package for birdwatcher reads Rutter, as a source with a single table and with many tables.
//!
//! The package is not among those that the registries of CI serve, so this program is not a part of `make interop`. Run it
//! with a checkout of <https://github.com/alice-lg/alice-lg> and a network for its dependencies:
//!
//! `ALICE_LG=PATH cargo test -p rutter-interop --locked --test alice-lg`

use std::path::Path;
use std::process::Command;

use rutter_interop::bird::Bird;
use rutter_interop::rutter::{Rutter, member};
use rutter_interop::{Lab, Route, Speaker as _, client, eventually, holds, output_of, up};
use serde_json::{Value, json};

/// The answers that Alice-LG's package reads from this address.
fn answers(kind: &str, address: &str) -> Result<Value, String> {
    let checkout = std::env::var("ALICE_LG").expect("ALICE_LG names no checkout of Alice-LG");
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/alice_lg/main.go");
    let mut go = Command::new("go");
    go.current_dir(checkout).arg("run").arg(program);
    let text = output_of(go.args([kind, address]))?;
    let line = text.lines().last().unwrap_or_default();
    serde_json::from_str(line).map_err(|why| format!("{why}: {text}"))
}

/// Networks and large communities of the routes in a list.
fn routes(list: &Value) -> Vec<(&str, &Value)> {
    let routes = list.as_array().into_iter().flatten();
    routes
        .map(|route| {
            let network = route["network"].as_str().expect("a network");
            (network, &route["bgp"]["large_communities"])
        })
        .collect()
}

/// Two members: the first announces a route for all, one that it keeps from the second, and one that is too long.
fn exchange(check: impl Fn(&str, &Lab)) {
    let lab = Lab::new();
    let (one, two) = (lab.address(2), lab.address(3));
    let web = format!("{}:8179", lab.address(1));
    let sections = format!(
        "[web]\nlisten = \"{web}\"\nbirdwatcher = \"/birdwatcher\"\n[communities]\nnot-to-peer = [\"0:peer\"]\n{}{}",
        member(one, 2_102, "description = \"Foo Networks\"\n"),
        member(two, 2_103, "")
    );
    let mut rutter = Rutter::start(&lab, &sections);
    let mut first = Bird::start(client(&lab, &rutter, 2, 2_102, |_| {}));
    let mut second = Bird::start(client(&lab, &rutter, 3, 2_103, |_| {}));
    up(&lab, &mut rutter, 2, &mut first);
    up(&lab, &mut rutter, 3, &mut second);
    let for_all = Route::new("45.10.2.0/24", "10.77.0.2", &[2_102, 3_333]);
    let kept = Route::new("45.12.0.0/16", "10.77.0.2", &[2_102]).community(0, 2_103);
    let too_long = Route::new("45.11.2.128/25", "10.77.0.2", &[2_102]);
    let own = Route::new("2001:678:4::/48", "fd00::3", &[2_103]);
    first.announce(&[for_all.clone(), kept, too_long]);
    second.announce(&[own.clone()]);
    holds(&second, [&for_all]);
    holds(&first, [&own]);
    check(&format!("http://{web}/birdwatcher"), &lab);
}

/// Alice-LG keeps answers, so each try is a process of its own.
fn alice_lg_shows_everything(kind: &str) {
    exchange(|address, lab| {
        let (one, two) = (lab.address(2).to_string(), lab.address(3).to_string());
        let all = eventually("three accepted and one rejected route", || {
            let all = answers(kind, address)?;
            let count = |list: &str| routes(&all["All"][list]).len();
            match (count("imported"), count("filtered")) {
                (3, 1) => Ok(all),
                _ => Err(all.to_string()),
            }
        });
        assert_eq!(all["Status"]["status"]["router_id"], "10.255.0.1");

        let first = &all["Neighbors"][&one];
        let about = &first["Neighbor"];
        assert_eq!(about["asn"], 2_102, "{about}");
        assert_eq!(about["state"], "up", "{about}");
        assert_eq!(about["description"], "Foo Networks", "{about}");
        assert_eq!(about["routes_accepted"], 2, "{about}");
        assert_eq!(about["routes_filtered"], 1, "{about}");
        assert_eq!(about["routes_received"], 3, "{about}");
        let rejected = json!([[39_000, 65_520, 13]]);
        for list in [&first["Routes"], &first["Filtered"]] {
            assert_eq!(
                routes(&list["filtered"]),
                [("45.11.2.128/25", &rejected)],
                "{list}"
            );
        }
        for list in [&first["Routes"], &first["Received"]] {
            let accepted: Vec<_> = routes(&list["imported"]).iter().map(|one| one.0).collect();
            assert_eq!(accepted, ["45.10.2.0/24", "45.12.0.0/16"], "{list}");
        }
        assert_eq!(routes(&first["NotExported"]["not_exported"]), []);

        let second = &all["Neighbors"][&two];
        let withheld = json!([[39_000, 65_521, 2]]);
        assert_eq!(
            routes(&second["NotExported"]["not_exported"]),
            [("45.12.0.0/16", &withheld)]
        );
        let accepted = &second["Received"]["imported"];
        assert_eq!(accepted[0]["network"], "2001:678:4::/48");
        assert_eq!(accepted[0]["bgp"]["as_path"], json!([2_103]));
        assert_eq!(accepted[0]["gateway"], "fd00::3");

        let states = all["NeighborStates"]["neighbors"].as_array();
        assert_eq!(states.map(Vec::len), Some(2));
    });
}

#[test]
fn alice_lg_reads_a_single_table() {
    alice_lg_shows_everything("single_table");
}

#[test]
fn alice_lg_reads_many_tables() {
    alice_lg_shows_everything("multi_table");
}
