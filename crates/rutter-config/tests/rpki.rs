//! Checks by RPKI data: the keys of a file, and the settings of the import and export policy that they make.

use std::path::Path;

use rutter_config::{Config, ConfigError};
use rutter_policy::{CheckAction, ImportSettings, TagState};
use rutter_rpki::{PathState, Relation, Rov};

fn parse(text: &str) -> Config {
    let loaded = Config::parse(text, Path::new("test.toml"));
    loaded.unwrap_or_else(|errors| panic!("{errors:#?}")).config
}

/// An exchange with one member.
fn member(text: &str) -> (Config, ImportSettings) {
    let config = parse(&format!(
        "[exchange]\nasn = 64500\nrouter-id = \"192.0.2.1\"\nlan = [\"192.0.2.0/24\"]\n{text}\n\
         [[member]]\nasn = 3333\naddress = \"192.0.2.11\"\n"
    ));
    let settings = config.import_settings(&config.neighbors[0]);
    (config, settings)
}

/// A router with one neighbor of this AS, whose paths are checked if possible.
fn router(asn: u32, keys: &str) -> String {
    format!(
        "[router]\nasn = 64500\nrouter-id = \"192.0.2.1\"\n\
         [rpki]\nrtr = \"127.0.0.1\"\naspa = true\n[checks]\naspa-invalid = \"reject\"\n\
         [[neighbor]]\nasn = {asn}\naddress = \"192.0.2.12\"\nimport = \"checks\"\nexport = \"none\"\n{keys}\n"
    )
}

fn neighbor(asn: u32, keys: &str) -> ImportSettings {
    let config = parse(&router(asn, keys));
    config.import_settings(&config.neighbors[0])
}

const RPKI: &str = "[rpki]\nrtr = \"127.0.0.1\"\naspa = true";

#[test]
fn an_exchange_with_aspas_rejects_paths_that_they_contradict() {
    let (_, settings) = member(RPKI);
    assert_eq!(settings.aspa_invalid, CheckAction::Reject);
    assert_eq!(settings.path_relation(), Some(Relation::RouteServerClient));
    assert_eq!(settings.marked_paths, []);
    let (_, settings) = member("[rpki]\nrtr = \"127.0.0.1\"");
    assert_eq!(settings.path_relation(), None, "without ASPAs");
    for (word, action) in [("off", CheckAction::Off), ("tag", CheckAction::Tag)] {
        let (_, settings) = member(&format!("{RPKI}\n[checks]\naspa-invalid = \"{word}\""));
        assert_eq!(settings.aspa_invalid, action);
    }
}

#[test]
fn the_role_of_a_neighbor_selects_the_procedure() {
    for (role, relation) in [
        ("provider", Relation::Customer),
        ("customer", Relation::Provider),
        ("peer", Relation::Peer),
        ("route-server", Relation::RouteServerClient),
        ("route-server-client", Relation::RouteServer),
    ] {
        let settings = neighbor(64_501, &format!("role = \"{role}\""));
        assert_eq!(settings.path_relation(), Some(relation), "{role}");
    }
    assert_eq!(neighbor(64_501, "").path_relation(), None, "no role");
    assert_eq!(neighbor(64_500, "").path_relation(), None, "iBGP");
}

#[test]
fn a_neighbor_without_a_role_is_a_warning() {
    let warnings = |asn, keys: &str| {
        let loaded = Config::parse(&router(asn, keys), Path::new("test.toml")).unwrap();
        let warnings = loaded
            .warnings
            .iter()
            .map(|warning| warning.message.clone());
        warnings.collect::<Vec<_>>()
    };
    let missing = "its paths are not verified by ASPAs, because `role` is not set";
    assert_eq!(warnings(64_501, ""), [missing]);
    for keys in ["role = \"peer\"", "checks = { aspa-invalid = \"off\" }"] {
        assert!(warnings(64_501, keys).is_empty(), "{keys}");
    }
    assert!(warnings(64_500, "").is_empty(), "iBGP");
}

