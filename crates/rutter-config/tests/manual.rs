//! `docs/config.md` documents every key and every reject reason. `UPDATE_GOLDEN=1` updates it.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use rutter_config::schema::{Key, Part, SECTIONS, SESSION, TABLES, next_start, resets_session};
use rutter_config::{InvalidRoutes, IrrCheck};
use rutter_policy::RejectReason;

fn manual() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/config.md")
}

fn table(keys: &[Key]) -> String {
    let mut out = String::from("| key | value | default | |\n| --- | --- | --- | --- |\n");
    for key in keys {
        let (name, form, default, text) = (key.name, key.form, key.default, key.text());
        writeln!(out, "| `{name}` | {form} | {default} | {text} |").unwrap();
    }
    out
}

fn keys() -> String {
    let mut out = String::new();
    for section in SECTIONS {
        writeln!(out, "\n### {}\n\n{}", section.header, section.text()).unwrap();
        if section.session {
            writeln!(
                out,
                "\n[Keys of every session](#keys-of-every-session) may stand here."
            )
            .unwrap();
        }
        if !section.keys.is_empty() {
            write!(out, "\n{}", table(section.keys)).unwrap();
        }
    }
    write!(out, "\n### Keys of every session\n\n{}", table(SESSION)).unwrap();
    for (name, keys) in TABLES {
        write!(out, "\n### In {name}\n\n{}", table(keys)).unwrap();
    }
    out + "\n"
}

fn reasons() -> String {
    let mut out = String::from("\n| number | name | |\n| --- | --- | --- |\n");
    let mut all = RejectReason::ALL.to_vec();
    all.sort_by_key(|reason| reason.code());
    for reason in all {
        let (code, text) = (reason.code(), reason.explanation());
        writeln!(out, "| {code} | `{reason}` | {text} |").unwrap();
    }
    out + "\n"
}

fn resets() -> String {
    let keys: Vec<String> = resets_session().map(|key| format!("`{key}`")).collect();
    keys.join(", ")
}

fn restarts() -> String {
    let written = |part: &Part| {
        let section = SECTIONS.iter().find(|section| section.name() == part.name);
        format!("`{}`", section.map_or(part.name, |section| section.header))
    };
    let all: Vec<String> = next_start().map(written).collect();
    all.join(", ")
}

fn replaced(text: &str, mark: &str, with: &str) -> String {
    let (open, close) = (format!("<!-- {mark} -->"), format!("<!-- /{mark} -->"));
    let (head, rest) = text.split_once(&open).expect("opening mark");
    let (_, tail) = rest.split_once(&close).expect("closing mark");
    format!("{head}{open}{with}{close}{tail}")
}

#[test]
fn the_manual_documents_every_key_and_reason() {
    let text = std::fs::read_to_string(manual()).unwrap();
    let fresh = [
        ("keys", keys()),
        ("reasons", reasons()),
        ("reset", resets()),
        ("restart", restarts()),
    ]
    .iter()
    .fold(text.clone(), |text, (mark, with)| {
        replaced(&text, mark, with)
    });
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(manual(), &fresh).unwrap();
    } else {
        assert_eq!(text, fresh, "docs/config.md is out of date");
    }
}

#[test]
fn every_toml_block_of_the_manual_is_valid() {
    let text = std::fs::read_to_string(manual()).unwrap();
    for block in text.split("```toml\n").skip(1) {
        let block = block.split("```").next().unwrap();
        let loaded = rutter_config::Config::parse(block, Path::new("manual.toml")).unwrap();
        assert_eq!(loaded.warnings, []);
    }
}

#[test]
fn the_guide_has_the_policy_of_an_exchange_in_under_60_lines() {
    let guide = manual().with_file_name("policy.md");
    let text = std::fs::read_to_string(guide).unwrap();
    let block = text.split("```toml\n").nth(1).unwrap();
    let block = block.split("```").next().unwrap();
    assert!(block.lines().count() < 60, "{}", block.lines().count());
    let loaded = rutter_config::Config::parse(block, Path::new("policy.toml"));
    let loaded = loaded.unwrap_or_else(|errors| panic!("{errors:#?}"));
    assert_eq!(loaded.warnings, []);
    let checks = &loaded.config.checks;
    assert_eq!(checks.rpki_invalid, InvalidRoutes::Reject);
    assert_eq!(checks.aspa_invalid, InvalidRoutes::Reject);
    assert_eq!(checks.irr, IrrCheck::OriginAndPrefix);
    assert_eq!(loaded.config.irr_members.len(), 2);
}

/// Returns a default of the manual as TOML, if it is a value.
fn as_value(default: &str) -> Option<&str> {
    let quoted = default
        .strip_prefix('`')
        .and_then(|rest| rest.strip_suffix('`'));
    let value = quoted.unwrap_or(default);
    let begins = |first: char| first == '"' || first == '[' || first.is_ascii_digit();
    let is_value = !value.contains('`') && value.starts_with(begins);
    (is_value || value == "true" || value == "false").then_some(value)
}

#[test]
fn the_documented_defaults_are_the_defaults() {
    let parse = |text: &str| {
        let text = format!(
            "[exchange]\nasn = 64500\nrouter-id = \"192.0.2.1\"\nlan = []\n\
             [[member]]\nasn = 3333\naddress = \"192.0.2.11\"\n{text}"
        );
        let loaded = rutter_config::Config::parse(&text, Path::new("manual.toml"));
        loaded
            .unwrap_or_else(|errors| panic!("{text}: {errors:?}"))
            .config
    };
    let expected = parse("");
    let mut tried = 0;
    for name in [
        "daemon",
        "checks",
        "communities",
        "graceful-restart",
        "sources",
        "defaults",
    ] {
        let section = SECTIONS
            .iter()
            .find(|section| section.name() == name)
            .unwrap();
        let session = SESSION.iter().filter(|_| section.session);
        for key in section.keys.iter().chain(session) {
            if let Some(value) = as_value(key.default) {
                let text = format!("[{name}]\n{} = {value}\n", key.name);
                assert_eq!(parse(&text), expected, "{text}");
                tried += 1;
            }
        }
    }
    assert!(tried > 30, "{tried}");
}
