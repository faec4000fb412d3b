//! The files of ARouteServer as a configuration.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rutter_config::{
    BlackholeRule, Config, ConfigError, InvalidRoutes, IrrCheck, Loaded, RejectPolicy,
    convert_arouteserver,
};
use rutter_net::{Family, PerFamily};

const GENERAL: &str = r#"
cfg:
  rs_as: 64500
  router_id: "192.0.2.1"
  path_hiding: True
  passive: False
  gtsm: yes
  filtering:
    next_hop:
      policy: same-as
    ipv4_pref_len: { min: 8, max: 24 }
    ipv6_pref_len:
      min: 12
      max: 48
    global_black_list_pref:
      - prefix: 192.0.2.0
        length: 24
        comment: "Peering LAN"
      - prefix: 198.51.100.0
        length: 24
        exact: True
      - { prefix: "2001:db8:1::", length: 48, ge: 50, le: 64 }
    max_as_path_len: 40
    transit_free:
      action: reject
      asns: 174, 701,
        1299
    never_via_route_servers:
      peering_db: True
      asns: [64496]
    irrdb:
      tag_as_set: True
      allow_longer_prefixes: True
    rpki_bgp_origin_validation:
      enabled: True
      reject_invalid: True
    max_prefix:
      action: restart
      restart_after: 10
      general_limit_ipv4: 1000
    roles:
      enabled: True
    reject_policy:
      policy: tag
  rpki_roas:
    source: rtr
  blackhole_filtering:
    policy_ipv4: rewrite-next-hop
    policy_ipv6: propagate-unchanged
    rewrite_next_hop_ipv4: 192.0.2.66
    announce_to_client: False
  graceful_shutdown:
    enabled: True
    local_pref: 0
  rfc1997_wellknown_communities:
    policy: rfc1997
  rtt_thresholds: 5, 10, 500
  custom_communities:
    from_europe:
      std: "65511:1"
      lrg: "rs_as:65511:1"
  communities:
    do_not_announce_to_any: { std: "0:rs_as", lrg: "rs_as:0:0", ext: "rt:0:rs_as" }
    do_not_announce_to_peer: { std: "0:peer_as", lrg: "rs_as:0:peer_as" }
    prepend_once_to_peer: { std: "65501:peer_as", lrg: "rs_as:101:peer_as" }
    prepend_twice_to_peer: { std: "65502:peer_as", lrg: "rs_as:102:peer_as" }
    prepend_thrice_to_peer: { std: "65503:peer_as" }
    prepend_once_to_any: { std: "65521:65521", lrg: "rs_as:65521:65521" }
    prepend_twice_to_any: { std: "65522:65522", lrg: "rs_as:65522:65522" }
    blackholing: { std: "65534:0", lrg: "rs_as:666:0" }
    add_noexport_to_peer: { ext: "rt:65510:peer_as" }
    do_not_announce_to_peers_with_rtt_higher_than: { lrg: "rs_as:64532:dyn_val" }
    prefix_present_in_as_set: { lrg: "rs_as:1001:1" }
    reject_cause: { lrg: "rs_as:1101:dyn_val" }
    reject_cause_map:
      7: { lrg: "rs_as:1102:7" }
      14: { std: "65520:14", ext: "ro:65520:14" }
    rpki_bgp_origin_validation_valid: { lrg: "rs_as:1000:1" }
"#;

const CLIENTS: &str = r#"
asns:
  AS3333:
    as_sets: ["RIPE::AS-FOO"]
clients:
  - asn: 3333
    ip: ["192.0.2.11", "2001:db8:ff::11"]
    description: "A \"first\" member"
    password: hunter2
  - asn: 197000
    ip: 192.0.2.12
    16bit_mapped_asn: 64512
    cfg:
      attach_custom_communities: [from_europe]
      passive: True
      rfc8950: True
      filtering:
        next_hop:
          policy: authorized_addresses
          authorized_addresses_list: ["192.0.2.99"]
        black_list_pref:
          - { prefix: 203.0.113.0, length: 24 }
        irrdb:
          as_sets: [AS-BAR]
          enforce_prefix_in_as_set: False
          white_list_asn: [64501]
          white_list_pref:
            - { prefix: 198.51.0.0, length: 16 }
          white_list_route:
            - { prefix: 198.18.0.0, length: 15, asn: 64502, exact: True }
        max_prefix:
          limit_ipv4: 7
          action: block
      blackhole_filtering:
        announce_to_client: True
"#;

const PEERING_DB: &str = r#"{"data": [
    {"asn": 3333, "info_prefixes4": 900, "info_prefixes6": 0, "info_never_via_route_servers": false},
    {"asn": 64499, "info_prefixes4": null, "info_never_via_route_servers": true}]}"#;

