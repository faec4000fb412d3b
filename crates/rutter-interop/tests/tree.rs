//! Rules of the tree that the compiler does not check: the order of the crates, the purpose of each, and the number and
//! licenses of dependencies.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The crates without I/O and clocks.
const PURE: [&str; 8] = [
    "rutter-net",
    "rutter-wire",
    "rutter-lpm",
    "rutter-rpki",
    "rutter-irr",
    "rutter-session",
    "rutter-policy",
    "rutter-rib",
];

/// Dependencies that bring sockets, files or threads.
const IMPURE: [&str; 6] = ["libc", "mio", "polling", "rustix", "socket2", "tokio"];

/// Names of the standard library that open a file or a socket, read a clock, start a process or stop a thread. A type
/// such as `File` is allowed: the daemon passes files in memory to the table.
const IMPURE_NAMES: [&str; 13] = [
    "fs::read",
    "fs::write",
    "fs::metadata",
    "File::open",
    "File::create",
    "OpenOptions",
    "TcpStream",
    "UdpSocket",
    "UnixStream",
    "Instant::now",
    "SystemTime::now",
    "std::process",
    "thread::sleep",
];

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.join("../..").canonicalize().expect("the workspace")
}

/// Names and purposes from the table of ARCHITECTURE.md, in floor order. A crate may use only those above it.
fn map() -> Vec<(String, String)> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let rows = text.lines().filter(|line| line.starts_with("| `rutter"));
    rows.map(|row| {
        let mut cells = row.trim_matches('|').split(" | ").map(str::trim);
        let mut cell = || cells.next().unwrap_or_default().replace('`', "");
        (cell(), cell())
    })
    .collect()
}

fn metadata() -> Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo metadata: {stderr}");
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}

fn packages(metadata: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let all = metadata["packages"].as_array().into_iter().flatten();
    all.map(|package| (package["name"].as_str().expect("a name"), package))
}

/// The crates of this workspace.
fn own(metadata: &Value) -> BTreeMap<&str, &Value> {
    packages(metadata)
        .filter(|(_, package)| package["source"].is_null())
        .collect()
}

/// The dependencies of a crate, without those of its tests.
fn dependencies(package: &Value) -> impl Iterator<Item = &str> {
    let all = package["dependencies"].as_array().into_iter().flatten();
    all.filter(|dependency| dependency["kind"].is_null())
        .filter_map(|dependency| dependency["name"].as_str())
}

#[test]
fn crates_use_only_the_floors_above() {
    let (metadata, map) = (metadata(), map());
    let floor = |name: &str| map.iter().position(|(floor, _)| floor == name);
    for (name, package) in own(&metadata) {
        let own_floor = floor(name).unwrap_or_else(|| panic!("{name} is not on the map"));
        for used in dependencies(package).filter(|used| used.starts_with("rutter")) {
            let used_floor = floor(used).unwrap_or(usize::MAX);
            assert!(used_floor < own_floor, "{name} may not use {used}");
            assert!(used != "rutter-interop", "{name} may not use the tests");
        }
    }
}

#[test]
fn pure_crates_bring_no_io() {
    let metadata = metadata();
    for (name, package) in own(&metadata) {
        if PURE.contains(&name) {
            let impure = dependencies(package).find(|used| IMPURE.contains(used));
            assert_eq!(impure, None, "{name} is pure");
        }
    }
}

#[test]
fn pure_crates_call_no_io() {
    for name in PURE {
        for file in rust_files(&root().join("crates").join(name).join("src")) {
            let text = fs::read_to_string(&file).expect("a source file");
            let program = text.split("#[cfg(test)]").next().unwrap_or_default();
            let mut code = program
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            let impure = code.find(|line| IMPURE_NAMES.iter().any(|name| line.contains(name)));
            assert!(
                impure.is_none(),
                "{}: `{}`: move I/O and clocks to the caller",
                file.display(),
                impure.unwrap_or_default().trim()
            );
        }
    }
}

/// The Rust files below a folder.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of sources");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => rust_files(&path),
            false => vec![path],
        })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

