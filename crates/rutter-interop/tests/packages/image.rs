//! The container image: it is built, started with a configuration of the host, asked, and stopped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rutter_interop::rutter::program;
use rutter_interop::{Lab, Process, eventually, output_of};

/// The builder, with a store of the test's own.
struct Buildah(PathBuf);

impl Buildah {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(rutter_interop::program("buildah"));
        command.args(["--storage-driver", "vfs", "--root"]);
        command.arg(self.0.join("store")).arg("--runroot");
        command.arg(self.0.join("runroot")).args(arguments);
        command
    }

    fn ask(&self, arguments: &[&str]) -> String {
        let text = output_of(&mut self.command(arguments));
        text.unwrap_or_else(|why| panic!("{why}")).trim().to_owned()
    }
}

/// An image with the libraries of the development build, which is not static. Returns its name.
fn base(buildah: &Buildah, folder: &Path) -> String {
    let files = folder.join("base");
    let libraries = output_of(Command::new("ldd").arg(program())).expect("libraries");
    for path in libraries.split_whitespace().filter(|w| w.starts_with('/')) {
        let to = files.join(path.trim_start_matches('/'));
        fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        fs::copy(path, to).expect("a library");
    }
    let empty = buildah.ask(&["from", "scratch"]);
    buildah.ask(&["add", "--quiet", &empty, &files.display().to_string(), "/"]);
    let archive = format!("oci-archive:{}", folder.join("base.tar").display());
    buildah.ask(&["commit", "--quiet", &empty, &archive]);
    archive
}

#[test]
fn the_container_image_runs_a_route_server() {
    let lab = Lab::new();
    let folder = lab.folder("image");
    let buildah = Buildah(folder.clone());
    let base = base(&buildah, &folder);
    let out = folder.join("out");
    super::packages(&out, "0.1.0", &["--base", &base, "image"]);
    let image = fs::read_dir(&out).expect("a folder").flatten();
    let image = image.map(|entry| entry.path());
    let image = image.filter(|path| path.extension().is_some_and(|end| end == "tar"));
    let image: Vec<_> = image.map(|path| path.display().to_string()).collect();
    let [image] = image.as_slice() else {
        panic!("{image:?}");
    };

    let config = folder.join("rutter.toml");
    let text = format!(
        "[exchange]\nasn = 64500\nrouter-id = \"192.0.2.1\"\nlan = [\"192.0.2.0/24\"]\n[daemon]\nlisten = [\"{}:{}\"]\n",
        lab.address(1),
        lab.port()
    );
    fs::write(&config, text).expect("a file");
    let container = buildah.ask(&["from", "--quiet", &format!("oci-archive:{image}")]);
    let volume = format!("{}:/etc/rutter/rutter.toml:ro", config.display());
    let run = [
        "run",
        "--isolation",
        "chroot",
        "--volume",
        &volume,
        &container,
        "--",
    ];
    let rutter = |arguments: &[&str]| {
        let mut all = run.to_vec();
        all.push("/usr/bin/rutter");
        all.extend(arguments);
        buildah.command(&all)
    };
    // Each run creates the folders of its mounts in the container if they are not there, and two runs that do so
    // at once fail. So one command runs alone first, and no other one runs until the daemon has written to its log.
    output_of(&mut rutter(&["--version"])).expect("a version");
    let start = &mut rutter(&["run", "/etc/rutter/rutter.toml"]);
    let mut process = Process::start("the container", &folder, start);
    eventually("the daemon writes to its log", || {
        process.check_alive()?;
        (!process.log().is_empty())
            .then_some(())
            .ok_or_else(|| "the log is empty".to_owned())
    });
    let status = eventually("the container answers", || {
        process.check_alive()?;
        output_of(&mut rutter(&["show", "status", "--json"]))
    });
    assert!(status.contains("64500"), "{status}");
    // The program is not root, and its state is in its folder.
    let user = buildah.ask(&["inspect", "--format", "{{.OCIv1.Config.User}}", &container]);
    assert_eq!(user, "1790:1790");
    output_of(&mut rutter(&["stop"])).expect("a stop");
    eventually("the container ends", || match process.check_alive() {
        Ok(()) => Err("it runs".to_owned()),
        Err(why) if why.contains("exit status: 0") => Ok(()),
        Err(why) => panic!("{why}"),
    });
}
