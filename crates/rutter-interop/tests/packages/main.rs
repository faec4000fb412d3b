//! Installs the Debian packages in a clean root, starts the program as the unit does, upgrades and removes it. The session of a
//! member survives the upgrade.

mod image;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rutter_interop::rutter::program;
use rutter_interop::{eventually, output_of};

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.join("../..").canonicalize().expect("the workspace")
}

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("rt{name}{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Packages the programs of the development build.
fn packages(out: &Path, version: &str, parts: &[&str]) {
    let programs = program().parent().expect("a folder").to_owned();
    let mut command = Command::new(root().join("tools/packages"));
    command.arg("--binaries").arg(programs);
    command.arg("--out").arg(out).args(["--version", version]);
    output_of(command.arg("--quick").args(parts)).unwrap();
}

#[test]
fn the_packages_install_start_upgrade_and_leave() {
    let folder = Folder::new("packages");
    let clean = folder.0.join("root");
    packages(&folder.0, "0.1.0~test1", &["server"]);
    packages(&folder.0, "0.1.0~test2", &["server", "collector", "grpc"]);

    eventually("a clean root", || {
        let _ = fs::remove_dir_all(&clean);
        let mut bootstrap = Command::new("mmdebstrap");
        bootstrap.args(["--variant=essential", "--include=adduser,bird2", "bookworm"]);
        output_of(bootstrap.arg(&clean))
    });
    let life = clean.join("life.sh");
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/packages/life.sh");
    fs::copy(here, &life).unwrap();
    for entry in fs::read_dir(&folder.0).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "deb") {
            fs::copy(&path, clean.join(path.file_name().unwrap())).unwrap();
        }
    }
    // A network and processes of its own: port 179 is free there, and nothing outlives the script.
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "--pid", "--fork", "--kill-child"]);
    command.args(["sh", "-c"]).arg(
        "ip link set lo up && ip address add 192.0.2.1/24 dev lo && ip address add 192.0.2.11/24 dev lo \
         && mount -t proc proc \"$0/proc\" && exec chroot \"$0\" sh /life.sh",
    );
    let log = output_of(command.arg(&clean)).unwrap();
    assert!(log.contains("all steps passed"), "{log}");
}

/// The archive of a release holds a program, its documents and a list of dependencies with licences.
#[test]
fn a_release_has_an_archive_a_list_of_dependencies_and_checksums() {
    let folder = Folder::new("release");
    packages(&folder.0, "0.1.0", &["static", "sbom"]);
    let list = fs::read_to_string(folder.0.join("rutter-0.1.0.cdx.json")).unwrap();
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let components = list["components"].as_array().unwrap();
    let find = |name: &str| components.iter().find(|one| one["name"] == name);
    assert_eq!(
        find("clap").unwrap()["licenses"][0]["expression"],
        "MIT OR Apache-2.0"
    );
    assert!(find("datafusion").is_some());
    assert!(find("clap_mangen").is_none(), "only tests use it");
    assert!(
        components
            .iter()
            .all(|one| one["licenses"][0]["expression"].is_string())
    );
    let mut check = Command::new("sha256sum");
    check.args(["--check", "SHA256SUMS"]).current_dir(&folder.0);
    let checked = output_of(&mut check).unwrap();
    assert_eq!(checked.lines().count(), 2, "{checked}");
}
