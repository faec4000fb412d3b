//! IX-F member exports as members: a file in, sessions and messages out.

use std::net::IpAddr;
use std::path::PathBuf;

use rutter_config::{Config, ConfigError, LimitAction, Loaded, Neighbor, NeighborKind};
use rutter_net::Family;

const EXPORT: &str = r#"{
  "version": "1.0",
  "timestamp": "2026-11-25T12:00:00Z",
  "ixp_list": [{ "ixp_id": 1, "shortname": "EX", "vlan": [{ "id": 1, "name": "peering" }] }],
  "member_list": [
    {
      "asnum": 3333, "member_type": "peering", "name": "Example Network", "url": "https://example.net",
      "connection_list": [
        { "ixp_id": 1, "state": "active", "if_list": [{ "switch_id": 1, "if_speed": 10000 }],
          "vlan_list": [{ "vlan_id": 1,
            "ipv4": { "address": "192.0.2.11", "as_macro": "AS-FOO", "routeserver": true, "max_prefix": 500 },
            "ipv6": { "address": "2001:db8:1:1::11", "as_macro": "RIPE::AS-FOO6, as-foo", "routeserver": true, "max_prefix": 0 }
          }] },
        { "ixp_id": 1, "state": "inactive",
          "vlan_list": [{ "ipv4": { "address": "192.0.2.12" } }] }
      ]
    },
    {
      "asnum": 3334,
      "connection_list": [{ "vlan_list": [
        { "ipv4": { "address": "192.0.2.13", "as_macro": null, "max_prefix": null },
          "ipv6": { "address": "2001:db8:1:1::13", "routeserver": false } },
        { "vlan_id": 2, "ipv4": { "address": "198.51.100.13" } }
      ] }]
    },
    { "asnum": 3335, "connection_list": [{ "vlan_list": [{ "ipv4": { "address": "192.0.2.14", "as_macro": "none" } }] }] },
    { "asnum": 64500, "member_type": "routeserver", "connection_list": [{ "vlan_list": [{ "ipv4": { "address": "192.0.2.1" } }] }] }
  ]
}"#;

const EXCHANGE: &str = r#"
[exchange]
asn = 64500
router-id = "192.0.2.1"
lan = ["192.0.2.0/24", "2001:db8:1:1::/64"]
members = ["members.d/*.json", "members.d/*.toml"]

[irr]
server = "irr.example.net"
sources = ["RIPE"]

[defaults]
max-prefix = { v4 = 1000, v6 = 100, action = "restart" }
"#;

/// Reads a configuration with this export, and with a section of its own for AS 3335.
fn load(test: &str, export: &str) -> Result<Loaded, Vec<ConfigError>> {
    let name = format!("rutter-ixf-{test}-{}", std::process::id());
    let folder: PathBuf = std::env::temp_dir().join(name);
    let members = folder.join("members.d");
    std::fs::create_dir_all(&members).unwrap();
    std::fs::write(members.join("ixf.json"), export).unwrap();
    let own = "[[member]]\nasn = 3335\naddress = \"192.0.2.14\"\nas-sets = \"AS-OWN\"\n";
    std::fs::write(members.join("own.toml"), own).unwrap();
    let loaded = Config::parse(EXCHANGE, &folder.join("rutter.toml"));
    std::fs::remove_dir_all(&folder).unwrap();
    loaded
}

fn texts(found: &[ConfigError]) -> Vec<&str> {
    found.iter().map(|one| one.message.as_str()).collect()
}

fn at<'a>(config: &'a Config, address: &str) -> Option<&'a Neighbor> {
    let address: IpAddr = address.parse().unwrap();
    config.neighbors.iter().find(|one| one.address == address)
}

#[test]
fn members_that_peer_with_route_servers_have_sessions() {
    let loaded = load("members", EXPORT).unwrap_or_else(|errors| panic!("{errors:#?}"));
    let config = &loaded.config;
    let addresses: Vec<String> = config
        .neighbors
        .iter()
        .map(|one| one.address.to_string())
        .collect();
    let expected = ["192.0.2.11", "192.0.2.13", "192.0.2.14", "2001:db8:1:1::11"];
    assert_eq!(addresses, expected);
    let member = at(config, "192.0.2.11").unwrap();
    assert_eq!(member.kind, NeighborKind::Member);
    assert_eq!(member.name, "AS3333 Example Network");
    assert_eq!(member.as_sets, ["AS-FOO", "RIPE::AS-FOO6"]);
    let limit = member.session.max_prefix[Family::Ipv4Unicast].unwrap();
    assert_eq!(limit.limit, 500);
    assert!(matches!(limit.action, LimitAction::Restart { .. }));
    let default = member.session.max_prefix[Family::Ipv6Unicast].unwrap();
    assert_eq!(default.limit, 100);
    assert_eq!(at(config, "192.0.2.13").unwrap().asn.0, 3334);
}

#[test]
fn a_section_of_the_operator_takes_precedence() {
    let loaded = load("own", EXPORT).unwrap();
    assert_eq!(
        at(&loaded.config, "192.0.2.14").unwrap().as_sets,
        ["AS-OWN"]
    );
    let warned = texts(&loaded.warnings);
    assert!(
        warned.contains(&"AS3335: `none` is not the name of an AS-SET"),
        "{warned:?}"
    );
}

#[test]
fn a_file_that_is_no_export_is_refused_with_its_place() {
    let errors = load(
        "broken",
        &EXPORT.replace("\"asnum\": 3334", "\"asnum\": \"x\""),
    )
    .unwrap_err();
    let found = &errors[0];
    assert!(
        found
            .message
            .starts_with("not an IX-F member export: invalid type")
    );
    assert_eq!(found.line, 19);
    let errors = load("empty", "{ \"member_list\": [] }").unwrap_err();
    assert!(texts(&errors)[0].starts_with("no member of the file has an address"));
}
