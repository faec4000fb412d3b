//! Every control community in ARouteServer's documentation (`config.d/general.yml`), in its standard, extended and
//! large form: what each of five clients receives.
//!
//! `rs_as` is `self`, `peer_as` is `peer`, and `dyn_val` is `rtt` here. Its communities for one, two and three prepends
//! are one key with a range here.

mod route;

use route::{Route, with};
use rutter_net::Asn;
use rutter_policy::{Action, ActionCommunity, ExportPolicy, ExportSettings, Recipient, Rtt};

/// The name in ARouteServer, our key, and the three notations.
const SCHEME: [(&str, &str, [&str; 3]); 15] = [
    (
        "do_not_announce_to_any",
        "not-to-any",
        ["0:self", "rt:0:self", "self:0:0"],
    ),
    (
        "do_not_announce_to_peer",
        "not-to-peer",
        ["0:peer", "rt:0:peer", "self:0:peer"],
    ),
    (
        "announce_to_peer",
        "to-peer",
        ["self:peer", "rt:self:peer", "self:1:peer"],
    ),
    (
        "do_not_announce_to_peers_with_rtt_lower_than",
        "not-to-rtt-lower",
        ["64530:rtt", "rt:64530:rtt", "self:64530:rtt"],
    ),
    (
        "do_not_announce_to_peers_with_rtt_higher_than",
        "not-to-rtt-higher",
        ["64531:rtt", "rt:64531:rtt", "self:64531:rtt"],
    ),
    (
        "announce_to_peers_with_rtt_lower_than",
        "to-rtt-lower",
        ["64532:rtt", "rt:64532:rtt", "self:64532:rtt"],
    ),
    (
        "announce_to_peers_with_rtt_higher_than",
        "to-rtt-higher",
        ["64533:rtt", "rt:64533:rtt", "self:64533:rtt"],
    ),
    (
        "prepend_*_to_any",
        "prepend-any",
        [
            "65501..65503:self",
            "rt:65501..65503:self",
            "self:101..103:0",
        ],
    ),
    (
        "prepend_*_to_peer",
        "prepend-peer",
        [
            "65501..65503:peer",
            "rt:65501..65503:peer",
            "self:101..103:peer",
        ],
    ),
    (
        "prepend_*_to_peers_with_rtt_lower_than",
        "prepend-rtt-lower",
        [
            "64537..64539:rtt",
            "rt:64537..64539:rtt",
            "self:64537..64539:rtt",
        ],
    ),
    (
        "prepend_*_to_peers_with_rtt_higher_than",
        "prepend-rtt-higher",
        [
            "64541..64543:rtt",
            "rt:64541..64543:rtt",
            "self:64541..64543:rtt",
        ],
    ),
    (
        "add_noexport_to_any",
        "no-export-any",
        ["65281:self", "rt:65281:self", "self:65281:0"],
    ),
    (
        "add_noadvertise_to_any",
        "no-advertise-any",
        ["65282:self", "rt:65282:self", "self:65282:0"],
    ),
    (
        "add_noexport_to_peer",
        "no-export-peer",
        ["65281:peer", "rt:65281:peer", "self:65281:peer"],
    ),
    (
        "add_noadvertise_to_peer",
        "no-advertise-peer",
        ["65282:peer", "rt:65282:peer", "self:65282:peer"],
    ),
];

/// The clients: AS 1 at 3 ms, AS 2 at 20 ms, AS 3 at 21 ms, AS 4 at 300 ms, AS 5 without a known time.
const CLIENTS: [(u32, Option<u32>); 5] = [
    (1, Some(3)),
    (2, Some(20)),
    (3, Some(21)),
    (4, Some(300)),
    (5, None),
];