#[test]
fn every_crate_has_its_purpose_in_one_line() {
    let (metadata, map) = (metadata(), map());
    for (name, package) in own(&metadata) {
        let description = package["description"].as_str().unwrap_or_default();
        assert!(!description.is_empty(), "{name} has no description");
        let mapped = map.iter().find(|(mapped, _)| mapped == name);
        let mapped = mapped.map(|(_, purpose)| purpose.as_str());
        assert_eq!(mapped, Some(description), "ARCHITECTURE.md on {name}");
        let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
        let lib = manifest.with_file_name("src").join("lib.rs");
        if let Ok(text) = fs::read_to_string(lib) {
            // The documentation may contain markup that the manifest lacks.
            let first = text.lines().next().unwrap_or_default().replace('`', "");
            assert_eq!(first, format!("//! {description}"), "lib.rs of {name}");
        }
    }
}

/// The rules for dependencies.
fn deny() -> toml::Table {
    let text = fs::read_to_string(root().join("deny.toml")).expect("deny.toml");
    text.parse().expect("deny.toml is TOML")
}

#[test]
fn licences_are_the_allowed_ones() {
    let deny = deny();
    let allowed = deny["licenses"]["allow"].as_array().expect("a list");
    let allowed: Vec<&str> = allowed.iter().filter_map(toml::Value::as_str).collect();
    for (name, package) in packages(&metadata()) {
        let licence = package["license"].as_str().unwrap_or_default();
        assert!(
            is_allowed(licence, &allowed),
            "{name} is under `{licence}`, which deny.toml does not allow"
        );
    }
}

#[test]
fn no_banned_crate_is_used() {
    let deny = deny();
    let banned = deny["bans"]["deny"].as_array().expect("a list");
    let banned: Vec<&str> = banned
        .iter()
        .filter_map(|row| row["crate"].as_str())
        .collect();
    assert!(!banned.is_empty(), "deny.toml bans crates");
    for (name, _) in packages(&metadata()) {
        assert!(!banned.contains(&name), "deny.toml bans {name}");
    }
}

/// One more than the most crates that the route server may be built from, ours included.
const ROUTE_SERVER_CRATES: usize = 100;

#[test]
fn the_route_server_is_built_from_few_crates() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--locked", "-p", "rutter", "-e", "normal"])
        .args(["--prefix", "none", "--format", "{p}"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo tree: {stderr}");
    let text = String::from_utf8(output.stdout).expect("names of crates");
    let crates = text.lines().map(|line| line.trim_end_matches(" (*)"));
    let crates: BTreeSet<&str> = crates.collect();
    assert!(
        crates.len() < ROUTE_SERVER_CRATES,
        "{} crates: is a smaller crate, or one that is there already, as good as the new one? {crates:#?}",
        crates.len()
    );
}

#[test]
fn every_dependency_comes_from_the_public_registry() {
    let public = "registry+https://github.com/rust-lang/crates.io-index";
    for (name, package) in packages(&metadata()) {
        let source = package["source"].as_str();
        assert!(
            source.is_none_or(|source| source == public),
            "{name} comes from {source:?}"
        );
    }
}

#[test]
fn crates_declare_the_compiler_that_the_tests_use() {
    let text = fs::read_to_string(root().join("rust-toolchain.toml")).expect("rust-toolchain.toml");
    let file: toml::Table = text.parse().expect("rust-toolchain.toml is TOML");
    let toolchain = file["toolchain"]["channel"].as_str().expect("a version");
    for (name, package) in own(&metadata()) {
        let declared = package["rust_version"].as_str().unwrap_or_default();
        assert!(
            toolchain.starts_with(declared) && !declared.is_empty(),
            "{name} declares rust-version `{declared}`, but the tests use {toolchain}"
        );
    }
}

/// A test file without a target would never run.
#[test]
fn every_file_of_interop_tests_is_a_target() {
    let folder = root().join("crates/rutter-interop");
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("Cargo.toml");
    for entry in fs::read_dir(folder.join("tests")).expect("the tests") {
        let entry = entry.expect("a test").path();
        let main = if entry.is_dir() {
            entry.join("main.rs")
        } else if entry.extension().is_some_and(|ends| ends == "rs") {
            entry
        } else {
            continue;
        };
        let path = main.strip_prefix(&folder).expect("below it").display();
        assert!(
            manifest.contains(&format!("path = \"{path}\"")),
            "{path} is no [[test]] of crates/rutter-interop/Cargo.toml"
        );
    }
}

/// Evaluates an SPDX expression: every part of an AND, one part of an OR.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let expression = expression.trim();
    if allowed.contains(&expression) {
        return true;
    }
    // AND binds tighter than OR, and the old form `A/B` means OR.
    let (or, and) = (split(expression, " OR "), split(expression, " AND "));
    if or.len() > 1 {
        or.iter().any(|part| is_allowed(part, allowed))
    } else if and.len() > 1 {
        and.iter().all(|part| is_allowed(part, allowed))
    } else if let Some(inner) = expression
        .strip_prefix('(')
        .and_then(|e| e.strip_suffix(')'))
    {
        is_allowed(inner, allowed)
    } else {
        expression.contains('/') && expression.split('/').any(|part| is_allowed(part, allowed))
    }
}

