//! Checks and session keys of groups and members, as far as the import policy.

use std::path::Path;

use rutter_config::{
    BlackholeRule, Config, InvalidRoutes, IrrCheck, Neighbor, NextHopRule, RejectPolicy, diff,
};
use rutter_net::{Asn, Family};
use rutter_policy::{Field, ImportSettings, LengthRange, Notation};

const EXCHANGE: &str =
    "[exchange]\nasn = 64500\nrouter-id = \"192.0.2.1\"\nlan = [\"192.0.2.0/24\"]\n";

fn parse(text: &str) -> Config {
    let text = format!("{EXCHANGE}{text}");
    let loaded = Config::parse(&text, Path::new("test.toml"));
    loaded.unwrap_or_else(|errors| panic!("{errors:#?}")).config
}

fn neighbor(config: &Config, last: u8) -> &Neighbor {
    let found = config
        .neighbors
        .iter()
        .find(|n| n.address == std::net::IpAddr::from([192, 0, 2, last]));
    found.unwrap()
}

fn settings(config: &Config, last: u8) -> ImportSettings {
    config.import_settings(neighbor(config, last))
}

const LAYERS: &str = r#"
[checks]
max-as-path-length = 20
transit-free = true
prefix-length = { v4 = "8-23" }
next-hop = "same-as"

[[group]]
name = "customers"
hold-time = 30
[group.checks]
max-as-path-length = 10
prefix-length = { v6 = "19-48" }
bogons = false

[[member]]
asn = 3333
address = "192.0.2.11"

[[member]]
asn = 3334
address = "192.0.2.12"
group = "customers"

[[member]]
asn = 3335
address = "192.0.2.13"
group = "customers"
hold-time = 60
next-hop = "strict"
checks = { max-as-path-length = 5, first-as = false, blackhole = { v4 = "propagate" }, as-set = "accept" }
"#;

#[test]
fn a_key_counts_from_the_member_then_its_group_then_the_checks_then_the_default() {
    let config = parse(LAYERS);
    let all = [11, 12, 13].map(|last| settings(&config, last));
    assert_eq!(all.each_ref().map(|s| s.max_as_path_len), [20, 10, 5]);
    assert_eq!(
        all.each_ref().map(|s| s.reject_bogons),
        [true, false, false]
    );
    assert_eq!(
        all.each_ref().map(|s| s.enforce_first_as),
        [true, true, false]
    );
    assert_eq!(all.each_ref().map(|s| s.reject_as_set), [true, true, false]);
    assert_eq!(
        all.each_ref().map(|s| s.transit_free_asns.is_empty()),
        [false; 3]
    );
    assert_eq!(
        all.each_ref().map(|s| s.next_hop),
        [
            NextHopRule::SameAs,
            NextHopRule::SameAs,
            NextHopRule::Strict
        ]
    );
    let hold = [11, 12, 13].map(|last| neighbor(&config, last).session.hold_time_s);
    assert_eq!(hold, [90, 30, 60]);
    assert_eq!(neighbor(&config, 13).group.as_deref(), Some("customers"));
}

#[test]
fn keys_inside_a_table_are_inherited_one_by_one() {
    let config = parse(LAYERS);
    let range = |min, max| LengthRange { min, max };
    let lengths = [11, 12].map(|last| {
        let lengths = settings(&config, last).prefix_length;
        (lengths[Family::Ipv4Unicast], lengths[Family::Ipv6Unicast])
    });
    assert_eq!(
        lengths,
        [(range(8, 23), range(12, 48)), (range(8, 23), range(19, 48))]
    );
    let blackhole = [12, 13].map(|last| settings(&config, last).blackhole[Family::Ipv4Unicast]);
    assert_eq!(blackhole, [false, true]);
    assert!(config.export_settings().blackhole_no_export);
}

#[test]
fn the_next_hop_of_a_group_replaces_that_of_the_defaults() {
    let text = "[defaults]\nnext-hop = \"any\"\n[[group]]\nname = \"a\"\nchecks = { next-hop = \"same-as\" }\n\
        [[member]]\nasn = 3333\naddress = \"192.0.2.11\"\n\
        [[member]]\nasn = 3334\naddress = \"192.0.2.12\"\ngroup = \"a\"\n";
    let config = parse(text);
    assert_eq!(settings(&config, 11).next_hop, NextHopRule::Any);
    assert_eq!(settings(&config, 12).next_hop, NextHopRule::SameAs);
}