#[test]
fn a_tag_marks_paths_with_their_state() {
    let tags = "[communities.tags]\naspa-valid = \"self:1001:1\"\naspa-unknown = \"self:1001:2\"\n\
        aspa-invalid = [\"self:1001:4\", \"64500:1004\"]";
    let (config, settings) = member(&format!("{RPKI}\n{tags}"));
    let all = [PathState::Valid, PathState::Invalid, PathState::Unknown];
    assert_eq!(settings.marked_paths, all);
    let tags = config.export_settings().class_tags;
    let tags: Vec<(TagState, String)> = tags
        .iter()
        .map(|tag| (tag.state, tag.notation.to_string()))
        .collect();
    let expected = [
        (TagState::PathValid, "self:1001:1"),
        (TagState::PathInvalid, "self:1001:4"),
        (TagState::PathInvalid, "64500:1004"),
        (TagState::PathUnknown, "self:1001:2"),
    ];
    assert_eq!(tags, expected.map(|(state, text)| (state, text.to_owned())));
}

#[test]
fn only_states_with_a_community_are_marked() {
    let tag = "[communities.tags]\nrpki-invalid = \"self:1000:4\"\naspa-unknown = \"self:1001:2\"";
    let (_, settings) = member(&format!("{RPKI}\n{tag}"));
    assert_eq!(settings.marked_origins, [Rov::Invalid]);
    assert_eq!(settings.marked_paths, [PathState::Unknown]);
    let (_, settings) = member(&format!("{RPKI}\n[checks]\nrpki-communities = \"send\""));
    assert_eq!(
        settings.marked_origins,
        [Rov::Valid, Rov::Invalid, Rov::NotFound]
    );
}

#[test]
fn states_of_other_routers_count_from_ibgp_neighbors_only() {
    let obey = "[neighbor.checks]\nrpki-communities = \"obey\"\nrpki-invalid = \"reject\"";
    assert!(neighbor(64_500, obey).obey_origin_state);
    assert!(!neighbor(64_501, obey).obey_origin_state);
    assert!(!neighbor(64_500, "").obey_origin_state);
    // The states of the neighbor need no data of our own.
    let config = parse(
        "[router]\nasn = 64500\nrouter-id = \"192.0.2.1\"\n\
         [checks]\nrpki-communities = \"obey\"\nrpki-invalid = \"reject\"\n\
         [[neighbor]]\nasn = 64500\naddress = \"192.0.2.12\"\nimport = \"checks\"\n",
    );
    let settings = config.import_settings(&config.neighbors[0]);
    assert!(settings.obey_origin_state && settings.validates_origin());
}

#[test]
fn lists_and_communities_without_effect_are_warnings() {
    let warnings = |checks: &str, as_sets: &str| -> Vec<String> {
        let text = format!(
            "[exchange]\nasn = 64500\nrouter-id = \"192.0.2.1\"\nlan = [\"192.0.2.0/24\"]\n\
             [irr.files]\n\"AS-FOO\" = \"foo.txt\"\n\
             [communities]\nblackhole = \"self:666:0\"\n[checks]\n{checks}\n\
             [[member]]\nasn = 3333\naddress = \"192.0.2.11\"\nas-sets = \"{as_sets}\"\n"
        );
        let loaded = Config::parse(&text, Path::new("test.toml")).unwrap();
        loaded.warnings.iter().map(ToString::to_string).collect()
    };
    assert_eq!(warnings("blackhole = true", "AS-FOO"), Vec::<String>::new());
    let found = warnings("", "AS-BAR");
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found[0].contains("no member has `AS-FOO`"), "{found:#?}");
    let expected = "`checks.blackhole` accepts no such routes";
    assert!(found[1].contains(expected), "{found:#?}");
}

#[test]
fn blackhole_communities_have_an_effect_where_any_neighbor_may_send_them() {
    let warnings = |section: &str| {
        let text = format!(
            "[router]\nasn = 64500\nrouter-id = \"192.0.2.1\"\n\
             [communities]\nblackhole = \"64500:667\"\n{section}\n"
        );
        Config::parse(&text, Path::new("test.toml"))
            .unwrap()
            .warnings
    };
    let checks = "import = \"checks\"\nexport = \"all\"\nchecks = { blackhole = true }";
    let neighbor = "[[neighbor]]\nasn = 64501\naddress = \"192.0.2.11\"";
    let dynamic = "[[dynamic-neighbor]]\nasn = 64501\nprefix = \"192.0.2.0/24\"";
    assert_eq!(warnings(&format!("{neighbor}\n{checks}")), []);
    assert_eq!(warnings(&format!("{dynamic}\n{checks}")), []);
    let found = warnings(neighbor);
    let is_named = |found: &ConfigError| found.message.contains("accepts no such routes");
    assert!(found.iter().any(is_named), "{found:#?}");
}
