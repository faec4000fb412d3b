//! Clients in other languages, with code that is generated from the `.proto` files as their users do.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rutter_interop::{Lab, Process, eventually, output_of};

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.join("../..").canonicalize().expect("the workspace")
}

fn tests() -> PathBuf {
    root().join("crates/rutter-interop/tests/grpc")
}

/// The compiler of grpcio-tools, with the files of Rutter. It needs the options for a language.
fn compiler() -> Command {
    let python = root().join("target/python/bin/python3");
    assert!(
        python.exists(),
        "grpcio is not installed: run tools/install-test-deps"
    );
    let protos = root().join("crates/rutter-grpc/proto");
    let mut command = Command::new(python);
    command.args(["-m", "grpc_tools.protoc"]);
    command.arg(format!("--proto_path={}", protos.display()));
    let files = fs::read_dir(protos.join("rutter/v1")).expect("the files");
    let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    command.args(files);
    command
}

/// Python with the generated code.
pub struct Python {
    folder: PathBuf,
    stubs: PathBuf,
}

impl Python {
    pub fn new(lab: &Lab) -> Python {
        let stubs = lab.folder("stubs");
        let out = stubs.display();
        let mut compiler = compiler();
        compiler.args([
            format!("--python_out={out}"),
            format!("--grpc_python_out={out}"),
        ]);
        output_of(&mut compiler).unwrap_or_else(|why| panic!("{why}"));
        Python {
            folder: lab.folder("python"),
            stubs,
        }
    }

    fn command(&self, script: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(root().join("target/python/bin/python3"));
        command.arg(tests().join(script)).arg(&self.stubs);
        command.args(arguments);
        command
    }

    /// Runs a script, which must succeed.
    pub fn run(&self, script: &str, arguments: &[&str]) {
        self.result(script, arguments)
            .unwrap_or_else(|why| panic!("{script}: {why}"));
    }

    /// Runs a script.
    pub fn result(&self, script: &str, arguments: &[&str]) -> Result<String, String> {
        output_of(&mut self.command(script, arguments))
    }

    /// Starts a script whose output is read while it runs.
    pub fn start(&self, script: &str, arguments: &[&str]) -> Script {
        let mut command = self.command(script, arguments);
        Script(Process::start(script, &self.new_folder(), &mut command))
    }

    /// Starts the example of docs/grpc.md with another address of the server.
    pub fn start_example(&self, address: &str) -> Script {
        let guide = fs::read_to_string(root().join("docs/grpc.md")).expect("the guide");
        let example = guide.split("```python\n").nth(1).expect("an example");
        let example = example.split("```").next().expect("its end");
        assert!(example.contains("\"127.0.0.1:17901\""));
        let folder = self.new_folder();
        let file = folder.join("example.py");
        fs::write(&file, example.replace("127.0.0.1:17901", address)).expect("a file");
        let mut command = Command::new(root().join("target/python/bin/python3"));
        command.arg("-u").arg(file).env("PYTHONPATH", &self.stubs);
        Script(Process::start("the example", &folder, &mut command))
    }

    fn new_folder(&self) -> PathBuf {
        let number = fs::read_dir(&self.folder).expect("a folder").count();
        let folder = self.folder.join(number.to_string());
        fs::create_dir(&folder).expect("a folder");
        folder
    }
}

/// A script that runs.
pub struct Script(Process);

impl Script {
    /// Its output so far.
    pub fn text(&self) -> String {
        self.0.log()
    }

    /// Waits until its output has these words, and returns it.
    pub fn shows(&mut self, words: &str) -> String {
        eventually(words, || {
            let text = self.0.log();
            match text.contains(words) {
                true => Ok(text),
                false => Err(text.lines().rev().take(5).collect::<Vec<_>>().join("\n")),
            }
        })
    }

    pub fn stop(&mut self) {
        self.0.stop();
    }
}

/// Builds the Go client with generated code and runs it.
pub fn go(lab: &Lab, arguments: &[&str]) {
    let folder = lab.folder("go");
    for file in ["go.mod", "go.sum", "main.go"] {
        fs::copy(tests().join("go").join(file), folder.join(file)).expect("a file of the client");
    }
    let home = root().join("target/go");
    let plugins = ["protoc-gen-go", "protoc-gen-go-grpc"].map(|name| home.join("bin").join(name));
    assert!(
        plugins.iter().all(|plugin| plugin.exists()),
        "Go's plugins are not installed: run tools/install-test-deps"
    );
    let mut compiler = compiler();
    for plugin in &plugins {
        compiler.arg(format!("--plugin={}", plugin.display()));
    }
    let out = folder.display();
    compiler.args([format!("--go_out={out}"), format!("--go-grpc_out={out}")]);
    // All files are one package of this module.
    let files = fs::read_dir(root().join("crates/rutter-grpc/proto/rutter/v1")).expect("the files");
    for file in files {
        let name = file.expect("a file").file_name();
        let package = format!("Mrutter/v1/{}=./rutter", name.display());
        compiler.args([
            format!("--go_opt={package}"),
            format!("--go-grpc_opt={package}"),
        ]);
    }
    output_of(&mut compiler).unwrap_or_else(|why| panic!("{why}"));
    let mut run = Command::new("go");
    run.current_dir(&folder)
        .args(["run", "-mod=mod", "."])
        .args(arguments)
        .env("GOPATH", &home)
        .env("GOCACHE", home.join("cache"))
        .env("GOPROXY", "off")
        .env("GOFLAGS", "-mod=mod")
        .env("GOTOOLCHAIN", "local");
    output_of(&mut run).unwrap_or_else(|why| panic!("{why}"));
}
