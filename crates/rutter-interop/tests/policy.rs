//! RPKI and IRR data that change while BIRD and GoBGP are members: what each change sends, and what it does not.

use std::time::Duration;

use rutter_interop::bird::Bird;
use rutter_interop::gobgp::GoBgp;
use rutter_interop::irrd::Irrd;
use rutter_interop::rutter::{Rutter, member};
use rutter_interop::stayrtr::StayRtr;
use rutter_interop::{Lab, Route, Speaker, client, eventually, holds, keeps_holding, up};

const SENDER: u32 = 2_102;
const RECEIVER: u32 = 2_103;
const HOP: &str = "10.77.0.2";

fn sections(lab: &Lab, rtr: &StayRtr, irrd: &Irrd) -> String {
    let open = "checks = { irr = \"off\", rpki-invalid = \"off\" }";
    let members = [
        member(lab.address(2), SENDER, "as-sets = \"AS-SENDER\""),
        member(lab.address(3), RECEIVER, open),
        member(lab.address(4), 2_104, open),
    ];
    format!(
        "[rpki]\nrtr = \"{}\"\nretry = \"1s\"\nrefuse-shrink = false\n[irr]\nserver = \"{}\"\n\
         roas-as-route-objects = true\n[sources]\nstate = \"{}\"\n\
         [communities.tags]\nrpki-valid = \"self:1000:1\"\nrpki-not-found = \"self:1000:2\"\n{}",
        rtr.address(),
        irrd.address(),
        lab.folder("sources").display(),
        members.concat()
    )
}

/// A route of the sender or of an AS behind it.
fn route(prefix: &str, origin: u32) -> Route {
    match origin {
        SENDER => Route::new(prefix, HOP, &[SENDER]),
        origin => Route::new(prefix, HOP, &[SENDER, origin]),
    }
}

/// The route with the mark of its validation state: 1 valid, 2 not found.
fn marked(route: &Route, state: u32) -> Route {
    route.clone().large_community(Rutter::ASN, 1000, state)
}

fn vrps(rows: &[(&str, u32)]) -> String {
    let rows: Vec<String> = rows
        .iter()
        .map(|(prefix, asn)| {
            format!(r#"{{"asn": {asn}, "prefix": "{prefix}", "maxLength": 24, "ta": "test"}}"#)
        })
        .collect();
    format!(r#"{{"metadata": {{}}, "roas": [{}]}}"#, rows.join(", "))
}

fn rejected(rutter: &Rutter, lab: &Lab, expected: &[(&str, &str)]) {
    eventually("the rejected routes", || {
        let found = rutter.rejected_from(lab.address(2))?;
        let found: Vec<(&str, &str)> = found.iter().map(|(p, r)| (&**p, &**r)).collect();
        (found == expected)
            .then_some(())
            .ok_or_else(|| format!("{found:?}"))
    });
}

#[test]
fn members_receive_what_live_data_accept() {
    let lab = Lab::new();
    let rtr = StayRtr::start(
        &lab,
        9,
        &vrps(&[("45.40.0.0/24", 3_333), ("45.41.0.0/24", 9)]),
    );
    let irrd = Irrd::start(lab.address(8));
    irrd.set_members("AS-SENDER", "AS2102 AS3333");
    irrd.set_prefixes(SENDER, "45.42.0.0/24");
    irrd.set_prefixes(3_333, "45.41.0.0/24");
    let mut rutter = Rutter::start(&lab, &sections(&lab, &rtr, &irrd));
    let setup = |host: u8, asn: u32| client(&lab, &rutter, host, asn, |_| {});
    let mut sender = Bird::start(setup(2, SENDER));
    let mut bird = Bird::start(setup(3, RECEIVER));
    let mut gobgp = GoBgp::start(setup(4, 2_104));
    up(&lab, &mut rutter, 2, &mut sender);
    up(&lab, &mut rutter, 3, &mut bird);
    up(&lab, &mut rutter, 4, &mut gobgp);

    let by_roa = route("45.40.0.0/24", 3_333);
    let invalid = route("45.41.0.0/24", 3_333);
    let registered = route("45.42.0.0/24", SENDER);
    let unregistered = route("45.43.0.0/24", SENDER);
    let stranger = route("45.44.0.0/24", 4_444);
    let all = [&by_roa, &invalid, &registered, &unregistered, &stranger];
    sender.announce(&all.map(Route::clone));
    let accepted = [marked(&by_roa, 1), marked(&registered, 2)];
    holds(&bird, &accepted);
    holds(&gobgp, &accepted);
    rejected(
        &rutter,
        &lab,
        &[
            ("45.41.0.0/24", "rpki-invalid"),
            ("45.43.0.0/24", "prefix-not-in-as-set"),
            ("45.44.0.0/24", "origin-not-in-as-set"),
        ],
    );

    // The validator has another VRP: one route is valid now, and another becomes invalid.
    rtr.replace(&vrps(&[
        ("45.40.0.0/24", 3_333),
        ("45.41.0.0/24", 3_333),
        ("45.42.0.0/24", 9),
    ]));
    let accepted = [marked(&by_roa, 1), marked(&invalid, 1)];
    holds(&bird, &accepted);
    holds(&gobgp, &accepted);

    // The registry learns a route object and a customer.
    irrd.set_prefixes(SENDER, "45.42.0.0/24 45.43.0.0/24");
    irrd.set_members("AS-SENDER", "AS2102 AS3333 AS4444");
    rutter.ask(&["source", "refresh", "irr"]).unwrap();
    let accepted = [
        marked(&by_roa, 1),
        marked(&invalid, 1),
        marked(&unregistered, 2),
    ];
    holds(&bird, &accepted);
    irrd.set_prefixes(4_444, "45.44.0.0/24");
    rutter.ask(&["source", "refresh", "irr"]).unwrap();
    let accepted = [&accepted[..], &[marked(&stranger, 2)]].concat();
    holds(&bird, &accepted);
    holds(&gobgp, &accepted);

    // Both sources die, and Rutter too: what they said last is in force.
    drop(rtr);
    drop(irrd);
    keeps_holding(Duration::from_secs(1), &bird, &accepted);
    let session = rutter.session(lab.address(2)).unwrap();
    let received = |name: &str| session["sent"]["messages"][name].as_u64();
    assert_eq!(received("open"), Some(1), "no session was reset");
    assert_eq!(
        received("route-refresh").unwrap_or(0),
        0,
        "nobody was asked again"
    );
    rutter.ask(&["stop"]).unwrap();
    eventually("Rutter ends", || match rutter.process().check_alive() {
        Ok(()) => Err("it runs".to_owned()),
        Err(_) => Ok(()),
    });
    rutter.run_again();
    for (host, speaker) in [
        (2, &mut sender as &mut dyn Speaker),
        (3, &mut bird),
        (4, &mut gobgp),
    ] {
        up(&lab, &mut rutter, host, speaker);
    }
    holds(&bird, &accepted);
    rejected(&rutter, &lab, &[("45.42.0.0/24", "rpki-invalid")]);
}
