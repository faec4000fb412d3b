//! `docs/config.md` documents every key and every reject reason. `UPDATE_GOLDEN=1` updates it.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use rutter_config::schema::{Key, Part, SECTIONS, SESSION, TABLES, next_start, resets_session};
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
