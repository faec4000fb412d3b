//! The example files load without warnings and have the settings that their comments describe.

use std::path::Path;

use rutter_config::{
    Config, ExportRule, ImportRule, LimitAction, Loaded, NeighborKind, Role, TtlSecurity,
};
use rutter_net::{Asn, Family};

fn load(name: &str) -> Loaded {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .join(name);
    let loaded = Config::load(&path).unwrap_or_else(|errors| panic!("{errors:#?}"));
    assert_eq!(loaded.warnings, []);
    loaded
}

#[test]
fn an_exchange_expands_members_to_sessions() {
    let Loaded { config, files, .. } = load("exchange.toml");
    assert_eq!(files.len(), 2);
    assert_eq!(config.neighbors.len(), 5);
    let foo = &config.neighbors[0];
    assert_eq!(foo.name, "Foo Networks");
    assert_eq!(foo.kind, NeighborKind::Member);
    assert_eq!(
        (foo.import, foo.export),
        (ImportRule::Checks, ExportRule::All)
    );
    assert_eq!(foo.session.ttl_security, TtlSecurity::Hops(1));
    assert_eq!(
        foo.family(Family::Ipv4Unicast).max_prefix.unwrap().action,
        LimitAction::Block { keeps: false }
    );
    assert!(foo.family(Family::Ipv4Unicast).enabled && !foo.family(Family::Ipv6Unicast).enabled);
    let baz = config
        .neighbors
        .iter()
        .find(|n| n.asn == Asn(64502))
        .unwrap();
    assert!(
        baz.family(Family::Ipv4Unicast).extended_next_hop
            && !baz.family(Family::Ipv6Unicast).extended_next_hop
    );
    assert_eq!(
        baz.family(Family::Ipv6Unicast).max_prefix.unwrap().action,
        LimitAction::Restart { after_s: 900 }
    );
    let settings = config.import_settings(foo);
    assert_eq!(settings.lan.len(), 2);
    assert_eq!(settings.member_addresses.len(), 2);
    assert_eq!(config.export_settings().actions.len(), 10);
}

#[test]
fn a_router_has_neighbors_of_every_kind() {
    let Loaded { config, .. } = load("router.toml");
    let kinds: Vec<_> = config.neighbors.iter().map(|n| n.kind).collect();
    assert_eq!(
        kinds,
        [
            NeighborKind::ReflectorClient,
            NeighborKind::ReflectorClient,
            NeighborKind::External,
            NeighborKind::Collector,
        ]
    );
    let upstream = &config.neighbors[2];
    assert_eq!(upstream.session.role, Some(Role::Customer));
    assert_eq!(
        upstream.session.password.as_ref().unwrap().reveal(),
        b"change-me"
    );
    assert_eq!(
        format!("{:?}", upstream.session.password),
        "Some(Secret(redacted))"
    );
    assert_eq!(config.neighbors[3].import, ImportRule::Collect);
    let laboratory = &config.dynamic_neighbors[0];
    assert!(laboratory.admits("10.99.1.2".parse().unwrap()));
    assert!(laboratory.admits_asn(Asn(65551)) && !laboratory.admits_asn(Asn(65550)));
    let neighbor = laboratory.neighbor("10.99.1.2".parse().unwrap(), Asn(65551));
    assert!(neighbor.session.passive);
    assert_eq!(neighbor.kind, NeighborKind::External);
}

#[test]
fn an_exchange_can_announce_a_role_to_its_members() {
    let text = "[exchange]\nasn = 6777\nrouter-id = \"192.0.2.1\"\nlan = []\nroles = true\n\
        [[member]]\nasn = 3333\naddress = \"192.0.2.11\"\n\
        [[neighbor]]\nasn = 3334\naddress = \"192.0.2.12\"\nimport = \"all\"\nexport = \"all\"\n";
    let config = Config::parse(text, Path::new("roles.toml")).unwrap().config;
    let roles: Vec<_> = config.neighbors.iter().map(|n| n.session.role).collect();
    assert_eq!(roles, [Some(Role::RouteServer), None]);
}

#[test]
fn import_settings_have_our_own_identity() {
    let text = "[router]\nasn = 64500\nrouter-id = \"192.0.2.1\"\ncluster-id = \"10.0.0.1\"\n\
        [daemon]\nlisten = [\"192.0.2.1\", \"::\"]\n\
        [[neighbor]]\nasn = 64500\naddress = \"192.0.2.12\"\nlocal-address = \"192.0.2.2\"\n";
    let config = Config::parse(text, Path::new("router.toml"))
        .unwrap()
        .config;
    let settings = config.import_settings(&config.neighbors[0]);
    assert_eq!(settings.router_id, Some([192, 0, 2, 1].into()));
    assert_eq!(settings.cluster_id, Some([10, 0, 0, 1].into()));
    let own: Vec<String> = settings
        .own_addresses
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(own, ["192.0.2.1", "192.0.2.2"]);
}

#[test]
fn a_collector_has_all_its_services() {
    let Loaded { config, .. } = load("collector.toml");
    assert_eq!(config.collector.name.as_deref(), Some("collector1"));
    let kinds = config.dynamic_neighbors.iter().map(|d| d.template.kind);
    assert!(
        kinds
            .into_iter()
            .all(|kind| kind == NeighborKind::Collector)
    );
    let bmp = config.bmp.unwrap();
    assert_eq!(bmp.listen[0].port(), 11_019);
    assert_eq!((bmp.allow.len(), bmp.max_peers), (2, 20_000));
    assert_eq!(config.bmp_targets[0].address.port(), 5_000);
    assert!(config.stream.unwrap().listen.ip().is_loopback());
}
