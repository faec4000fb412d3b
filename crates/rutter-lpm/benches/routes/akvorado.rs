//! The other side: Akvorado's own benchmarks, run from its test binary.

use std::path::Path;
use std::process::Command;

/// One benchmark of a test binary that `go test -c ./outlet/routing/provider/bmp` made: its figures by unit.
pub fn run(binary: &Path, name: &str) -> Vec<(String, f64)> {
    let output = Command::new(binary)
        .args(["-test.run", "^$", "-test.benchtime", "1x"])
        .args(["-test.bench", name])
        .output();
    let text = match output {
        Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
        Err(error) => {
            println!("{}: {error}", binary.display());
            return Vec::new();
        }
    };
    let line = text.lines().find(|line| line.starts_with("Benchmark"));
    let words: Vec<&str> = line.unwrap_or("").split_whitespace().collect();
    let pairs = words.get(2..).unwrap_or_default().chunks_exact(2);
    let figure = |pair: &[&str]| Some((pair[1].to_owned(), pair[0].parse().ok()?));
    pairs.filter_map(figure).collect()
}
