//! Golden files: what each bad configuration is told, all at once. Regenerate with `UPDATE_GOLDEN=1`.

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
    let said = complaints(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&golden, &said).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    assert_eq!(said, expected, "{}", golden.display());
}

#[test]
fn every_mistake_of_an_exchange_is_named() {
    check("exchange.toml");
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
fn a_collector_claims_nothing_twice_and_leaves_nothing_empty() {
    check("collector.toml");
}

#[test]
fn a_history_keeps_what_it_writes_for_a_while() {
    check("history.toml");
    check("history-snapshots.toml");
}

#[test]
fn sinks_have_the_keys_of_their_type() {
    check("sinks.toml");
}

#[test]
fn an_empty_password_lets_nobody_in() {
    check("passwords.toml");
}

#[test]
fn an_empty_file_is_told_what_to_begin_with() {
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
