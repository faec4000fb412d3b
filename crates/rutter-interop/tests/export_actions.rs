//! What changes routes on their way to a client: round-trip times, added communities, our AS, blackholing and
//! GRACEFUL_SHUTDOWN, with BIRD and GoBGP as clients and with reloads.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use rutter_interop::bird::Bird;
use rutter_interop::gobgp::GoBgp;
use rutter_interop::rutter::{Rutter, member};
use rutter_interop::{Lab, Route, client, holds, keeps_holding, up};

const SENDER: u32 = 2_102;
const NEAR: u32 = 2_103;
const FAR: u32 = 2_104;
const HOP: &str = "10.77.0.2";

/// The configuration: the near client needs nothing special; the far one requires our AS in paths and no blackhole
/// routes, and has a round-trip time of so many milliseconds.
fn sections(lab: &Lab, far_ms: &str, shutdown: bool) -> String {
    let far = format!(
        "rtt = {far_ms}\nprepend-rs-as = true\nchecks = {{ blackhole = {{ announce-to-client = false }} }}"
    );
    let members = [
        member(lab.address(2), SENDER, ""),
        member(lab.address(3), NEAR, "rtt = 3.5"),
        member(lab.address(4), FAR, &far),
    ];
    format!(
        "[checks.blackhole]\nv4 = \"rewrite\"\nnext-hop = {{ v4 = \"10.77.0.66\" }}\n\
         [communities]\nnot-to-rtt-higher = \"64531:rtt\"\nprepend-rtt-higher = [\"64541..64543:rtt\"]\n\
         no-export-any = \"65281:self\"\nprepend-peer = \"rt:65501..65503:peer\"\n\
         perform-graceful-shutdown = {shutdown}\n{}",
        members.concat()
    )
}

fn route(prefix: &str) -> Route {
    Route::new(prefix, HOP, &[SENDER, 3_333])
}

/// The routes that the sender announces.
fn announced() -> Vec<Route> {
    vec![
        route("45.30.0.0/24").community(3_333, 7),
        route("45.31.0.0/24").community(64_531, 20),
        route("45.32.0.0/24").community(64_542, 20),
        route("45.33.0.0/24").community(65_281, Rutter::ASN as u16),
        route("45.34.0.0/24").route_target(65_501, NEAR),
        route("45.35.0.7/32").community(65_535, 666),
    ]
}

/// A route with this path.
fn with_path(prefix: &str, path: &[u32]) -> Route {
    Route::new(prefix, HOP, path)
}

fn near() -> Vec<Route> {
    vec![
        route("45.30.0.0/24").community(3_333, 7),
        route("45.31.0.0/24"),
        route("45.32.0.0/24"),
        route("45.33.0.0/24").community(65_535, 65_281),
        with_path("45.34.0.0/24", &[SENDER, SENDER, 3_333]),
        Route::new("45.35.0.7/32", "10.77.0.66", &[SENDER, 3_333])
            .community(65_535, 666)
            .community(65_535, 65_281),
    ]
}

/// The routes of the far client, whose time is above 20 ms or not.
fn far(is_above: bool) -> Vec<Route> {
    let own = Rutter::ASN;
    let with_own = |prefix: &str| with_path(prefix, &[own, SENDER, 3_333]);
    let mut routes = vec![
        with_own("45.30.0.0/24").community(3_333, 7),
        with_own("45.33.0.0/24").community(65_535, 65_281),
        with_own("45.34.0.0/24"),
    ];
    match is_above {
        true => routes.push(with_path(
            "45.32.0.0/24",
            &[own, SENDER, SENDER, SENDER, 3_333],
        )),
        false => routes.extend([with_own("45.31.0.0/24"), with_own("45.32.0.0/24")]),
    }
    routes
}

fn with_shutdown(routes: Vec<Route>) -> Vec<Route> {
    routes
        .into_iter()
        .map(|route| route.community(65_535, 0))
        .collect()
}

/// Rutter shows what a client holds, with the attributes that the client has, and why it holds no more.
fn shows(rutter: &Rutter, client: IpAddr, held: &[Route], withheld: &[(&str, &str)]) {
    let shown = rutter.routes_to(client).unwrap();
    assert_eq!(
        shown,
        held.iter().cloned().collect(),
        "advertised to {client}"
    );
    let owned = |(prefix, why): &(&str, &str)| ((*prefix).to_owned(), (*why).to_owned());
    let withheld: BTreeSet<_> = withheld.iter().map(owned).collect();
    assert_eq!(rutter.withheld_from(client).unwrap(), withheld);
}

#[test]
fn clients_receive_what_actions_options_and_reloads_make_of_a_route() {
    let lab = Lab::new();
    let mut rutter = Rutter::start(&lab, &sections(&lab, "40", false));
    let setup = |host: u8, asn: u32| client(&lab, &rutter, host, asn, |_| {});
    let mut sender = Bird::start(setup(2, SENDER));
    let mut bird = Bird::start(setup(3, NEAR));
    let mut gobgp = GoBgp::start(setup(4, FAR));
    up(&lab, &mut rutter, 2, &mut sender);
    up(&lab, &mut rutter, 3, &mut bird);
    up(&lab, &mut rutter, 4, &mut gobgp);
    use rutter_interop::Speaker;
    sender.announce(&announced());
    holds(&bird, &near());
    holds(&gobgp, &far(true));
    shows(&rutter, lab.address(3), &near(), &[]);
    let withheld = [
        ("45.31.0.0/24", "communities"),
        ("45.35.0.7/32", "blackhole"),
    ];
    shows(&rutter, lab.address(4), &far(true), &withheld);
    let own = announced().iter().map(|route| route.prefix.to_string());
    let own: BTreeSet<_> = own.map(|prefix| (prefix, "own-route".to_owned())).collect();
    assert_eq!(rutter.withheld_from(lab.address(2)).unwrap(), own);
    // UPDATEs are counted as bytes alone.
    let bytes = |address: IpAddr| {
        let session = rutter.session(address).unwrap();
        let keepalives = session["sent"]["messages"]["keepalive"].as_u64().unwrap();
        session["sent"]["bytes"].as_u64().unwrap() - 19 * keepalives
    };
    let before = bytes(lab.address(3));

    // The far client comes closer: it alone is sent something.
    rutter.reload(&sections(&lab, "20", false)).unwrap();
    holds(&gobgp, &far(false));
    keeps_holding(Duration::from_secs(1), &bird, &near());
    assert_eq!(
        bytes(lab.address(3)),
        before,
        "no UPDATE for the near client"
    );
    rutter.reload(&sections(&lab, "20.001", false)).unwrap();
    holds(&gobgp, &far(true));
    assert_eq!(
        bytes(lab.address(3)),
        before,
        "no UPDATE for the near client"
    );

    // Maintenance begins and ends, on the same sessions.
    rutter.reload(&sections(&lab, "40", true)).unwrap();
    holds(&bird, &with_shutdown(near()));
    holds(&gobgp, &with_shutdown(far(true)));
    shows(
        &rutter,
        lab.address(4),
        &with_shutdown(far(true)),
        &withheld,
    );
    rutter.reload(&sections(&lab, "40", false)).unwrap();
    holds(&bird, &near());
    holds(&gobgp, &far(true));
    let opens =
        |address: IpAddr| rutter.session(address).unwrap()["sent"]["messages"]["open"].as_u64();
    for host in [2, 3, 4] {
        assert_eq!(
            opens(lab.address(host)),
            Some(1),
            "the session of host {host} was never reset"
        );
    }
}
