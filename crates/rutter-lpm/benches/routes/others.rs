//! The other sides: Akvorado's own benchmarks, run from its test binary, and the program of `benches/rotonda`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A benchmark of Akvorado: its name, and how often it is run.
pub struct Benchmark(pub &'static str, pub &'static str);

/// Runs one benchmark of a test binary of `go test -c ./outlet/routing/provider/bmp`. Returns its figures by
/// unit.
pub fn akvorado(binary: &Path, Benchmark(name, times): &Benchmark) -> Vec<(String, f64)> {
    let text = output(
        Command::new(binary)
            .args(["-test.run", "^$", "-test.benchtime", times])
            .args(["-test.bench", name]),
    );
    let line = text.lines().find(|line| line.starts_with("Benchmark"));
    let words: Vec<&str> = line.unwrap_or("").split_whitespace().collect();
    let pairs = words.get(2..).unwrap_or_default().chunks_exact(2);
    let figure = |pair: &[&str]| Some((pair[1].to_owned(), pair[0].parse().ok()?));
    pairs.filter_map(figure).collect()
}

/// Builds the program of rotonda-store. Returns `None`, with a line that says why, if that is not possible.
pub fn build_rotonda() -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/rotonda/Cargo.toml");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rotonda");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet", "--manifest-path"])
        .arg(source)
        .arg("--target-dir")
        .arg(&target)
        .status();
    match built.is_ok_and(|status| status.success()) {
        true => Some(target.join("release/rotonda")),
        false => {
            println!("rotonda-store is left out: `cargo build` did not work here");
            None
        }
    }
}

/// Runs one round of it.
pub fn rotonda(program: &Path) -> Vec<(String, f64)> {
    let text = output(&mut Command::new(program));
    let figure = |line: &str| {
        let (value, unit) = line.split_once(' ')?;
        Some((unit.to_owned(), value.parse().ok()?))
    };
    text.lines().filter_map(figure).collect()
}

fn output(command: &mut Command) -> String {
    match command.stderr(Stdio::inherit()).output() {
        Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
        Err(error) => {
            println!("{}: {error}", command.get_program().to_string_lossy());
            String::new()
        }
    }
}
