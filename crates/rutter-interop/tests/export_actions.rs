//! Changes to routes on their way to a client: round-trip times, added communities, our AS, blackholing and
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
    let all = announced();
    let own = all.iter().map(|route| route.prefix.to_string());
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

/// Import filters that mark and change the sender's routes, and export filters that read the marks.
fn filters(lab: &Lab, preference: u32) -> String {
    let members = [
        member(lab.address(2), SENDER, "import-filter = \"marks\""),
        member(lab.address(3), NEAR, ""),
        member(lab.address(4), FAR, "export-filter = \"far\""),
        member(lab.address(5), OTHER, "import-filter = \"preferred\""),
    ];
    format!(
        r#"
[[community-list]]
name = "private"
communities = ["self:66"]
[[community-list]]
name = "theirs"
communities = ["3333:*"]
[[prefix-list]]
name = "backup"
prefixes = ["45.41.0.0/24"]
[[filter]]
name = "marks"
default = "accept"
[[filter.rule]]
action = "next"
community-list = "theirs"
remove-communities = ["3333:*"]
add-communities = ["self:66", "self:6:6"]
[[filter.rule]]
action = "accept"
prefix-list = "backup"
prepend = 2
med = 50
[[filter]]
name = "preferred"
default = "accept"
[[filter.rule]]
action = "accept"
local-pref = {preference}
[[filter]]
name = "far"
default = "accept"
[[filter.rule]]
action = "reject"
community-list = "private"
reason = "private peers are not for this client"
[[filter.rule]]
action = "next"
add-communities = ["self:77", "rt:self:77"]
remove-communities = ["65000:*"]
med = "remove"
[[filter-test]]
filter = "far"
prefix = "45.40.0.0/24"
communities = ["self:66"]
expect = "reject"
{}"#,
        members.concat()
    )
}

const OTHER: u32 = 2_105;

#[test]
fn clients_receive_what_filters_make_of_a_route() {
    use rutter_interop::Speaker;
    let lab = Lab::new();
    let mut rutter = Rutter::start(&lab, &filters(&lab, 90));
    let setup = |host: u8, asn: u32| client(&lab, &rutter, host, asn, |_| {});
    let mut sender = Bird::start(setup(2, SENDER));
    let mut bird = Bird::start(setup(3, NEAR));
    let mut gobgp = GoBgp::start(setup(4, FAR));
    let mut other = Bird::start(setup(5, OTHER));
    up(&lab, &mut rutter, 2, &mut sender);
    up(&lab, &mut rutter, 3, &mut bird);
    up(&lab, &mut rutter, 4, &mut gobgp);
    up(&lab, &mut rutter, 5, &mut other);
    sender.announce(&[
        route("45.40.0.0/24").community(3_333, 7),
        route("45.41.0.0/24").community(65_000, 1),
    ]);
    // The other member's path is longer. Its routes have less preference, then more.
    let long = |prefix: &str| Route::new(prefix, "10.77.0.5", &[OTHER, 7, 7, 3_333]);
    other.announce(&[long("45.40.0.0/24"), long("45.42.0.0/24")]);
    let own = Rutter::ASN as u16;
    let marked = route("45.40.0.0/24")
        .community(own, 66)
        .large_community(Rutter::ASN, 6, 6);
    let backup = with_path("45.41.0.0/24", &[SENDER, SENDER, SENDER, 3_333]);
    let near = [
        marked,
        backup.clone().community(65_000, 1).med(50),
        long("45.42.0.0/24"),
    ];
    let for_far = |route: Route| route.community(own, 77).route_target(Rutter::ASN, 77);
    let far = [
        for_far(long("45.40.0.0/24")),
        for_far(backup.clone()),
        for_far(long("45.42.0.0/24")),
    ];
    holds(&bird, &near);
    holds(&gobgp, &far);
    shows(&rutter, lab.address(3), &near, &[]);
    let withheld = [("45.40.0.0/24", "export-filter")];
    shows(&rutter, lab.address(4), &far, &withheld);

    // More preference: everybody receives the other member's route, on the same sessions.
    rutter.reload(&filters(&lab, 110)).unwrap();
    let near = [
        long("45.40.0.0/24"),
        backup.clone().community(65_000, 1).med(50),
        long("45.42.0.0/24"),
    ];
    holds(&bird, &near);
    holds(&gobgp, &far);
    shows(&rutter, lab.address(4), &far, &[]);

    // Without export filters.
    let unfiltered = filters(&lab, 90).replace("export-filter = \"far\"", "");
    rutter.reload(&unfiltered).unwrap();
    let marked = route("45.40.0.0/24")
        .community(own, 66)
        .large_community(Rutter::ASN, 6, 6);
    let near = [
        marked,
        backup.community(65_000, 1).med(50),
        long("45.42.0.0/24"),
    ];
    holds(&bird, &near);
    holds(&gobgp, &near);
    let opens =
        |address: IpAddr| rutter.session(address).unwrap()["sent"]["messages"]["open"].as_u64();
    for host in [2, 3, 4, 5] {
        assert_eq!(opens(lab.address(host)), Some(1), "host {host} was reset");
    }
}
