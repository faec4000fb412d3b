//! Prefix limits of members by PeeringDB's data: a file and numbers in, limits out.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use rutter_config::{Config, LimitAction, MaxPrefix, Neighbor, diff};
use rutter_irr::{PrefixHeadroom, PrefixLimits};
use rutter_net::{Asn, PerFamily};

const EXCHANGE: &str = r#"
[exchange]
asn = 64500
router-id = "192.0.2.1"
lan = ["192.0.2.0/24"]

[irr]
server = "irr.example.net"
peeringdb = "/var/lib/peeringdb/net.json"

[defaults]
max-prefix = { v4 = 170_000, v6 = 12_000, peeringdb = true, action = "restart" }

# PeeringDB has 900 and nothing for IPv6.
[[member]]
asn = 3333
address = "192.0.2.11"

# PeeringDB has 10 and 5.
[[member]]
asn = 3334
address = "192.0.2.12"
max-prefix = { peeringdb = { absolute = 50, relative = "0%" }, action = "warn" }

# PeeringDB does not have the network.
[[member]]
asn = 3335
address = "192.0.2.13"

# A limit of its own counts, whatever PeeringDB has.
[[member]]
asn = 3333
address = "192.0.2.14"
max-prefix = { v4 = 7, v6 = 8 }

# So does that of [defaults], as if the network were unknown.
[[member]]
asn = 3334
address = "192.0.2.15"
max-prefix = { peeringdb = false }

[[dynamic-neighbor]]
prefix = "192.0.2.128/26"
asn = [3333]

# Anybody may connect here, as any AS.
[[dynamic-neighbor]]
prefix = "192.0.2.192/26"
"#;

fn parse(text: &str) -> Config {
    let loaded = Config::parse(text, Path::new("test.toml"));
    loaded.unwrap_or_else(|errors| panic!("{errors:#?}")).config
}

fn peeringdb(networks: &[(u32, Option<u32>, Option<u32>)]) -> Option<Arc<PrefixLimits>> {
    let networks = networks.iter();
    let limits = networks.map(|(asn, v4, v6)| (*asn, PerFamily::new(*v4, *v6)));
    Some(Arc::new(limits.collect()))
}

const NETWORKS: &[(u32, Option<u32>, Option<u32>)] =
    &[(3333, Some(900), None), (3334, Some(10), Some(5))];

fn neighbor(config: &Config, last: u8, asn: u32) -> Neighbor {
    let address = IpAddr::from([192, 0, 2, last]);
    let mut sections = config.dynamic_neighbors.iter();
    match config.neighbor(address) {
        Some(neighbor) => neighbor.clone(),
        None => {
            let section = sections.find(|section| section.admits(address)).unwrap();
            section.neighbor(address, Asn(asn))
        }
    }
}

/// The limits of a neighbor.
fn limits(config: &Config, last: u8, asn: u32) -> PerFamily<Option<u32>> {
    let limits = config.max_prefix(&neighbor(config, last, asn));
    limits.map(|limit| limit.map(|limit| limit.limit))
}

#[test]
fn a_limit_is_that_in_peeringdb_with_headroom_if_it_has_one() {
    let config = parse(EXCHANGE).with_prefix_limits(peeringdb(NETWORKS));
    assert!(config.follows_prefix_limits());
    for (last, asn, v4, v6) in [
        // (900 + 100) * 1.15
        (11, 3333, 1_150, 12_000),
        (12, 3334, 60, 55),
        (13, 3335, 170_000, 12_000),
        (14, 3333, 7, 8),
        (15, 3334, 170_000, 12_000),
        (129, 3333, 1_150, 12_000),
        (193, 3333, 170_000, 12_000),
    ] {
        let expected = PerFamily::new(Some(v4), Some(v6));
        assert_eq!(limits(&config, last, asn), expected, "192.0.2.{last}");
    }
    let action = |last| {
        let limits = config.max_prefix(&neighbor(&config, last, 0));
        limits.map(|limit| limit.map(|limit| limit.action))
    };
    assert_eq!(action(12), PerFamily::both(Some(LimitAction::Warn)));
    let restart = LimitAction::Restart { after_s: 900 };
    assert_eq!(action(11), PerFamily::both(Some(restart)));
}

#[test]
fn before_the_data_are_known_a_limit_that_follows_them_ends_no_session() {
    let config = parse(EXCHANGE);
    for last in [11, 12, 13, 129] {
        assert_eq!(limits(&config, last, 3333), PerFamily::both(None), "{last}");
    }
    assert_eq!(limits(&config, 14, 3333), PerFamily::new(Some(7), Some(8)));
    // The limit of a stranger never follows PeeringDB, so nothing has to be known.
    let of_defaults = PerFamily::new(Some(170_000), Some(12_000));
    assert_eq!(limits(&config, 15, 3334), of_defaults);
    assert_eq!(limits(&config, 193, 3333), of_defaults);
    // PeeringDB's data cannot be read, and there never were any.
    let without_data = config.with_prefix_limits(peeringdb(&[]));
    assert_eq!(limits(&without_data, 11, 3333), of_defaults);
}

#[test]
fn data_pass_from_one_configuration_to_the_next() {
    let running = parse(EXCHANGE).with_prefix_limits(peeringdb(NETWORKS));
    let changed = EXCHANGE.replace("absolute = 50", "absolute = 40");
    let new = parse(&changed).replacing(&running);
    assert_eq!(limits(&new, 12, 3334), PerFamily::new(Some(50), Some(45)));
    let diff = diff(&running, &new);
    assert_eq!(diff.changed.len(), 1, "{diff}");
    assert_eq!(diff.changed[0].keys, ["max-prefix"]);
    assert!(!diff.changed[0].needs_session_reset);
}

#[test]
fn the_headroom_is_configured_once_for_both_families() {
    let config = parse(EXCHANGE);
    let configured = neighbor(&config, 12, 0).session.max_prefix;
    let limit = |limit| MaxPrefix {
        limit,
        action: LimitAction::Warn,
        headroom: Some(PrefixHeadroom {
            absolute: 50,
            relative_percent: 0,
        }),
        recommended: None,
    };
    let expected = PerFamily::new(Some(limit(170_000)), Some(limit(12_000)));
    assert_eq!(configured, expected);
}