/// Splits at a word outside all parentheses.
fn split<'a>(expression: &'a str, word: &str) -> Vec<&'a str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0);
    for (at, byte) in expression.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ if depth == 0 && at >= start && expression[at..].starts_with(word) => {
                parts.push(&expression[start..at]);
                start = at + word.len();
            }
            _ => {}
        }
    }
    parts.push(&expression[start..]);
    parts
}

#[test]
fn expressions_are_evaluated() {
    let allowed = ["MIT", "Apache-2.0", "Unicode-3.0"];
    for (expression, verdict) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0 AND MIT", false),
        ("(MIT OR GPL-3.0) AND Unicode-3.0", true),
        ("(MIT OR Apache-2.0) AND GPL-3.0", false),
        ("MIT/GPL-3.0", true),
        ("", false),
    ] {
        assert_eq!(is_allowed(expression, &allowed), verdict, "{expression}");
    }
}

/// The documents: the Markdown files of the project.
fn documents() -> Vec<PathBuf> {
    let mut folders = vec![root(), root().join("docs"), root().join("fuzz")];
    let crates = fs::read_dir(root().join("crates")).expect("crates");
    folders.extend(crates.map(|entry| entry.expect("an entry").path()));
    let files = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).expect("a folder"));
    files
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect()
}

/// The text of a document without its blocks of code.
fn prose(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split("\n```")
        .step_by(2)
        .collect::<Vec<_>>()
        .join("\n")
}

/// The anchor that a heading gets in a browser.
fn anchor(heading: &str) -> String {
    let title = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
    title
        .chars()
        .filter(kept)
        .collect::<String>()
        .replace(' ', "-")
}

#[test]
fn links_of_documents_lead_to_a_file_and_a_heading() {
    assert_eq!(
        anchor("## In `next-hop` of blackhole"),
        "in-next-hop-of-blackhole"
    );
    let documents = documents();
    assert!(documents.len() > 20);
    for document in &documents {
        let text = prose(document);
        let links = text.split("](").skip(1);
        let links = links.filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://")) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => document.clone(),
                _ => document.with_file_name("").join(file),
            };
            assert!(
                target.exists(),
                "{}: no file for {link}",
                document.display()
            );
            let text = if heading.is_empty() {
                String::new()
            } else {
                prose(&target)
            };
            let mut headings = text.lines().filter(|line| line.starts_with('#'));
            assert!(
                heading.is_empty() || headings.any(|line| anchor(line) == heading),
                "{}: no heading for {link}",
                document.display()
            );
        }
    }
}

/// The maps name files by the end of their path, such as `advertise/export_view.rs`.
#[test]
fn source_files_that_the_maps_name_exist() {
    let files: Vec<String> = rust_files(&root().join("crates"))
        .iter()
        .map(|file| format!("/{}", file.display()))
        .collect();
    for map in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = prose(&root().join(map));
        let quoted = text.split('`').skip(1).step_by(2);
        let names = quoted.filter(|name| {
            name.ends_with(".rs") && !name.contains("NAME") && !name.contains(['*', ' ', '{'])
        });
        for name in names {
            let end = format!("/{}", name.trim_start_matches("../"));
            assert!(
                files.iter().any(|file| file.ends_with(&end)),
                "{map}: no source file ends in {end}"
            );
        }
    }
}
