//! The commands of a newcomer: `rutter init` and the completion of commands in a shell.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const RUTTER: &str = env!("CARGO_BIN_EXE_rutter");

fn rutter(arguments: &str) -> Output {
    let mut command = Command::new(RUTTER);
    command.args(arguments.split_whitespace());
    command.stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// An empty folder for a test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("rutter-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

const EXCHANGE: &str = "--asn 64500 --router-id 192.0.2.1 --lan 192.0.2.0/24 --rtr 127.0.0.1:3323 \
                        --irr-server rr.example.net --member 3333,192.0.2.11,RIPE::AS-FOO";

#[test]
fn init_writes_a_file_that_check_accepts_and_never_replaces_one() {
    let folder = folder("init");
    let file = folder.join("exchange.toml");
    let line = format!("init {} {EXCHANGE}", file.display());

    let written = rutter(&line);
    assert!(written.status.success(), "{}", text(&written.stderr));
    assert!(text(&written.stdout).contains("AS64500, 1 member"));
    let first = fs::read(&file).unwrap();
    let checked = rutter(&format!("check {}", file.display()));
    assert!(checked.status.success(), "{}", text(&checked.stderr));
    assert_eq!(text(&checked.stderr), "");

    let again = rutter(&line);
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("exists already"));
    assert_eq!(fs::read(&file).unwrap(), first);

    let printed = rutter(&format!("init - {EXCHANGE}"));
    assert_eq!(printed.stdout, first);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn init_refuses_what_check_would_refuse_and_writes_nothing() {
    let folder = folder("init-bad");
    let file = folder.join("exchange.toml");
    let cases = [
        ("--asn 64500 --router-id 192.0.2.1", "--lan is missing", 1),
        (
            "--asn 64500 --router-id 0.0.0.0 --lan 192.0.2.0/24",
            "router-id",
            1,
        ),
        ("--asn many", "--asn", 2),
        ("--member 3333", "an address is missing", 2),
    ];
    for (options, message, status) in cases {
        let refused = rutter(&format!("init {} {options}", file.display()));
        let error = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(status), "{options}: {error}");
        assert!(error.contains(message), "{options}: {error}");
        assert!(!file.exists(), "{options}");
    }
    fs::remove_dir_all(folder).unwrap();
}

/// Bash loads the script, and completes a command and an option with it.
#[test]
fn bash_completes_commands_and_options() {
    let script = rutter("completion bash");
    assert!(script.status.success());
    let completions = |words: &str, count: usize| {
        let asked = format!(
            "{}\nCOMP_WORDS=({words}); COMP_CWORD={count}; _rutter rutter \
             \"${{COMP_WORDS[$COMP_CWORD]}}\" \"${{COMP_WORDS[$COMP_CWORD-1]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            text(&script.stdout)
        );
        let output = Command::new("bash").arg("-c").arg(asked).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    assert_eq!(completions("rutter expl", 1), "explain\n");
    assert_eq!(completions("rutter show pee", 2), "peers\npeer\n");
    assert!(completions("rutter diff --ro", 2).contains("--routes"));
}