/// A folder with the files of a test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, general: &str, clients: &str) -> Self {
        let path = std::env::temp_dir().join(format!("rc-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("general.yml"), general).unwrap();
        std::fs::write(path.join("clients.yml"), clients).unwrap();
        std::fs::write(path.join("net.json"), PEERING_DB).unwrap();
        Folder(path)
    }

    fn load(&self, more: &str) -> Result<Loaded, Vec<ConfigError>> {
        let file = self.0.join("rutter.toml");
        let text =
            format!("[arouteserver]\ngeneral = \"general.yml\"\nclients = \"clients.yml\"\n{more}");
        std::fs::write(&file, text).unwrap();
        Config::load(&file)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const OPTIONS: &str = "peeringdb = \"net.json\"\nlan = [\"192.0.2.0/24\", \"2001:db8:ff::/64\"]\nrtr = \"127.0.0.1:3323\"\n";

#[test]
fn the_files_become_a_whole_configuration() {
    let folder = Folder::new("ars", GENERAL, CLIENTS);
    let loaded = folder.load(OPTIONS).unwrap_or_else(|e| panic!("{e:#?}"));
    let config = loaded.config;
    assert_eq!((config.asn.0, config.neighbors.len()), (64500, 3));
    let checks = &config.checks;
    assert_eq!(checks.irr, IrrCheck::OriginAndPrefix);
    assert_eq!(checks.rpki_invalid, InvalidRoutes::Reject);
    assert_eq!(checks.reject_policy, RejectPolicy::TagAndReject);
    assert_eq!(checks.max_as_path_len, 40);
    assert_eq!(checks.black_list.len(), 3);
    let asns = |list: &[rutter_net::Asn]| list.iter().map(|asn| asn.0).collect::<Vec<_>>();
    assert_eq!(asns(&checks.transit_free_asns), [174, 701, 1299]);
    // PeeringDB's mark and the list of the file.
    assert_eq!(asns(&checks.never_via_route_servers), [64496, 64499]);
    let rule = |family| checks.blackhole.rule(family);
    assert_eq!(rule(Family::Ipv4Unicast), BlackholeRule::Rewrite);
    assert_eq!(rule(Family::Ipv6Unicast), BlackholeRule::Propagate);
    let limits = |index: usize| &config.neighbors[index].session.max_prefix;
    // (900 + 100) * 1.15 from PeeringDB for the first member, which change with its data; its own limit for the other.
    let in_peering_db = [(3333, PerFamily::new(Some(900), None))];
    let in_peering_db = Arc::new(in_peering_db.into_iter().collect());
    let now = config.with_prefix_limits(Some(in_peering_db));
    let now = now.max_prefix(&config.neighbors[0]);
    assert_eq!(
        now.map(|limit| limit.map(|limit| limit.limit)),
        PerFamily::new(Some(1_150), Some(12_000))
    );
    assert!(format!("{:?}", limits(1)).contains('7'), "{:?}", limits(1));
    let other = &config.neighbors[1];
    assert_eq!(other.asn.0, 197_000);
    assert_eq!(other.checks.irr, IrrCheck::Origin);
    assert!(other.session.passive);
    assert_eq!(config.communities.aliases.len(), 1);
    let of_reasons = config.communities.tags.reject_cause_map.iter();
    let of_reasons = of_reasons.flat_map(|(code, list)| list.iter().map(move |n| (*code, n)));
    let of_reasons: Vec<String> = of_reasons.map(|(code, n)| format!("{code}: {n}")).collect();
    assert_eq!(
        of_reasons,
        ["7: self:1102:7", "14: 65520:14", "14: ro:65520:14"]
    );
    let notes: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    let about = |what: &str| notes.iter().any(|note| note.contains(what));
    assert!(
        about("rpki_bgp_origin_validation_valid: not needed"),
        "{notes:#?}"
    );
    let frozen =
        "max_prefix.limit_ipv4: the limit of the other family is that of PeeringDB as it is now";
    assert!(about(frozen), "{notes:#?}");
}

/// The sections that some settings of `max_prefix` become, without the lines that say nothing about limits.
fn limits(max_prefix: &str, clients: &str, options: &str) -> String {
    let general = format!(
        "cfg:\n  rs_as: 64500\n  router_id: 192.0.2.1\n  filtering:\n    irrdb: {{ peering_db: False }}\n    max_prefix: {max_prefix}\n"
    );
    let folder = Folder::new("limits", &general, &format!("clients:\n{clients}"));
    let name = folder.0.join("rutter.toml");
    let text = format!(
        "[arouteserver]\ngeneral = \"general.yml\"\nclients = \"clients.yml\"\nlan = [\"192.0.2.0/24\"]\n{options}"
    );
    let converted = convert_arouteserver(&text, &name).unwrap_or_else(|e| panic!("{e:#?}"));
    let loaded = Config::parse(&converted.toml, &name);
    assert!(loaded.is_ok(), "{}\n{loaded:#?}", converted.toml);
    let path = folder.0.display().to_string();
    let lines = converted.toml.lines();
    let about = |line: &&str| {
        ["max-prefix", "peeringdb", "as-sets", "asn", "["]
            .iter()
            .any(|start| line.starts_with(start))
    };
    let lines: Vec<String> = lines
        .filter(about)
        .map(|line| line.replace(&path, "/etc/arouteserver"))
        .collect();
    lines.join("\n") + "\n"
}

#[test]
fn limits_of_peeringdb_are_followed_and_not_copied() {
    let clients = r#"
  - { asn: 3333, ip: 192.0.2.11 }
  - { asn: 3334, ip: 192.0.2.12, cfg: { filtering: { max_prefix: { limit_ipv4: 7 } } } }
  - { asn: 3335, ip: 192.0.2.13, cfg: { filtering: { max_prefix: { peering_db: { enabled: False } } } } }
  - { asn: 3336, ip: 192.0.2.14, cfg: { filtering: { max_prefix: { peering_db: { increment: { absolute: 5 } } }, irrdb: { as_sets: [AS-BAR] } } } }
"#;
    let max_prefix = "{ action: restart, restart_after: 10, peering_db: { enabled: True, increment: { absolute: 50, relative: 20 } } }";
    let written = limits(max_prefix, clients, "peeringdb = \"net.json\"\n");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/arouteserver_limits.toml");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &written).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        written, golden,
        "write it again with UPDATE_GOLDEN=1 if the change is meant"
    );
    // Without a dump, and without an action, nothing follows.
    let without = limits(max_prefix, clients, "");
    assert!(!without.contains("peeringdb ="), "{without}");
    let without = limits(
        "{ peering_db: True }",
        clients,
        "peeringdb = \"net.json\"\n",
    );
    assert!(!without.contains("max-prefix"), "{without}");
}

#[test]
fn what_cannot_be_honoured_is_refused_by_name() {
    let refused = |from: &str, to: &str, expected: &str| {
        let general = GENERAL.replace(from, to);
        assert_ne!(general, GENERAL, "{from}");
        let folder = Folder::new("refused", &general, CLIENTS);
        let errors = folder.load(OPTIONS).unwrap_err();
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert!(
            texts.iter().any(|text| text.contains(expected)),
            "{texts:#?}"
        );
        // Each error names file, line and key.
        assert!(errors.iter().all(|error| error.line > 0), "{errors:#?}");
    };
    refused(
        "policy: same-as",
        "policy: sometimes",
        "cfg.filtering.next_hop.policy: write strict",
    );
    refused(
        "path_hiding: True",
        "path_hidng: True",
        "cfg.path_hidng: Rutter does not know this key",
    );
    // The conversion reads this section at several places.
    refused(
        "policy: same-as",
        "policy: same-as\n      polcy: strict",
        "cfg.filtering.next_hop.polcy: Rutter does not know this key",
    );
    refused(
        "roles:\n      enabled: True",
        "roles:\n      enabled: True\n      local_role: rs",
        "cfg.filtering.roles.local_role: only a client has a role",
    );
    refused(
        "rs_as: 64500",
        "rs_as: many",
        "cfg.rs_as: `many` is not a number",
    );
    refused(
        "rs_as:102:peer_as",
        "rs_as:peer:peer_as",
        "`peer` is neither a number nor a macro",
    );
    refused(
        "router_id: \"192.0.2.1\"",
        "router_id: [192.0.2.1, 192.0.2.2]",
        "one router ID",
    );
    refused(
        "max_as_path_len: 40",
        "max_as_path_len: 40\n     x: [",
        "not valid YAML",
    );
    refused("\"rt:0:rs_as\"", "\"rx:0:rs_as\"", "has not the form");
    refused(
        "{ lrg: \"rs_as:1102:7\" }",
        "{ lrg: \"rs_as:1102:dyn_val\" }",
        "has a variable field",
    );
    refused(
        "length: 24\n        exact",
        "length: 33\n        exact",
        "198.51.100.0/33` is not a prefix",
    );
}

#[test]
fn errors_of_the_wrapper_and_of_missing_files_are_reported() {
    let folder = Folder::new("wrapper", GENERAL, CLIENTS);
    let text = |more: &str| {
        let errors = folder.load(more).unwrap_err();
        errors.iter().map(ToString::to_string).collect::<String>()
    };
    let message = text("bogons = \"none.yml\"\n");
    assert!(message.contains("none.yml"), "{message}");
    assert!(message.contains("cannot read the file"), "{message}");
    assert!(text("colour = 1\n").contains("colour"));
    let message = text("lan = \"192.0.2.0/24\"\n");
    assert!(
        message.contains("cfg.rpki_roas.source: name the RTR caches"),
        "{message}"
    );
    // The converted sections cannot be written a second time.
    let message = text(&format!("{OPTIONS}[exchange]\nasn = 1\n"));
    let expected = "exchange: [arouteserver] replaces this section";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn the_converted_sections_stand_alone() {
    let folder = Folder::new("import", GENERAL, CLIENTS);
    let name = folder.0.join("rutter.toml");
    let text =
        format!("[arouteserver]\ngeneral = \"general.yml\"\nclients = \"clients.yml\"\n{OPTIONS}");
    let converted = convert_arouteserver(&text, &name).unwrap();
    assert!(
        !converted.toml.contains("arouteserver"),
        "{}",
        converted.toml
    );
    let alone = Config::parse(&converted.toml, &name).unwrap().config;
    assert_eq!(alone, folder.load(OPTIONS).unwrap().config);
}
