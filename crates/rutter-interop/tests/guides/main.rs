//! Runs the guides as their readers do: the commands and files of the documents, in a network of their own.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rutter_interop::output_of;
use rutter_interop::rutter::program;

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The code blocks of a document that are in a language, in order.
fn blocks(document: &str, language: &str) -> Vec<String> {
    let path = here().join("../../docs").join(document);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let fence = format!("```{language}\n");
    let blocks = text.split(&fence).skip(1);
    blocks
        .filter_map(|rest| rest.split("```").next())
        .map(str::to_owned)
        .collect()
}

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("rt{name}{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }

    /// Runs a script of the folder as root of its own network, processes and `/run`, with `rutter` in the path. Nothing
    /// outlives the script.
    fn run(&self, script: &str) -> String {
        let python = here().join("../../target/python/bin");
        assert!(
            python.exists(),
            "no {python:?}: run tools/install-test-deps"
        );
        let mut folders = vec![program().parent().expect("a folder").to_owned(), python];
        let path = env::var_os("PATH").unwrap_or_default();
        folders.extend(env::split_paths(&path));
        folders.extend(["/usr/sbin".into(), "/sbin".into()]);
        let path: OsString = env::join_paths(folders).unwrap();
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "--pid", "--fork", "--kill-child"]);
        command.args(["sh", "-c"]).arg(
            "mount -t proc proc /proc && mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/lib && ip link set lo up && exec timeout 600 sh $0",
        );
        let command = command.arg(script).env("PATH", path).current_dir(&self.0);
        output_of(command).unwrap_or_else(|error| panic!("{error}"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_first_route_server_runs_as_its_guide_says() {
    let folder = Folder::new("first");
    let commands = blocks("first-route-server.md", "sh").join("\n");
    folder.write("guide.sh", &format!("set -eu\n{commands}"));
    let output = folder.run("guide.sh");
    for expected in [
        "2 sessions, 2 established",
        "bogon (2): 10.11.0.0/16 is in 10.0.0.0/8",
        "route 1: 1 client: AS3312",
        "45.10.11.0/24        unicast [exchange",
        "not 1: its communities keep it from this client",
        "rutter_peer_routes{",
    ] {
        assert!(output.contains(expected), "no `{expected}`:\n{output}");
    }
}

#[test]
fn the_first_collector_runs_as_its_guide_says() {
    let folder = Folder::new("collector");
    let commands = blocks("first-collector.md", "sh").join("\n");
    folder.write("guide.sh", &format!("set -eu\n{commands}"));
    let output = folder.run("guide.sh");
    assert!(output.contains(" 45.10.11.0/24 |      3311"), "{output}");
    let (_, past) = output.split_once("withdraw    45.10.11.0/24").unwrap();
    assert!(past.contains("45.10.11.0/24  3311"), "{output}");
}

#[test]
fn the_stream_has_the_lines_of_a_script_under_exabgp() {
    let folder = Folder::new("exabgp");
    let commands = blocks("from-exabgp.md", "sh").join("\n");
    folder.write("guide.sh", &format!("set -eu\n{commands}"));
    let output = folder.run("guide.sh");
    let lines =
        "announced 45.10.0.0/16 3311\nannounced 45.10.11.0/24 3311\nwithdrawn 45.10.11.0/24";
    assert!(output.contains(lines), "{output}");
}

/// BIRD is the present route server. Its recordings, and those of its members, are compared with Rutter.
#[test]
fn rutter_is_compared_with_the_bird_of_the_guide() {
    let folder = Folder::new("shadow");
    let commands = blocks("before-you-move.md", "sh").join("\n");
    folder.write("guide.sh", &format!("set -eu\n{commands}"));
    let output = folder.run("guide.sh");
    let sample = block("before-you-move.md", "text");
    assert!(output.contains(&sample), "no `{sample}`:\n{output}");
    let equal = "3 sessions compared: 12 routes the same, no difference";
    assert!(output.contains(equal), "no `{equal}`:\n{output}");
    let totals = output.lines().filter(|line| line.contains("shadow-member"));
    assert_eq!(totals.count(), 1, "{output}");
}

/// Runs another daemon and Rutter with the files of a guide and the same members, and compares the routes that each
/// member receives.
fn rutter_replaces(daemon: &str, files: &[(&str, String)]) {
    let folder = Folder::new(daemon);
    for (name, text) in files {
        folder.write(name, text);
    }
    let script = here().join("tests/guides/same_routes.sh");
    fs::copy(script, folder.0.join("same_routes.sh")).unwrap();
    let output = folder.run(&format!("same_routes.sh {daemon}"));
    assert!(output.contains("all steps passed"), "{output}");
}

/// The only block of a document that is in a language.
fn block(document: &str, language: &str) -> String {
    let [block] = blocks(document, language).try_into().expect("one block");
    block
}

#[test]
fn rutter_replaces_the_bird_of_the_guide_route_by_route() {
    let guide = "from-bird.md";
    let files = [
        ("bird.conf", block(guide, "bird")),
        ("rutter.toml", block(guide, "toml")),
    ];
    rutter_replaces("bird", &files);
}

#[test]
fn rutter_replaces_the_openbgpd_of_the_guide_route_by_route() {
    let guide = "from-openbgpd.md";
    let files = [
        ("openbgpd.conf", block(guide, "openbgpd")),
        ("rutter.toml", block(guide, "toml")),
    ];
    rutter_replaces("openbgpd", &files);
}

/// ARouteServer itself makes BIRD's configuration from the files of the guide, which Rutter then reads.
#[test]
fn rutter_replaces_arouteserver_and_bird_route_by_route() {
    let [general, clients] = blocks("from-arouteserver.md", "yaml")
        .try_into()
        .expect("two files");
    let validator = "protocol rpki validator {
        roa4 { table RPKI4; };
        remote \"127.0.0.1\" port 3323;
    }";
    let files = [
        ("general.yml", general),
        ("clients.yml", clients),
        ("rpki_rtr_config.local", validator.to_owned()),
    ];
    rutter_replaces("arouteserver", &files);
}
