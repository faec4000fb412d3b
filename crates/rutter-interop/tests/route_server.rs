//! The guarantees of RFC 7947 for the clients of a route server, with five kinds of daemons.

use rutter_interop::bird::Bird;
use rutter_interop::exabgp::ExaBgp;
use rutter_interop::frr::Frr;
use rutter_interop::gobgp::GoBgp;
use rutter_interop::openbgpd::OpenBgpd;
use rutter_interop::rutter::{Rutter, member};
use rutter_interop::{
    Lab, Origin, Peer, Route, Speaker, client, eventually, holds, rutter_holds, up,
};

const ASNS: [u32; 5] = [2_102, 2_103, 2_104, 2_105, 202_106];

/// Five clients at hosts 2 to 6: BIRD, FRR, GoBGP, OpenBGPD and ExaBGP.
struct Exchange {
    rutter: Rutter,
    clients: Vec<Box<dyn Speaker>>,
    lab: Lab,
}

impl Exchange {
    fn open(keys: &str, change: impl Fn(&mut Peer)) -> Exchange {
        let lab = Lab::new();
        let members = (0..5).map(|n| member(lab.address(host(n)), ASNS[n], keys));
        let mut rutter = Rutter::start(&lab, &members.collect::<String>());
        let setup = |n: usize| client(&lab, &rutter, host(n), ASNS[n], &change);
        let mut clients: Vec<Box<dyn Speaker>> = vec![
            Box::new(Bird::start(setup(0))),
            Box::new(Frr::start(setup(1))),
            Box::new(GoBgp::start(setup(2))),
            Box::new(OpenBgpd::start(setup(3))),
            Box::new(ExaBgp::start(setup(4))),
        ];
        for (n, speaker) in clients.iter_mut().enumerate() {
            up(&lab, &mut rutter, host(n), speaker.as_mut());
        }
        Exchange {
            rutter,
            clients,
            lab,
        }
    }

    /// Each client holds exactly the routes of the others.
    #[track_caller]
    fn each_holds_the_others(&self, announced: &[Vec<Route>]) {
        for (n, speaker) in self.clients.iter().enumerate() {
            let others = announced.iter().enumerate().filter(|(m, _)| *m != n);
            holds(speaker.as_ref(), others.flat_map(|(_, routes)| routes));
            rutter_holds(&self.rutter, self.lab.address(host(n)), &announced[n]);
        }
    }
}

fn host(n: usize) -> u8 {
    n as u8 + 2
}

/// Routes of one client, with every attribute that all daemons can announce.
fn routes(n: usize) -> Vec<Route> {
    let (asn, host) = (ASNS[n], host(n));
    let path: Vec<u32> = match n {
        // OpenBGPD announces only paths of its own AS.
        3 => vec![asn, asn],
        _ => vec![asn, 3_333, 200_101],
    };
    // NO_EXPORT does not concern the route server, only its clients; OpenBGPD also obeys its own.
    let no_export = if n == 3 { 0 } else { 65_281 };
    let hop = (format!("10.77.0.{host}"), format!("2a0e:ffff::{host}"));
    vec![
        Route::new(&format!("45.10.{host}.0/24"), &hop.0, &path)
            .origin(Origin::Incomplete)
            .med(7)
            .community(3_333, host.into())
            .community(65_535, no_export)
            .large_community(200_101, 1, host.into())
            .route_target(3_333, host.into()),
        Route::new(&format!("45.11.{host}.0/24"), &hop.0, &[asn]).med(1),
        Route::new(&format!("2a0e:10:{host}::/48"), &hop.1, &path)
            .origin(Origin::Egp)
            .med(9)
            .community(3_333, 900)
            .large_community(200_101, 2, host.into()),
        Route::new(&format!("2a0e:11:{host}::/48"), &hop.1, &[asn]).med(2),
    ]
}

#[test]
fn each_client_receives_the_routes_of_all_others_unchanged() {
    let mut exchange = Exchange::open("", |_| {});
    let mut announced: Vec<Vec<Route>> = (0..5).map(routes).collect();
    for (speaker, routes) in exchange.clients.iter_mut().zip(&announced) {
        speaker.announce(routes);
    }
    exchange.each_holds_the_others(&announced);

    for (speaker, routes) in exchange.clients.iter_mut().zip(&mut announced) {
        let gone = [routes.remove(1).prefix, routes.remove(1).prefix];
        speaker.withdraw(&gone);
    }
    exchange.each_holds_the_others(&announced);

    // Two sessions go down, and their routes are withdrawn.
    for n in [4, 2] {
        exchange.clients.remove(n).process().stop();
        announced.remove(n);
    }
    for (n, speaker) in exchange.clients.iter().enumerate() {
        let others = announced.iter().enumerate().filter(|(m, _)| *m != n);
        holds(speaker.as_ref(), others.flat_map(|(_, routes)| routes));
    }
}

#[test]
fn a_client_that_joins_late_receives_the_whole_table() {
    let lab = Lab::new();
    let members = [0, 1].map(|n| member(lab.address(host(n)), ASNS[n], ""));
    let mut rutter = Rutter::start(&lab, &members.concat());
    let mut first = Bird::start(client(&lab, &rutter, host(0), ASNS[0], |_| {}));
    up(&lab, &mut rutter, host(0), &mut first);
    first.announce(&routes(0));
    rutter_holds(&rutter, lab.address(host(0)), &routes(0));
    let mut late = Frr::start(client(&lab, &rutter, host(1), ASNS[1], |_| {}));
    up(&lab, &mut rutter, host(1), &mut late);
    holds(&late, &routes(0));
}