/// What the clients receive, a column each: `-` nothing, `=` the route, `1` to `3` with so many prepends, `E` with
/// NO_EXPORT, `A` with NO_ADVERTISE.
///
/// The first column names the community as ARouteServer does, with the value of its variable part.
const CASES: [(&str, [&str; 3], &str); 22] = [
    (
        "do_not_announce_to_any",
        ["0:64500", "rt:0:64500", "64500:0:0"],
        "- - - - -",
    ),
    (
        "do_not_announce_to_peer 2",
        ["0:2", "rt:0:2", "64500:0:2"],
        "= - = = =",
    ),
    (
        "announce_to_peer 2",
        ["64500:2", "rt:64500:2", "64500:1:2"],
        "= = = = =",
    ),
    (
        "do_not_announce_to_peers_with_rtt_lower_than 20",
        ["64530:20", "rt:64530:20", "64500:64530:20"],
        "- - = = =",
    ),
    (
        "do_not_announce_to_peers_with_rtt_higher_than 20",
        ["64531:20", "rt:64531:20", "64500:64531:20"],
        "= = - - =",
    ),
    (
        "do_not_announce_to_peers_with_rtt_higher_than 21",
        ["64531:21", "rt:64531:21", "64500:64531:21"],
        "= = = = =",
    ),
    (
        "announce_to_peers_with_rtt_lower_than 20",
        ["64532:20", "rt:64532:20", "64500:64532:20"],
        "= = = = =",
    ),
    (
        "announce_to_peers_with_rtt_higher_than 20",
        ["64533:20", "rt:64533:20", "64500:64533:20"],
        "= = = = =",
    ),
    (
        "prepend_once_to_any",
        ["65501:64500", "rt:65501:64500", "64500:101:0"],
        "1 1 1 1 1",
    ),
    (
        "prepend_twice_to_any",
        ["65502:64500", "rt:65502:64500", "64500:102:0"],
        "2 2 2 2 2",
    ),
    (
        "prepend_thrice_to_any",
        ["65503:64500", "rt:65503:64500", "64500:103:0"],
        "3 3 3 3 3",
    ),
    (
        "prepend_once_to_peer 3",
        ["65501:3", "rt:65501:3", "64500:101:3"],
        "= = 1 = =",
    ),
    (
        "prepend_twice_to_peer 3",
        ["65502:3", "rt:65502:3", "64500:102:3"],
        "= = 2 = =",
    ),
    (
        "prepend_thrice_to_peer 5",
        ["65503:5", "rt:65503:5", "64500:103:5"],
        "= = = = 3",
    ),
    (
        "prepend_once_to_peers_with_rtt_lower_than 5",
        ["64537:5", "rt:64537:5", "64500:64537:5"],
        "1 = = = =",
    ),
    (
        "prepend_thrice_to_peers_with_rtt_lower_than 20",
        ["64539:20", "rt:64539:20", "64500:64539:20"],
        "3 3 = = =",
    ),
    (
        "prepend_twice_to_peers_with_rtt_higher_than 20",
        ["64542:20", "rt:64542:20", "64500:64542:20"],
        "= = 2 2 =",
    ),
    (
        "prepend_once_to_peers_with_rtt_higher_than 200",
        ["64541:200", "rt:64541:200", "64500:64541:200"],
        "= = = 1 =",
    ),
    (
        "add_noexport_to_any",
        ["65281:64500", "rt:65281:64500", "64500:65281:0"],
        "E E E E E",
    ),
    (
        "add_noadvertise_to_any",
        ["65282:64500", "rt:65282:64500", "64500:65282:0"],
        "A A A A A",
    ),
    (
        "add_noexport_to_peer 4",
        ["65281:4", "rt:65281:4", "64500:65281:4"],
        "= = = E =",
    ),
    (
        "add_noadvertise_to_peer 4",
        ["65282:4", "rt:65282:4", "64500:65282:4"],
        "= = = A =",
    ),
];

fn action(key: &str) -> Action {
    Action::ALL.iter().find(|(_, name)| *name == key).unwrap().0
}

