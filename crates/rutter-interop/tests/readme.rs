//! Checks the README's statements against the files of the project.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rutter_interop::output_of;
use rutter_interop::rutter::program;

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.join("../..").canonicalize().expect("the workspace")
}

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).expect("README.md")
}

#[test]
fn links_lead_somewhere() {
    let readme = readme();
    let links = readme
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    for link in links.filter(|link| !link.contains("://")) {
        assert!(root().join(link).exists(), "README.md links to {link}");
    }
}

#[test]
fn the_configuration_passes_the_check() {
    let readme = readme();
    let block = readme
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let path = std::env::temp_dir().join(format!("rtreadme{}.toml", std::process::id()));
    fs::write(&path, block.expect("a configuration")).unwrap();
    let checked = output_of(Command::new(program()).arg("check").arg(&path));
    fs::remove_file(&path).unwrap();
    checked.unwrap();
}

#[test]
fn the_commands_exist() {
    let help = |words: &[&str]| {
        let help = output_of(Command::new(program()).args(words).arg("--help"));
        help.unwrap_or_else(|error| panic!("{words:?}: {error}"));
    };
    for command in [
        "run", "check", "diff", "reload", "explain", "clear", "log", "stop", "demo", "bench",
    ] {
        help(&[command]);
    }
    for view in [
        "peers",
        "peer",
        "routes",
        "route",
        "rejected",
        "attributes",
        "memory",
        "status",
    ] {
        help(&["show", view]);
    }
}
