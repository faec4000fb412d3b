//! bart, the table of Akvorado: a Go program that measures itself on request.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The running program of `benches/bart`.
pub struct Bart {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Bart {
    /// Builds and starts it. Returns `None`, with a line that says why, if that is not possible.
    pub fn start(prefixes: &Path) -> Option<Self> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/bart");
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bart");
        let built = Command::new("go")
            .current_dir(source)
            .arg("build")
            .arg("-o")
            .arg(&program)
            .status();
        if !built.is_ok_and(|status| status.success()) {
            println!("bart is left out: `go build` did not work here");
            return None;
        }
        let child = Command::new(program)
            .arg(prefixes.canonicalize().ok()?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.ok()?;
        let (input, output) = (child.stdin.take()?, BufReader::new(child.stdout.take()?));
        let mut bart = Bart {
            child,
            input,
            output,
        };
        (bart.line()?.trim() == "ready").then_some(bart)
    }

    /// Requests one measurement, see `benches/bart/main.go`.
    pub fn ask(&mut self, what: &str) -> f64 {
        let sent = writeln!(self.input, "{what}");
        let answer = sent.ok().and_then(|()| self.line()?.trim().parse().ok());
        answer.unwrap_or(f64::NAN)
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.output.read_line(&mut line).ok()?;
        Some(line)
    }
}

impl Drop for Bart {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