fn policy() -> ExportPolicy {
    let mut actions: Vec<ActionCommunity> = Vec::new();
    for (_, key, notations) in SCHEME {
        for notation in notations {
            let new = ActionCommunity::new(action(key), notation.parse().unwrap()).unwrap();
            assert!(
                actions
                    .iter()
                    .all(|known| !known.collides(&new, Asn(64_500))),
                "{notation}"
            );
            actions.push(new);
        }
    }
    ExportPolicy::new(ExportSettings {
        local_asn: Asn(64_500),
        actions,
        ..ExportSettings::default()
    })
}

fn received(policy: &ExportPolicy, communities: &str) -> String {
    let audience = with(&Route::communities(communities), |attributes| {
        assert!(
            !communities.is_empty() && policy.removes_any(attributes),
            "{communities}"
        );
        policy.audience(attributes)
    });
    let of = |(asn, ms): (u32, Option<u32>)| {
        let rtt = ms.map(|ms| policy.rtt_class(Rtt::from_micros(ms * 1_000).unwrap()));
        let client = Recipient { asn: Asn(asn), rtt };
        if !audience.allows(client) {
            return "-".to_owned();
        }
        let mut found = match audience.prepends_for(client) {
            0 => String::new(),
            times => times.to_string(),
        };
        if audience.adds_no_export_for(client.asn) {
            found.push('E');
        }
        if audience.adds_no_advertise_for(client.asn) {
            found.push('A');
        }
        match found.is_empty() {
            true => "=".to_owned(),
            false => found,
        }
    };
    CLIENTS.map(of).join(" ")
}

#[test]
fn every_control_community_works_in_all_three_forms() {
    let policy = policy();
    for (name, forms, expected) in CASES {
        for communities in forms {
            assert_eq!(
                received(&policy, communities),
                expected,
                "{name}: {communities}"
            );
        }
    }
}

#[test]
fn communities_combine_as_the_manual_of_arouteserver_says() {
    let policy = policy();
    for (communities, expected) in [
        // announce_to_peer is an exception from do_not_announce_to_any.
        ("0:64500 64500:2", "- = - - -"),
        // do_not_announce_to_peer has precedence over announce_to_peer.
        ("0:2 64500:2", "= - = = ="),
        ("0:64500 0:2 64500:1:2", "- - - - -"),
        // So are the forms by round-trip time.
        ("0:64500 64532:20", "= = - - -"),
        ("0:64500 64500:64533:20", "- - = = -"),
        // do_not_announce_to_peer has precedence over these, too.
        ("0:64500 64532:20 0:1", "- = - - -"),
        // Forms mix.
        ("0:64500 rt:64532:5 64500:1:5", "= - - - ="),
        // prepend_to_peer, then RTT higher (descending), then RTT lower (ascending), then any.
        ("65501:64500 64538:20 64543:20 65502:4", "2 2 3 2 1"),
        ("64541:20 64543:200", "= = 1 3 ="),
        ("64537:200 64539:5", "3 1 1 = ="),
        // A time that is no threshold does nothing.
        ("64530:1000 64537:0 64531:0", "= = = = ="),
        ("65281:64500 65282:2 65503:1", "3E EA E E E"),
    ] {
        assert_eq!(received(&policy, communities), expected, "{communities}");
    }
}

#[test]
fn the_table_has_every_key() {
    for (_, key) in Action::ALL {
        // `to-any` is what happens without a community, and `only-to-peer` is `not-to-any` with `to-peer`. The tests of
        // rutter-rib have `blackhole`, which needs an import policy.
        let is_ours = ["to-any", "only-to-peer", "blackhole"].contains(&key);
        assert!(
            is_ours || SCHEME.iter().any(|(_, of, _)| *of == key),
            "{key}"
        );
    }
    for (name, ..) in SCHEME {
        let case = |times| name.replace('*', times);
        let is_tested = |times| CASES.iter().any(|(of, ..)| of.starts_with(&case(times)));
        assert!(
            ["once", "twice", "thrice"].into_iter().any(is_tested),
            "{name}"
        );
    }
}