#[test]
fn neighbors_and_dynamic_neighbors_have_checks_of_their_own() {
    let text = "[[neighbor]]\nasn = 3333\naddress = \"192.0.2.11\"\nimport = \"checks\"\nexport = \"all\"\n\
        checks = { max-as-path-length = 7 }\n\
        [[dynamic-neighbor]]\nprefix = \"10.0.0.0/8\"\nimport = \"checks\"\nexport = \"all\"\n\
        checks = { max-as-path-length = 8 }\n";
    let config = parse(text);
    assert_eq!(settings(&config, 11).max_as_path_len, 7);
    let dynamic = config.dynamic_neighbors[0].neighbor([10, 0, 0, 1].into(), Asn(3334));
    assert_eq!(config.import_settings(&dynamic).max_as_path_len, 8);
}

#[test]
fn members_without_keys_of_their_own_share_one_value() {
    let config = parse(
        "[[member]]\nasn = 3333\naddress = \"192.0.2.11\"\n[[member]]\nasn = 3334\naddress = \"192.0.2.12\"\n",
    );
    let [one, other] = [11, 12].map(|last| &neighbor(&config, last).checks);
    assert!(std::sync::Arc::ptr_eq(one, other));
}

#[test]
fn outside_data_turns_its_checks_on_for_an_exchange_only() {
    let data = "[rpki]\nrtr = \"127.0.0.1\"\naspa = true\n[irr]\nserver = \"rr.ntt.net\"\n";
    let checks = parse(data).checks;
    assert_eq!(
        (checks.rpki_invalid, checks.aspa_invalid, checks.irr),
        (
            InvalidRoutes::Reject,
            InvalidRoutes::Reject,
            IrrCheck::OriginAndPrefix
        )
    );
    let router = format!("[router]\nasn = 64500\nrouter-id = \"192.0.2.1\"\n{data}");
    let checks = Config::parse(&router, Path::new("router.toml"))
        .unwrap()
        .config
        .checks;
    assert_eq!(
        (checks.rpki_invalid, checks.aspa_invalid, checks.irr),
        (InvalidRoutes::Accept, InvalidRoutes::Accept, IrrCheck::Off)
    );
    assert_eq!(parse("").checks.rpki_invalid, InvalidRoutes::Accept);
    let off = parse(&format!("{data}[checks]\nrpki-invalid = \"off\"\n"));
    assert_eq!(off.checks.rpki_invalid, InvalidRoutes::Accept);
}

#[test]
fn a_difference_names_the_check_of_the_member() {
    let old = parse(LAYERS);
    let new = parse(&LAYERS.replace("max-as-path-length = 5", "max-as-path-length = 6"));
    let found = diff(&old, &new);
    assert_eq!(
        found.to_string(),
        "~ 192.0.2.13: checks.max-as-path-length\n"
    );
    assert!(found.changed[0].reevaluates && !found.changed[0].needs_session_reset);
    let new = parse(&LAYERS.replace("asn = 3333", "asn = 3333\ndescription = \"Foo\""));
    let found = diff(&old, &new);
    assert_eq!(found.to_string(), "~ 192.0.2.11: description\n");
    assert!(!found.changed[0].reevaluates);
    let new = parse(&LAYERS.replace("max-as-path-length = 20", "max-as-path-length = 21"));
    let found = diff(&old, &new);
    assert_eq!(
        found.to_string(),
        "~ 192.0.2.11: checks\n~ [checks] max-as-path-length\n"
    );
}

#[test]
fn a_blackhole_has_a_next_hop_for_each_family() {
    let config = parse(
        "[checks]\nreject-policy = \"tag-and-reject\"\n\
         blackhole = { v4 = \"rewrite\", v6 = true, next-hop = { v4 = \"192.0.2.66\" }, announce-to-client = false }\n\
         [communities.tags]\nreject-cause = \"self:1101:code\"\n",
    );
    let blackhole = &config.checks.blackhole;
    assert_eq!(blackhole.v4, BlackholeRule::Rewrite);
    assert_eq!(blackhole.v6, BlackholeRule::Propagate);
    assert_eq!(blackhole.next_hop.v4, Some([192, 0, 2, 66].into()));
    assert!(blackhole.add_no_export && !blackhole.announce_to_client);
    assert_eq!(config.checks.reject_policy, RejectPolicy::TagAndReject);
    let tag = config.communities.tags.reject_cause[0];
    assert_eq!(
        tag,
        Notation::Large([Field::Local, Field::Number(1101), Field::Code])
    );
}