#[test]
fn a_refresh_brings_everything_again() {
    let mut exchange = Exchange::open("", |_| {});
    let announced: Vec<Vec<Route>> = (0..5).map(routes).collect();
    for (speaker, routes) in exchange.clients.iter_mut().zip(&announced) {
        speaker.announce(routes);
    }
    exchange.each_holds_the_others(&announced);
    // GoBGP answers route refresh requests, but its own `softresetin` sends none.
    let asking = exchange.clients.iter_mut().enumerate();
    for (n, speaker) in asking.filter(|(n, _)| *n != 2) {
        let client = exchange.lab.address(host(n));
        let counts = || -> Result<(u64, u64), String> {
            let session = exchange.rutter.session(client)?;
            let requests = session["received"]["messages"]["route-refresh"].as_u64();
            let bytes = session["sent"]["bytes"].as_u64();
            requests
                .zip(bytes)
                .ok_or_else(|| format!("no counts: {session}"))
        };
        let before = counts().unwrap();
        speaker.refresh();
        eventually("the refresh is answered", || {
            let now = counts()?;
            // 16 routes, none of which shares attributes with another: at least 60 octets each, with the header.
            match now.0 > before.0 && now.1 - before.1 > 16 * 60 {
                true => Ok(()),
                false => Err(format!(
                    "client {n}: requests and octets {before:?}, then {now:?}"
                )),
            }
        });
    }
    exchange.each_holds_the_others(&announced);
}

/// One destination that two of four clients announce, and the route that each client receives.
#[test]
fn each_client_receives_the_best_route_that_it_may_have() {
    let lab = Lab::new();
    let members = (0..5).map(|n| member(lab.address(host(n)), ASNS[n], ""));
    let sections = format!(
        "[communities]\nnot-to-peer = [\"0:peer\"]\n{}",
        members.collect::<String>()
    );
    let mut rutter = Rutter::start(&lab, &sections);
    let setup = |n: usize| client(&lab, &rutter, host(n), ASNS[n], |_| {});
    let (mut a, mut b) = (Bird::start(setup(0)), GoBgp::start(setup(2)));
    let (mut c, mut d) = (ExaBgp::start(setup(4)), Frr::start(setup(1)));
    up(&lab, &mut rutter, host(0), &mut a);
    up(&lab, &mut rutter, host(2), &mut b);
    up(&lab, &mut rutter, host(4), &mut c);
    up(&lab, &mut rutter, host(1), &mut d);

    for (prefix, hop) in [("45.20.0.0/16", "10.77.0"), ("2a0e:20::/32", "2a0e:ffff:")] {
        let dot = if prefix.contains(':') { ":" } else { "." };
        let best = Route::new(prefix, &format!("{hop}{dot}2"), &[ASNS[0]]);
        let second = Route::new(prefix, &format!("{hop}{dot}4"), &[ASNS[2], 3_333]);
        a.announce(std::slice::from_ref(&best));
        b.announce(std::slice::from_ref(&second));
        // The owner of the best route receives the second best; all others receive the best.
        holds(&a, [&second]);
        holds(&b, [&best]);
        holds(&c, [&best]);
        holds(&d, [&best]);

        // A withholds its route from D: D receives the next best, and nothing changes for the others.
        a.withdraw(&[best.prefix]);
        a.announce(&[best.clone().community(0, ASNS[1] as u16)]);
        holds(&d, [&second]);
        holds(&c, [&best]);
        holds(&b, [&best]);
        holds(&a, [&second]);

        // The best route is withdrawn.
        a.withdraw(&[best.prefix]);
        holds(&a, [&second]);
        holds(&b, []);
        holds(&c, [&second]);
        holds(&d, [&second]);
        b.withdraw(&[best.prefix]);
        holds(&a, []);
        holds(&c, []);
        holds(&d, []);
    }
}

#[test]
fn rejected_routes_are_kept_with_their_reason_and_go_to_nobody() {
    let lab = Lab::new();
    let members = [0, 4].map(|n| member(lab.address(host(n)), ASNS[n], ""));
    let mut rutter = Rutter::start(&lab, &members.concat());
    let mut bird = Bird::start(client(&lab, &rutter, host(0), ASNS[0], |_| {}));
    let mut exabgp = ExaBgp::start(client(&lab, &rutter, host(4), ASNS[4], |_| {}));
    up(&lab, &mut rutter, host(0), &mut bird);
    up(&lab, &mut rutter, host(4), &mut exabgp);
    let own = ASNS[4];
    let good = Route::new("45.10.6.0/24", "10.77.0.6", &[own]);
    let bad = [
        ("10.0.0.0/8", "10.77.0.6", vec![own], "bogon"),
        ("45.10.7.0/25", "10.77.0.6", vec![own], "prefix-length"),
        (
            "45.12.0.0/16",
            "10.77.0.6",
            vec![own, 64_512],
            "invalid-asn",
        ),
        ("45.99.0.0/24", "10.77.0.6", vec![own], "own-lan"),
        (
            "45.13.0.0/16",
            "10.77.0.6",
            vec![own, Rutter::ASN],
            "as-loop",
        ),
        (
            "45.14.0.0/16",
            "10.77.0.6",
            [own; 33].to_vec(),
            "as-path-too-long",
        ),
        ("3ffe::/16", "2a0e:ffff::6", vec![own], "bogon"),
    ];
    let rejected = bad
        .iter()
        .map(|(prefix, hop, path, _)| Route::new(prefix, hop, path));
    let all: Vec<Route> = rejected.chain([good.clone()]).collect();
    exabgp.announce(&all);
    holds(&bird, [&good]);
    rutter_holds(&rutter, lab.address(host(4)), &all);
    let expected = bad.map(|(prefix, _, _, reason)| (prefix.to_owned(), reason.to_owned()));
    let rejected = rutter.rejected_from(lab.address(host(4))).unwrap();
    assert_eq!(rejected, expected.into());
}
