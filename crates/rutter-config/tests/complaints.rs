//! Golden files with the errors of bad configurations. `UPDATE_GOLDEN=1` updates them.

use std::path::{Path, PathBuf};

use rutter_config::{Config, ConfigError};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad")
}

fn complaints(name: &str) -> String {
    let text = std::fs::read_to_string(folder().join(name)).unwrap();
    let found = match Config::parse(&text, &Path::new("tests/bad").join(name)) {
        Ok(loaded) => loaded.warnings,
        Err(errors) => errors,
    };
    found
        .iter()
        .map(|error: &ConfigError| format!("{error}\n"))
        .collect()
}

fn check(name: &str) {
    let golden = folder().join(name).with_extension("txt");
    let text = complaints(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&golden, &text).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    assert_eq!(text, expected, "{}", golden.display());
}

#[test]
fn every_error_of_an_exchange_is_reported() {
    check("exchange.toml");
}

#[test]
fn keys_of_tcp_ao_have_ids_of_their_own() {
    check("tcp-ao.toml");
}

#[test]
fn errors_of_bmp_stations_are_reported() {
    check("stations.toml");
}

#[test]
fn actions_have_notations_of_their_own_and_times_are_numbers() {
    check("actions.toml");
    check("rtt-json.toml");
    check("rtt-unused.toml");
}

#[test]
fn limits_of_prefixes_are_numbers_and_need_data() {
    check("prefix-limits.toml");
}

#[test]
fn custom_communities_have_one_meaning_and_names_that_exist() {
    check("custom.toml");
}

#[test]
fn two_identities_and_single_brackets() {
    check("router.toml");
}

#[test]
fn syntax_errors_have_a_line() {
    check("syntax.toml");
}

#[test]
fn warnings_do_not_stop_anything() {
    check("warnings.toml");
}

#[test]
fn member_files_are_named_with_their_own_lines() {
    check("members.toml");
}

#[test]
fn sections_of_a_collector_conflict_or_are_empty() {
    check("collector.toml");
}

#[test]
fn retention_and_snapshots_must_fit() {
    check("history.toml");
    check("history-snapshots.toml");
}

#[test]
fn sinks_have_the_keys_of_their_type() {
    check("sinks.toml");
}

#[test]
fn an_empty_password_is_refused() {
    check("passwords.toml");
}

#[test]
fn the_name_of_a_collector_must_fit_files_and_databases() {
    let errors = |name: &str| {
        let router = "[router]\nasn = 64500\nrouter-id = \"192.0.2.1\"";
        let text = format!("{router}\n[collector]\nname = \"{name}\"\n");
        let found = Config::parse(&text, Path::new("rutter.toml"));
        found.map_or_else(
            |errors| errors.iter().map(ToString::to_string).collect::<String>(),
            |_| String::new(),
        )
    };
    assert_eq!(errors(&"a".repeat(180)), "");
    assert_eq!(errors("Zürich 1 (rrc-2)"), "");
    assert_eq!(
        errors("a\\u0000b"),
        "rutter.toml:5:8: error: collector.name: this name has a control character\n    \
         write letters, digits and other visible characters"
    );
    for (name, octets) in [("a".repeat(181), 181), ("-".repeat(60), 240)] {
        let expected = format!(
            "rutter.toml:5:8: error: collector.name: this name is too long: \
             it takes {octets} bytes in file names\n    \
             write at most 180 letters and digits; other characters except `.` count for more"
        );
        assert_eq!(errors(&name), expected);
    }
}

#[test]
fn as_sets_have_no_effect_without_a_check() {
    check("as-sets.toml");
}

#[test]
fn mistakes_in_the_policy_of_an_exchange_are_reported() {
    check("policy.toml");
}

#[test]
fn sources_of_data_need_an_address_and_sense() {
    check("registry.toml");
}

#[test]
fn an_empty_file_needs_a_first_section() {
    check("empty.toml");
}

#[test]
fn a_missing_file_is_an_error_too() {
    let errors = Config::load(Path::new("no/such/file.toml")).unwrap_err();
    assert!(
        errors[0]
            .to_string()
            .starts_with("no/such/file.toml: error: cannot read the file")
    );
}

#[test]
fn filters_name_lists_and_rules_that_are_reached() {
    check("filters.toml");
    check("filter-rules.toml");
}

#[test]
fn rules_change_routes_in_ways_that_make_sense() {
    check("filter-changes.toml");
}

#[test]
fn a_filter_test_that_fails_says_what_came_instead() {
    check("filter-tests.toml");
}
